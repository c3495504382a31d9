import CMosquitto
import Foundation
import Synchronization

/// The thread of one connection. libmosquitto is used by it alone, so its rules about threads do not concern us; others
/// hand orders in.
///
/// It waits with `poll`: the library's own loop uses `select`, which breaks in a process with more than 1,024 open
/// files.
final class MQTTLoop: @unchecked Sendable {
    enum Order: Sendable {
        /// Answered once the broker has let us in.
        case connection
        case subscribe([String])
        /// What others say there, while we are here.
        case watch([String])
        case publish([MQTTMessage])
        case close
        /// Answered when all is over.
        case end
    }

    typealias Answer = @Sendable (Result<Bool, MQTTFailure>) -> Void

    /// So many orders may wait for the thread.
    private static let inboxLimit = 4096
    /// So many messages are on the way to the broker at once.
    static let inFlight: Int32 = 100

    private struct Inbox {
        var orders: [(Order, Answer)] = []
        var end: MQTTFailure?
        /// The broker has let us in, and said whether it knew us.
        var knewUs: Bool?
        /// What has come and is not dealt with is left to the next connection.
        var isHurried = false
    }

    /// Something that the broker has to confirm, in so many parts.
    final class Ticket {
        var parts: Int
        /// Somebody listens, as far as the broker tells.
        var isHeard = true
        let since = ContinuousClock.now
        private var answer: Answer?

        init(_ parts: Int, _ answer: @escaping Answer) { (self.parts, self.answer) = (parts, answer) }

        /// The first end counts.
        func end(_ result: Result<Bool, MQTTFailure>) {
            answer?(result)
            answer = nil
        }
    }

    private let inbox = Mutex(Inbox())
    private let wakeup: (read: Int32, write: Int32)
    let options: MQTTOptions
    let receive: @Sendable (MQTTMessage) -> Void

    // What follows is the thread's own.
    private var client: OpaquePointer?
    private var tickets: [Int32: Ticket] = [:]
    private var waitingForConnection: [Answer] = []
    private var waitingForEnd: [Answer] = []
    private var lastSign = ContinuousClock.now
    private var closing: ContinuousClock.Instant?
    /// What the broker said to our first word; `nil` until it did.
    private var admission: Result<Bool, MQTTFailure>?
    /// What the library complains of: of encryption it says nowhere else what is wrong.
    private var complaint: String?
    /// The broker seems not to know MQTT 5.
    private var needsOldWords = false
    /// It is spoken to in MQTT 3.1.1.
    private var isOld = false
    /// With which reason the broker said good-bye.
    private var dismissal: Int32 = 0
    /// How many messages were handed on, and the library has not written that they arrived.
    private var handedOn = 0
    /// Something was handed on since the library was asked to read.
    private var hasHandedOn = false
    /// What was handed on last was not dealt with.
    private var isUndone = false

