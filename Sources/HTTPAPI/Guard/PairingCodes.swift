import TrackerCore
import TrackerDesk

/// Short codes with which a browser or a script is let in: each good once, for five minutes. Pure: time and randomness are handed in.
struct PairingCodes: Sendable {
    /// How long a code is good, seconds.
    static let lifetime: Double = 300
    /// So many wrong guesses end every open code.
    static let guesses = 10
    /// After a wrong guess nobody may try for so many seconds, doubled each time.
    static let firstPause: Double = 1
    static let longestPause: Double = 60

    struct Grant: Hashable, Sendable {
        var scope: Scope
        var label: String
        /// Whose day it opens.
        var person: String
    }

    enum Verdict: Hashable, Sendable {
        case letIn(Grant)
        case wrong
        /// Too many tries: not before so many seconds.
        case wait(Int)
    }

    private var open: [(code: String, grant: Grant, until: Instant)] = []
    private var wrong = 0
    private var notBefore: Instant?
    /// When the last wrong guess was.
    private var guessed: Instant?

    /// A new code of eight digits.
    mutating func issue(_ grant: Grant, at now: Instant, random: () -> UInt32) -> String {
        forget(now)
        // At most a handful is open at once: whoever asks more often makes the oldest useless.
        if open.count >= 8 { open.removeFirst() }
        let code = String("0000000\(random() % 100_000_000)".suffix(8))
        open.append((code, grant, now.advanced(seconds: Self.lifetime)))
        return code
    }

    mutating func redeem(_ code: String, at now: Instant) -> Verdict {
        forget(now)
        if let notBefore, now < notBefore { return .wait(max(1, Int(now.seconds(to: notBefore).rounded(.up)))) }
        let digits = code.filter { $0 != " " && $0 != "-" }
        guard let index = open.firstIndex(where: { Self.isSame($0.code, digits) }) else {
            wrong += 1
            guessed = now
            notBefore = now.advanced(seconds: min(Self.longestPause, Self.firstPause * Double(1 << min(wrong - 1, 10))))
            if wrong >= Self.guesses { open = [] }
            return .wrong
        }
        wrong = 0
        notBefore = nil
        return .letIn(open.remove(at: index).grant)
    }

    private mutating func forget(_ now: Instant) {
        // A clock that was put back must not make a code immortal.
        open.removeAll { now >= $0.until || now.seconds(to: $0.until) > Self.lifetime }
        // Wrong guesses of a code that is no more say nothing of the next one.
        if let last = guessed, abs(last.seconds(to: now)) > Self.lifetime { (wrong, guessed) = (0, nil) }
        if let waiting = notBefore, now.seconds(to: waiting) > Self.longestPause { notBefore = nil }
    }

    /// Compares in a time that does not depend on where the texts differ.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
