import Foundation
import Logging
import TrackerCore
import TrackerService

/// One-time codes that grant a browser or a script access. Each is valid once, for 10 minutes.
///
/// A client with a wrong code must wait longer each time. After 10 wrong codes all present codes become invalid for
/// this client. Other clients are not affected.
actor AccessCodes {
    /// The validity period of a code in seconds.
    static let lifetime: Double = 600
    /// The number of wrong codes after which a client must wait for the lifetime of a code.
    static let wrongCodeLimit = 10
    /// The pause after the first wrong code in seconds, doubled each time, and the longest pause.
    static let (firstPause, longestPause): (Double, Double) = (1, 60)
    /// The maximum number of clients whose wrong codes are counted.
    static let clientLimit = 1000
    /// The maximum number of open codes; another one replaces the oldest.
    private static let codeLimit = 8
    /// The minimum time between two log lines about wrong codes, in seconds.
    private static let logPause: Double = 60
    /// Crockford's base 32, in which no letter looks like a digit.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    private static let length = 10

    struct Grant: Hashable, Sendable {
        var scope: Scope
        var label: String
    }

    enum Outcome: Hashable, Sendable {
        case accepted(NewToken)
        case wrong
        case used
        /// The client has sent too many wrong codes, and must wait for this number of seconds.
        case wait(Int)
    }

    private struct Code {
        var text: String
        var grant: Grant
        var expiresAt: Instant
        /// The token for which the code was exchanged, and the idempotency key of that request; `nil` if unused.
        var use: (token: String, key: String?)?
    }

    private struct Client {
        var wrongCodes = 0
        var lastWrongAt: Instant
        var notBefore: Instant
    }

    private var codes: [Code] = []
    private var clients: [String: Client] = [:]
    private var (lastLogged, unlogged): (Instant?, Int) = (nil, 0)
    private let random: @Sendable () -> UInt32
    private let uptime: @Sendable () -> Instant
    private let log: Logger

    /// - Parameter uptime: a monotonic clock; `nil` uses that of this process.
    init(log: Logger, random: @escaping @Sendable () -> UInt32, uptime: (@Sendable () -> Instant)? = nil) {
        let start = ContinuousClock.now
        self.uptime = uptime ?? { Instant(milliseconds: Int64((ContinuousClock.now - start) / .milliseconds(1))) }
        (self.random, self.log) = (random, log)
    }

    /// Creates a code of ten characters.
    func make(_ grant: Grant, for caller: String) -> String {
        removeExpired(uptime())
        if codes.count >= Self.codeLimit { codes.removeFirst() }
        let text = String((0..<Self.length).map { _ in Self.alphabet[Int(random() % UInt32(Self.alphabet.count))] })
        codes.append(Code(text: text, grant: grant, expiresAt: uptime().advanced(seconds: Self.lifetime)))
        log.notice("Access code created for \"\(grant.label)\" with scope \(grant.scope.rawValue), by \(caller).")
        return text
    }

    /// Exchanges a valid code for a token. A client that got no response may retry with the same key, which replaces
    /// the token.
    /// - Parameters:
    ///   - key: the request's idempotency key.
    ///   - client: the client's address.
    ///   - make: creates the token, and revokes the one whose response was lost. If it throws, the code stays valid.
    func redeem(
        _ entered: String, key: String?, from client: String,
        make: @Sendable (Grant, _ lost: String?) throws -> NewToken
    ) rethrows -> Outcome {
        let now = uptime()
        removeExpired(now)
        if let waiting = clients[client]?.notBefore, now < waiting {
            return .wait(max(1, Int(now.seconds(to: waiting).rounded(.up))))
        }
        let text = Self.normalised(entered)
        let index = codes.firstIndex { Self.isSame($0.text, text) }
        if let index, codes[index].use == nil || Self.isRetry(codes[index], key) {
            let grant = codes[index].grant
            let token = try make(grant, codes[index].use?.token)
            codes[index].use = (token.id, key)
            clients[client] = nil
            log.notice("Access code used for \"\(grant.label)\": token \(token.id.prefix(8)) created.")
            return .accepted(token)
        }
        recordWrongCode(client, now)
        return index == nil ? .wrong : .used
    }

    private static func isRetry(_ code: Code, _ key: String?) -> Bool {
        guard let key, let known = code.use?.key else { return false }
        return isSame(known, key)
    }

    private func recordWrongCode(_ client: String, _ now: Instant) {
        let wrongCodes = (clients[client]?.wrongCodes ?? 0) + 1
        if clients[client] == nil, clients.count >= Self.clientLimit,
            let oldest = clients.min(by: { $0.value.lastWrongAt < $1.value.lastWrongAt })?.key
        {
            clients[oldest] = nil
        }
        let doubled = min(Self.longestPause, Self.firstPause * Double(1 << min(wrongCodes - 1, 10)))
        let pause = wrongCodes >= Self.wrongCodeLimit ? Self.lifetime : doubled
        clients[client] = Client(wrongCodes: wrongCodes, lastWrongAt: now, notBefore: now.advanced(seconds: pause))
        unlogged += 1
        guard lastLogged.map({ $0.seconds(to: now) >= Self.logPause }) ?? true else { return }
        log.warning(
            "Wrong access code from \(client.isEmpty ? "this machine" : client) (\(unlogged) since the last line).")
        (lastLogged, unlogged) = (now, 0)
    }

    private func removeExpired(_ now: Instant) {
        codes.removeAll { now >= $0.expiresAt }
        clients = clients.filter { $0.value.lastWrongAt.seconds(to: now) < Self.lifetime }
    }

    /// Normalises a code. Accepts small letters, blanks, and letters that look like digits.
    private static func normalised(_ text: String) -> String {
        String(
            text.uppercased().compactMap { letter in
                switch letter {
                case " ", "-": nil
                case "O": "0"
                case "I", "L": "1"
                default: letter
                }
            })
    }

    /// Compares two codes in constant time.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