    init(_ options: MQTTOptions, receive: @escaping @Sendable (MQTTMessage) -> Void) throws(MQTTFailure) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw MQTTFailure(.tooMuch, "No sockets can be opened: \(String(cString: strerror(errno)))")
        }
        wakeup = (ends[0], ends[1])
        (self.options, self.receive) = (options, receive)
    }

    deinit {
        Glibc.close(wakeup.read)
        Glibc.close(wakeup.write)
    }

    /// Why it is over; `nil` while it goes on. From any thread.
    var end: MQTTFailure? { inbox.withLock { $0.end } }

    /// From any thread. No more messages are dealt with: where one comes, this connection ends without a word, and it
    /// comes again.
    func hurry() { inbox.withLock { $0.isHurried = true } }

    /// From any thread. Each order is answered once.
    func order(_ order: Order, _ answer: @escaping Answer) {
        let known: Result<Bool, MQTTFailure>? = inbox.withLock { inbox in
            if let end = inbox.end { return .failure(end) }
            // The thread may deal with a message already, for as long as that takes.
            if case .connection = order, let knewUs = inbox.knewUs { return .success(knewUs) }
            guard inbox.orders.count < Self.inboxLimit else {
                return .failure(MQTTFailure(.tooMuch, "Too much waits for the broker"))
            }
            inbox.orders.append((order, answer))
            return nil
        }
        if let known { return answer(known) }
        var byte: UInt8 = 1
        _ = write(wakeup.write, &byte, 1)
    }

    // MARK: - The thread

    func run() {
        var end = converse(isOld: false)
        if needsOldWords, closing == nil {
            (admission, complaint, dismissal, isUndone) = (nil, nil, 0, false)
            end = converse(isOld: true)
        }
        finish(end)
    }

    /// From the first word to the last.
    private func converse(isOld: Bool) -> MQTTFailure {
        let me = Unmanaged.passUnretained(self).toOpaque()
        self.isOld = isOld
        var end = MQTTFailure(.closed, "The connection was closed.")
        do throws(MQTTFailure) {
            let client = try MosquittoLibrary.client(for: options, isOld: isOld, owner: me)
            self.client = client
            let code = options.address.host.withCString {
                mosquitto_connect_async(client, $0, Int32(options.address.port), options.keepAlive)
            }
            guard code == 0 else { throw failure(code) }
            try serve(client)
        } catch {
            end = error
        }
        if let client { mosquitto_destroy(client) }
        client = nil
        return end
    }

    private func serve(_ client: OpaquePointer) throws(MQTTFailure) {
        let began = ContinuousClock.now
        while true {
            try obey(client)
            let wantsToWrite = mosquitto_want_write(client)
            if let closing, !wantsToWrite || ContinuousClock.now - closing > .seconds(2) { return }
            let socket = mosquitto_socket(client)
            guard socket >= 0 else { throw failure(MOSQ_ERR_CONN_LOST.rawValue) }
            var places = [
                pollfd(fd: socket, events: Int16(POLLIN | (wantsToWrite ? POLLOUT : 0)), revents: 0),
                pollfd(fd: wakeup.read, events: Int16(POLLIN), revents: 0),
            ]
            // Where one message was dealt with, the next may have been read from the socket already.
            let mayHaveMore = hasHandedOn
            _ = poll(&places, 2, mayHaveMore ? 0 : 500)
            if places[1].revents != 0 { emptyWakeup() }
            if places[0].revents & Int16(POLLERR) != 0, admission == nil, let words = Self.trouble(of: socket) {
                throw MQTTFailure(.unreachable, "The broker at \(options.address) cannot be reached: \(words)")
            }
            (handedOn, hasHandedOn) = (0, false)
            if places[0].revents & Int16(POLLIN | POLLERR | POLLHUP) != 0 || mayHaveMore {
                try check(mosquitto_loop_read(client, 1))
            }
            // Before the library writes that it arrived.
            if isUndone {
                Self.endWriting(socket)
                throw MQTTFailure(
                    .lost, "The broker at \(options.address) is to send a message again that could not be dealt with")
            }
            // That it took a while to deal with a message is not the broker's silence.
            if hasHandedOn { lastSign = .now }
            // That it arrived is said before the next is dealt with: hundreds would come again where somebody dies over
            // them.
            if places[0].revents & Int16(POLLOUT) != 0 || hasHandedOn {
                try check(mosquitto_loop_write(client, 1))
            }
            // The good-bye is out.
            if closing != nil, mosquitto_socket(client) < 0 { return }
            try check(mosquitto_loop_misc(client))
            let now = ContinuousClock.now
            if admission == nil, now - began > options.limit {
                throw MQTTFailure(
                    .noAnswer,
                    "The broker at \(options.address) did not answer in \(options.limit.components.seconds) s")
            }
            if !tickets.isEmpty, now - lastSign > options.limit, let oldest = tickets.values.map(\.since).min(),
                now - oldest > options.limit
            {
                throw MQTTFailure(
                    .noAnswer,
                    """
                    The broker at \(options.address) took what it was sent and did not confirm it in \
                    \(options.limit.components.seconds) s
                    """
                )
            }
        }
    }

    private func check(_ code: Int32) throws(MQTTFailure) {
        if case .failure(let refusal)? = admission { throw refusal }
        guard code != 0 else { return }
        throw failure(code)
    }

    /// Does what others asked for; in their order.
    private func obey(_ client: OpaquePointer) throws(MQTTFailure) {
        let orders = inbox.withLock { inbox in
            defer { inbox.orders = [] }
            return inbox.orders
        }
        for (order, answer) in orders {
            switch order {
            case .connection:
                if let admission { answer(admission) } else { waitingForConnection.append(answer) }
            case .end: waitingForEnd.append(answer)
            case .close:
                answer(.success(true))
                closing = closing ?? .now
                _ = mosquitto_disconnect(client)
            case .subscribe(let filters): subscribe(client, filters, answer)
            case .watch(let filters): subscribe(client, filters, isWatching: true, answer)
            case .publish(let messages): publish(client, messages, answer)
            }
        }
    }

    private func publish(_ client: OpaquePointer, _ messages: [MQTTMessage], _ answer: @escaping Answer) {
        // Told before anything goes out: all of them, or none.
        if let wrong = messages.first(where: {
            !TopicName.isPublishable($0.topic) || $0.payload.count > MQTTMessage.payloadLimit
        }) {
            return answer(
                .failure(
                    MQTTFailure(
                        .wrongUse,
                        "Nothing can be published at \"\(wrong.topic.prefix(200))\" with \(wrong.payload.count) bytes"))
            )
        }
        guard !messages.isEmpty else { return answer(.success(true)) }
        let ticket = Ticket(messages.count, answer)
        for message in messages {
            var number: Int32 = 0
            let code = message.payload.withUnsafeBytes { bytes in
                message.topic.withCString {
                    mosquitto_publish(
                        client, &number, $0, Int32(bytes.count), bytes.baseAddress, MQTTMessage.quality,
                        message.isRetained)
                }
            }
            // Whatever it was: the connection will say so in a moment, and everybody who waits is answered then.
            guard code == 0 || code == MOSQ_ERR_NO_CONN.rawValue else { return ticket.end(.failure(failure(code))) }
            tickets[number] = ticket
        }
    }

    private func subscribe(
        _ client: OpaquePointer, _ filters: [String], isWatching: Bool = false, _ answer: @escaping Answer
    ) {
        guard !filters.isEmpty else { return answer(.success(true)) }
        let ticket = Ticket(filters.count, answer)
        for filter in filters {
            var number: Int32 = 0
            let code = filter.withCString {
                // The old version has no word for "not what I say myself".
                isWatching && !isOld
                    ? mosquitto_subscribe_v5(client, &number, $0, 0, Int32(MQTT_SUB_OPT_NO_LOCAL.rawValue), nil)
                    : mosquitto_subscribe(client, &number, $0, isWatching ? 0 : MQTTMessage.quality)
            }
            guard code == 0 else { return ticket.end(.failure(failure(code))) }
            tickets[number] = ticket
        }
    }

    private func finish(_ end: MQTTFailure) {
        let left = inbox.withLock { inbox in
            inbox.end = end
            defer { inbox.orders = [] }
            return inbox.orders
        }
        for ticket in tickets.values { ticket.end(.failure(end)) }
        for answer in waitingForConnection + waitingForEnd + left.map(\.1) { answer(.failure(end)) }
        tickets = [:]
        (waitingForConnection, waitingForEnd) = ([], [])
    }

    // MARK: - What the library tells; on the thread

    func admitted(_ code: Int32, knewUs: Bool) {
        let isNewCode = code > 5
        let words =
            (isNewCode ? mosquitto_reason_string(code) : mosquitto_connack_string(code)).map {
                String(cString: $0)
            } ?? "code \(code)"
        // Either version's word for a version that is not spoken there.
        needsOldWords = code == 1 || code == MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION.rawValue
        admission =
            code == 0
            ? .success(knewUs) : .failure(MQTTFailure(.refused, "The broker at \(options.address) refuses: \(words)"))
        lastSign = .now
        guard case .success? = admission else { return }
        // Those, too, whose orders the thread has not seen: what comes next may be a message.
        let orders = inbox.withLock { inbox in
            inbox.knewUs = knewUs
            let those = inbox.orders.filter { if case .connection = $0.0 { true } else { false } }
            inbox.orders.removeAll { if case .connection = $0.0 { true } else { false } }
            return those
        }
        for answer in waitingForConnection + orders.map(\.1) { answer(.success(knewUs)) }
        waitingForConnection = []
    }

    func confirmed(_ number: Int32, granted: Bool, isHeard: Bool = true) {
        lastSign = .now
        guard let ticket = tickets.removeValue(forKey: number) else { return }
        guard granted else {
            return ticket.end(
                .failure(
                    MQTTFailure(
                        .refused, "The broker at \(options.address) does not let us read a topic that we asked for")))
        }
        ticket.parts -= 1
        if !isHeard { ticket.isHeard = false }
        if ticket.parts == 0 { ticket.end(.success(ticket.isHeard)) }
    }

    /// The broker has a message, or does not want it. That it may not be published at that topic is said by brokers of
    /// MQTT 5 only: for the others such a message is done with, and so it is here.
    func published(_ number: Int32, reason: Int32) {
        guard reason >= MQTT_RC_UNSPECIFIED.rawValue, reason != MQTT_RC_NOT_AUTHORIZED.rawValue else {
            return confirmed(number, granted: true, isHeard: reason != MQTT_RC_NO_MATCHING_SUBSCRIBERS.rawValue)
        }
        let words = mosquitto_reason_string(reason).map { String(cString: $0) } ?? "code \(reason)"
        tickets.removeValue(forKey: number)?.end(
            .failure(MQTTFailure(.lost, "The broker at \(options.address) does not take a message: \(words)")))
    }

    func came(_ message: MQTTMessage) {
        // What comes behind one that is sent again is sent again, too.
        guard !isUndone else { return }
        // It comes again.
        if handedOn == 0, message.isConfirmed, inbox.withLock({ $0.isHurried }) {
            isUndone = true
            return
        }
        receive(message)
        handedOn += 1
        hasHandedOn = true
    }

    /// By who is called by `receive`, on the thread: the broker does not hear that this message arrived, and sends it
    /// again to the next connection. This one ends.
    /// - Returns: `false` where others were handed on just before, which would come again with it.
    func leaveUndone() -> Bool {
        isUndone = handedOn == 0
        return isUndone
    }

    func dismissed(_ reason: Int32) { dismissal = reason }

    func complained(_ words: String) {
        guard let complaint, !complaint.contains(words), complaint.utf8.count < 400 else {
            return complaint = complaint ?? words
        }
        self.complaint = "\(complaint); \(words)"
    }

    // MARK: - Words

    private func failure(_ code: Int32) -> MQTTFailure {
        if case .failure(let refusal)? = admission { return refusal }
        let place = "The broker at \(options.address)"
        let errno = errno
        let system = String(cString: strerror(errno))
        switch code {
        case MOSQ_ERR_EAI.rawValue:
            return MQTTFailure(.unreachable, "\(place) cannot be found: its name has no address")
        case _ where admission == nil && options.address.isEncrypted && complaint != nil, MOSQ_ERR_TLS.rawValue,
            MOSQ_ERR_TLS_HANDSHAKE.rawValue:
            return MQTTFailure(
                .tls, "\(place) cannot be spoken to in secret: \(complaint ?? MosquittoLibrary.words(code))")
        case MOSQ_ERR_ERRNO.rawValue where admission == nil && options.address.isEncrypted && errno == EPROTO:
            return MQTTFailure(
                .tls,
                """
                \(place) ends the encrypted connection: it may want a certificate of \
                ours\(complaint.map { " (\($0))" } ?? "")
                """
            )
        case MOSQ_ERR_CONN_LOST.rawValue where dismissal == MQTT_RC_SESSION_TAKEN_OVER.rawValue:
            return MQTTFailure(.takenOver, "\(place) gave our place to another client of the same name")
        case MOSQ_ERR_CONN_LOST.rawValue where admission == nil,
            MOSQ_ERR_ERRNO.rawValue where admission == nil && (errno == ECONNRESET || errno == EPIPE):
            needsOldWords = true
            return MQTTFailure(
                .noGreeting, "\(place) hung up before it said anything\(complaint.map { " (\($0))" } ?? "")")
        case MOSQ_ERR_ERRNO.rawValue where admission == nil:
            return MQTTFailure(.unreachable, "\(place) cannot be reached: \(system)")
        case MOSQ_ERR_CONN_LOST.rawValue, MOSQ_ERR_NO_CONN.rawValue, MOSQ_ERR_ERRNO.rawValue,
            MOSQ_ERR_KEEPALIVE.rawValue:
            return MQTTFailure(
                admission == nil ? .unreachable : .lost, "\(place) hung up\(complaint.map { " (\($0))" } ?? "")")
        case MOSQ_ERR_INVAL.rawValue:
            return MQTTFailure(
                .wrongUse, "The MQTT library takes something for wrong: \(complaint ?? MosquittoLibrary.words(code))")
        default: return MQTTFailure(.lost, "\(place): \(MosquittoLibrary.words(code))")
        }
    }

    private static func trouble(of socket: Int32) -> String? {
        var (number, size) = (Int32(0), socklen_t(4))
        guard getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &size) == 0, number != 0 else { return nil }
        return String(cString: strerror(number))
    }

    /// Says that nothing more comes, and listens until the broker has seen that, a second at most. A socket that is
    /// closed while something waits in it to be read takes along what is on its way to the other end: confirmations
    /// that were written just before.
    private static func endWriting(_ socket: Int32) {
        guard shutdown(socket, Int32(SHUT_WR)) == 0 else { return }
        let end = ContinuousClock.now + .seconds(1)
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        while ContinuousClock.now < end {
            var place = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard poll(&place, 1, 100) > 0 else { continue }
            let count = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            guard count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR) else { return }
        }
    }

    private func emptyWakeup() {
        var bytes = [UInt8](repeating: 0, count: 512)
        while read(wakeup.read, &bytes, bytes.count) == bytes.count {}
    }
}
