import TrackerCore
import TrackerService

/// Short codes with which a browser or a script is let in: each good once, for five minutes. Pure: time and randomness
/// are handed in.
///
/// Who guesses wrong waits, and nobody else does. Wrong guesses of everybody together end a code, so that many who
/// guess get no further than one; and each code begins to count when it is made, so that whoever asks for a new one
/// where the service runs has one that is good.
struct PairingCodes: Sendable {
    /// How long a code is good, seconds.
    static let lifetime: Double = 300
    /// So many wrong guesses, of everybody together, end a code that was open meanwhile.
    static let guesses = 100
    /// After a wrong guess nobody may try again for so many seconds, doubled each time.
    static let firstPause: Double = 1
    static let longestPause: Double = 60
    /// Of so many who guessed wrong it is remembered; then whose last guess is the longest ago is forgotten.
    static let peerLimit = 1000

    struct Grant: Hashable, Sendable {
        var scope: Scope
        var label: String
    }

    enum Verdict: Hashable, Sendable {
        /// - Parameter instead: the token that this code has made already, and whose secret never arrived: it is to be
        ///   taken back.
        case letIn(Grant, instead: String?)
        case wrong
        /// It was good, and somebody has used it.
        case used
        /// Too many tries: not before so many seconds.
        case wait(Int)
    }

    private struct Open {
        var code: String
        var grant: Grant
        var until: Instant
        var wrong = 0
    }

    private struct Used {
        var code: String
        /// By which the client knows its own request again.
        var key: String?
        var token: String
        var grant: Grant
        var until: Instant
    }

    private struct Peer {
        var wrong = 0
        var guessed: Instant
        var notBefore: Instant
    }

    private var open: [Open] = []
    private var used: [Used] = []
    private var peers: [String: Peer] = [:]

    /// A new code of eight digits.
    mutating func issue(_ grant: Grant, at now: Instant, random: () -> UInt32) -> String {
        forget(now)
        // At most a handful is open at once: whoever asks more often makes the oldest useless.
        if open.count >= 8 { open.removeFirst() }
        let code = String("0000000\(random() % 100_000_000)".suffix(8))
        open.append(Open(code: code, grant: grant, until: now.advanced(seconds: Self.lifetime)))
        return code
    }

    /// Looks whether a code is good; `take` makes it useless.
    /// - Parameters:
    ///   - key: the client's own name for its request: whoever used the code under it may do so again, because the
    ///     answer was lost.
    ///   - peer: who tries.
    mutating func redeem(_ code: String, key: String? = nil, from peer: String, at now: Instant) -> Verdict {
        forget(now)
        if let waiting = peers[peer]?.notBefore, now < waiting {
            return .wait(max(1, Int(now.seconds(to: waiting).rounded(.up))))
        }
        let digits = Self.digits(code)
        if let good = open.first(where: { Self.isSame($0.code, digits) }) {
            peers[peer] = nil
            return .letIn(good.grant, instead: nil)
        }
        let before = used.last { Self.isSame($0.code, digits) }
        if let before, let key, let known = before.key, Self.isSame(known, key) {
            return .letIn(before.grant, instead: before.token)
        }
        guessedWrong(peer, now)
        return before == nil ? .wrong : .used
    }

    /// The code has made a token, and is good for nothing more but for whoever used it.
    mutating func take(_ code: String, key: String?, token: String) {
        let digits = Self.digits(code)
        if let index = open.firstIndex(where: { Self.isSame($0.code, digits) }) {
            let taken = open.remove(at: index)
            used.append(Used(code: taken.code, key: key, token: token, grant: taken.grant, until: taken.until))
            if used.count > 8 { used.removeFirst() }
        } else if let index = used.lastIndex(where: { Self.isSame($0.code, digits) }) {
            used[index].token = token
        }
    }

    private mutating func guessedWrong(_ peer: String, _ now: Instant) {
        let wrong = (peers[peer]?.wrong ?? 0) + 1
        if peers[peer] == nil, peers.count >= Self.peerLimit,
            let oldest = peers.min(by: { $0.value.guessed < $1.value.guessed })?.key
        {
            peers[oldest] = nil
        }
        let pause = min(Self.longestPause, Self.firstPause * Double(1 << min(wrong - 1, 10)))
        peers[peer] = Peer(wrong: wrong, guessed: now, notBefore: now.advanced(seconds: pause))
        for index in open.indices { open[index].wrong += 1 }
        open.removeAll { $0.wrong >= Self.guesses }
    }

    private mutating func forget(_ now: Instant) {
        // A clock that was put back must not make a code immortal.
        func isOver(_ until: Instant) -> Bool { now >= until || now.seconds(to: until) > Self.lifetime }
        open.removeAll { isOver($0.until) }
        used.removeAll { isOver($0.until) }
        // Wrong guesses of a code that is no more say nothing of the next one.
        peers = peers.filter { abs($0.value.guessed.seconds(to: now)) <= Self.lifetime }
    }

    private static func digits(_ code: String) -> String { code.filter { $0 != " " && $0 != "-" } }

    /// Compares in a time that does not depend on where the texts differ.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
