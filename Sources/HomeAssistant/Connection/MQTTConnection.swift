import CMosquitto
import Foundation
import Glibc
import Synchronization

/// One connection with a broker, from CONNECT to its end. The broker keeps the session of the client ID, so that the
/// next connection receives what came in the meantime.
///
/// The connection has its own thread. It runs the library's loop itself, because `mosquitto_loop_start` can read the
/// next message before it writes the PUBACK of the last one.
package final class MQTTConnection: Sendable {
    /// The maximum number of unacknowledged outgoing messages.
    private static let sendMaximum: Int32 = 100
    /// libmosquitto uses select(2), which does not support descriptors from this number on.
    private static let descriptorLimit: Int32 = 1024
    private static let closingLimit = Duration.seconds(2)

    private typealias Acknowledgement = Once<Result<Int32, MQTTFailure>>

    private struct State {
        var isRetainAvailable = true
        var maximumQoS: Int32 = 1
        /// Whether `receive` is running.
        var isReceiving = false
        /// The acknowledgements by packet identifier that only the sender or only the library has requested.
        var acknowledgements: [Int32: Acknowledgement] = [:]
    }

    /// The address of the library's client while it is connected, else 0. Locked separately from `state`.
    private let client = Mutex(0)
    private let state = Mutex(State())
    /// The result of CONNECT.
    private let connectResult = Once<Result<Void, MQTTFailure>>()
    private let end = Once<MQTTFailure>()
    /// Set when the thread has closed the socket (`true`), or after the time limit of `close` (`false`).
    private let socketReleased = Once<Bool>()
    /// The last error that the library logged, which has the reason of a TLS failure.
    private let libraryError = Mutex<String?>(nil)
    private let options: MQTTOptions
    private let receive: @Sendable (MQTTMessage) throws -> Void

    /// Starts to connect.
    /// - Parameter receive: called for each message on the connection's thread; the broker gets its PUBACK afterwards.
    ///   If it throws, the connection ends, and the broker sends the message again.
    /// - Throws: `MQTTFailure` if the options cannot be used.
    package init(_ options: MQTTOptions, receive: @escaping @Sendable (MQTTMessage) throws -> Void) throws(MQTTFailure)
    {
        let handle = try MosquittoClient.make(options, sendMaximum: Self.sendMaximum)
        (self.options, self.receive) = (options, receive)
        // The pointer is unretained, because the thread below retains this object until it has destroyed the client.
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        Self.setCallbacks(handle)
        let address = Int(bitPattern: handle)
        let thread = Thread { if let handle = OpaquePointer(bitPattern: address) { self.run(handle) } }
        thread.name = "mqtt"
        thread.start()
        fail(after: options.limit, "did not answer") { [connectResult] in connectResult.known == nil }
    }

    /// Connects, with fewer features if the broker supports fewer (`MQTTOptions.adapt`).
    /// - Parameter created: called with each connection before its first message.
    package static func open(
        _ options: MQTTOptions, created: (MQTTConnection) -> Void = { _ in },
        receive: @escaping @Sendable (MQTTMessage) throws -> Void
    ) async throws(MQTTFailure) -> MQTTConnection {
        var options = options
        while true {
            let connection = try MQTTConnection(options, receive: receive)
            created(connection)
            do throws(MQTTFailure) {
                try await connection.connected()
                return connection
            } catch {
                await connection.close()
                guard options.adapt(to: error), !Task.isCancelled else { throw error }
            }
        }
    }

    /// Waits until the broker accepts the connection.
    package func connected() async throws(MQTTFailure) {
        try await connectResult.value().get()
    }

    /// Subscribes, and waits for the broker's grant.
    /// - Parameter isOwnIgnored: whether to exclude messages that this client publishes.
    package func subscribe(_ filters: [String], isOwnIgnored: Bool = false) async throws(MQTTFailure) {
        let codes = try await acknowledged(filters.count) { client, index, number in
            isOwnIgnored && !options.isVersion3
                ? mosquitto_subscribe_v5(client, &number, filters[index], 0, Int32(MQTT_SUB_OPT_NO_LOCAL.rawValue), nil)
                : mosquitto_subscribe(client, &number, filters[index], isOwnIgnored ? 0 : 1)
        }
        guard let refused = zip(filters, codes).first(where: { $1 >= 128 || $1 < 0 }) else { return }
        throw MQTTFailure(.refused, "\(broker) rejects the subscription to \(refused.0)", code: refused.1)
    }

    /// Publishes messages in this order, and waits until the broker has answered for each of them.
    package func publish(_ messages: [MQTTMessage]) async throws(MQTTFailure) -> [MQTTDelivery] {
        let codes = try await acknowledged(messages.count) { send(messages[$1], $0, &$2) }
        return codes.map(MQTTDelivery.init(code:))
    }

    /// Publishes without waiting. Can be called by `receive`.
    /// - Parameter answered: called with the topic and the broker's acknowledgement, if it arrives.
    package func post(
        _ messages: [MQTTMessage], answered: @escaping @Sendable (String, MQTTDelivery) -> Void = { _, _ in }
    ) {
        client.withLock { client in
            guard let client = OpaquePointer(bitPattern: client) else { return }
            for message in messages {
                var number: Int32 = 0
                guard send(message, client, &number) == 0 else { continue }
                let answer = acknowledgement(number)
                Task {
                    guard case .success(let code) = await answer.value() else { return }
                    answered(message.topic, MQTTDelivery(code: code))
                }
            }
        }
    }

    /// The features that the broker does not support, with its reasons.
    package var limitations: [String: String] {
        state.withLock { state in
            var all: [String: String] = [:]
            if !state.isRetainAvailable || !options.mayRetain {
                all["retained messages"] = MQTTDelivery.reasonText(Int32(MQTT_RC_RETAIN_NOT_SUPPORTED.rawValue))
            }
            if state.maximumQoS == 0 || options.qos == 0 {
                all["QoS 1"] = MQTTDelivery.reasonText(Int32(MQTT_RC_QOS_NOT_SUPPORTED.rawValue))
            }
            return all
        }
    }

    /// The reason for the end of the connection; `nil` before it.
    package var failure: MQTTFailure? { end.known }

    package func ended() async -> MQTTFailure { await end.value() }

    /// Disconnects after everything was sent, without waiting. The broker does not publish the last will, and sends
    /// messages that were not received again at the next connection.
    package func disconnect() {
        client.withLock { _ = OpaquePointer(bitPattern: $0).map { mosquitto_disconnect($0) } }
    }

    /// Disconnects, and waits for the end. A message that is being processed is finished first, because the broker
    /// would send it again at the next connection.
    package func close() async {
        disconnect()
        fail(after: Self.closingLimit, "did not end the connection") { [end] in end.known == nil }
        _ = await ended()
        // The thread can take longer if it resolves a host name.
        Task { [socketReleased] in
            try? await Task.sleep(for: Self.closingLimit)
            socketReleased.set(false)
        }
        _ = await socketReleased.value()
    }

    /// Runs the connection until its end, and releases the client.
    private func run(_ handle: OpaquePointer) {
        // This call blocks while it resolves the host name.
        var code = mosquitto_connect_async(handle, options.address.host, Int32(options.address.port), 30)
        if code == 0, mosquitto_socket(handle) >= Self.descriptorLimit {
            end(with: MQTTFailure(.processLimit, "The process has too many open files for libmosquitto"))
        }
        // The library closes its socket with unread messages in it. The kernel would then reset the connection, and the
        // broker could lose the last PUBACK.
        let socket = code == 0 ? fcntl(mosquitto_socket(handle), F_DUPFD_CLOEXEC, 0) : -1
        if code == 0 { client.withLock { $0 = Int(bitPattern: handle) } }
        while code == 0, failure == nil {
            code = mosquitto_loop(handle, 1000, 1)
            // Write the PUBACK before the next message is read.
            if code == 0 { code = mosquitto_loop_write(handle, 1) }
        }
        end(with: failure(code, errno))
        client.withLock { $0 = 0 }
        mosquitto_destroy(handle)
        Self.drain(socket)
        socketReleased.set(true)
    }

    /// Closes a socket after the broker has closed its side, or after the time limit.
    private static func drain(_ socket: Int32) {
        guard socket >= 0 else { return }
        shutdown(socket, Int32(SHUT_WR))
        let deadline = ContinuousClock.now + closingLimit
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        while ContinuousClock.now < deadline, poll(&waiting, 1, 500) >= 0 {
            guard waiting.revents == 0 || read(socket, &bytes, bytes.count) > 0 else { break }
        }
        Glibc.close(socket)
    }

    /// Sends packets and waits for the reason codes of their acknowledgements.
    /// - Parameter send: sends one packet. Its error code is returned as a negative reason code.
    private func acknowledged(
        _ count: Int, _ send: (OpaquePointer, Int, inout Int32) -> Int32
    ) async throws(MQTTFailure) -> [Int32] {
        let answers = client.withLock { client -> [Acknowledgement]? in
            guard let client = OpaquePointer(bitPattern: client) else { return nil }
            return (0..<count).map { index in
                var number: Int32 = 0
                let code = send(client, index, &number)
                guard code != 0 else { return acknowledgement(number) }
                let isLost = code == MOSQ_ERR_NO_CONN.rawValue || code == MOSQ_ERR_CONN_LOST.rawValue
                return Acknowledgement(isLost ? .failure(failure(code, errno)) : .success(-code))
            }
        }
        guard let answers else { throw failure ?? MQTTFailure(.closed, "The connection was closed.") }
        fail(after: options.limit, "did not confirm a message") { answers.contains { $0.known == nil } }
        var codes: [Int32] = []
        for answer in answers { codes.append(try await answer.value().get()) }
        return codes
    }

    /// Sends a message, and returns the library's error code.
    private func send(_ message: MQTTMessage, _ client: OpaquePointer, _ number: inout Int32) -> Int32 {
        let (retains, qos) = state.withLock { ($0.isRetainAvailable, $0.maximumQoS) }
        // Without retained messages, there is nothing to clear.
        guard retains || !message.payload.isEmpty else { return MQTTDelivery.noPacketNeeded }
        return message.payload.withUnsafeBytes {
            mosquitto_publish(
                client, &number, message.topic, Int32($0.count), $0.baseAddress, qos, message.isRetained && retains)
        }
    }

    /// The acknowledgement of a packet. The sender and the library's callback each request it once, in any order.
    private func acknowledgement(_ number: Int32) -> Acknowledgement {
        state.withLock { state in
            if let requested = state.acknowledgements.removeValue(forKey: number) { return requested }
            let answer = Acknowledgement(end.known.map { .failure($0) })
            state.acknowledgements[number] = answer
            return answer
        }
    }

    /// Ends the connection after a timeout if the broker's response is still missing.
    private func fail(after limit: Duration, _ problem: String, if isMissing: @escaping @Sendable () -> Bool) {
        let failure = MQTTFailure(.noAnswer, "\(broker) \(problem) in \(limit.components.seconds) s")
        Task { [weak self] in
            repeat { try? await Task.sleep(for: limit) } while self?.state.withLock({ $0.isReceiving }) == true
            guard isMissing() else { return }
            self?.end(with: failure)
        }
    }

    /// Ends all waits with the failure. The thread then disconnects and ends.
    private func end(with failure: MQTTFailure) {
        guard end.set(failure) else { return }
        connectResult.set(.failure(failure))
        for answer in state.withLock({ $0.acknowledgements }).values { answer.set(.failure(failure)) }
        disconnect()
    }
}

/// A value that is set once. Several tasks can wait for it.
private final class Once<Value: Sendable>: Sendable {
    private let state: Mutex<(value: Value?, waiting: [CheckedContinuation<Value, Never>])>

    init(_ value: Value? = nil) { state = Mutex((value, [])) }

    var known: Value? { state.withLock { $0.value } }

    /// Sets the value. Later calls have no effect, and return `false`.
    @discardableResult func set(_ value: Value) -> Bool {
        let waiting = state.withLock { state -> [CheckedContinuation<Value, Never>]? in
            guard state.value == nil else { return nil }
            defer { state = (value, []) }
            return state.waiting
        }
        for one in waiting ?? [] { one.resume(returning: value) }
        return waiting != nil
    }

    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let known = state.withLock { state in
                if state.value == nil { state.waiting.append(continuation) }
                return state.value
            }
            if let known { continuation.resume(returning: known) }
        }
    }
}

extension MQTTConnection {
    private static func of(_ owner: UnsafeMutableRawPointer?) -> MQTTConnection? {
        owner.map { Unmanaged<MQTTConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func setCallbacks(_ client: OpaquePointer) {
        mosquitto_connect_v5_callback_set(client) { _, owner, code, _, properties in
            var (retains, qos) = (UInt8(1), UInt8(1))
            if let properties {
                mosquitto_property_read_byte(properties, Int32(MQTT_PROP_RETAIN_AVAILABLE.rawValue), &retains, false)
                mosquitto_property_read_byte(properties, Int32(MQTT_PROP_MAXIMUM_QOS.rawValue), &qos, false)
            }
            MQTTConnection.of(owner)?.answered(code, retains: retains != 0, qos: Int32(min(1, qos)))
        }
        mosquitto_disconnect_callback_set(client) { _, owner, code in
            let number = errno
            guard let connection = MQTTConnection.of(owner) else { return }
            connection.end(with: connection.failure(code, number))
        }
        mosquitto_publish_v5_callback_set(client) { _, owner, number, code, _ in
            MQTTConnection.of(owner)?.acknowledgement(number).set(.success(code))
        }
        mosquitto_subscribe_callback_set(client) { _, owner, number, count, granted in
            let code = (0..<Int(count)).map { granted?[$0] ?? 128 }.max() ?? 128
            MQTTConnection.of(owner)?.acknowledgement(number).set(.success(code))
        }
        mosquitto_message_callback_set(client) { client, owner, message in
            guard let connection = MQTTConnection.of(owner), let message = message?.pointee, let name = message.topic,
                let topic = String(validatingCString: name)
            else { return }
            let bytes = UnsafeRawBufferPointer(
                start: message.payload, count: min(max(0, Int(message.payloadlen)), MQTTMessage.incomingLimit + 1))
            connection.state.withLock { $0.isReceiving = true }
            let result = Result {
                try connection.receive(MQTTMessage(topic, Array(bytes), isRetained: message.retain))
            }
            connection.state.withLock { $0.isReceiving = false }
            // The broker sends a message with QoS 0 only once.
            guard message.qos > 0 else { return }
            if case .failure(let error) = result {
                // The library can no longer write the PUBACK.
                shutdown(mosquitto_socket(client), Int32(SHUT_RDWR))
                connection.end(with: MQTTFailure(.closed, "A message was not processed: \(error)"))
            }
            // Ends `mosquitto_loop_read`, which otherwise reads several messages before a PUBACK is written.
            errno = EAGAIN
        }
        mosquitto_log_callback_set(client) { _, owner, level, text in
            guard level == 0x08 /* MOSQ_LOG_ERR */, let text else { return }
            let message = String(cString: text)
            MQTTConnection.of(owner)?.libraryError.withLock { existing in
                guard let old = existing else { return existing = message }
                if !old.contains(message), old.utf8.count < 400 { existing = "\(old); \(message)" }
            }
        }
    }

    private func answered(_ code: Int32, retains: Bool, qos: Int32) {
        state.withLock { state in
            (state.isRetainAvailable, state.maximumQoS) = (retains && options.mayRetain, min(qos, options.qos))
        }
        guard code != 0 else {
            connectResult.set(.success(()))
            return
        }
        end(with: .rejection(code, by: broker))
    }

    private var broker: String { "The broker at \(options.address)" }

    private func failure(_ code: Int32, _ errno: Int32) -> MQTTFailure {
        let (details, isConnected) = (libraryError.withLock { $0 }, connectResult.known != nil)
        let system = String(cString: strerror(errno))
        if code == MOSQ_ERR_SUCCESS.rawValue { return MQTTFailure(.closed, "The connection was closed.") }
        if code >= 128 {
            let isTaken = code == MQTT_RC_SESSION_TAKEN_OVER.rawValue
            return MQTTFailure(
                isTaken ? .takenOver : .lost, "\(broker) disconnected: \(MQTTDelivery.reasonText(code))", code: code)
        }
        if code == MOSQ_ERR_EAI.rawValue {
            return MQTTFailure(.unreachable, "\(broker) cannot be found: its name has no address")
        }
        if code == MOSQ_ERR_INVAL.rawValue {
            return MQTTFailure(.invalid, "libmosquitto rejects a value: \(details ?? MosquittoClient.text(code))")
        }
        let isTLS = code == MOSQ_ERR_TLS.rawValue || code == MOSQ_ERR_TLS_HANDSHAKE.rawValue
        if isTLS || !isConnected && options.address.isEncrypted && (details != nil || errno == EPROTO) {
            return MQTTFailure(
                .tls,
                "No TLS connection with the broker at \(options.address): \(details ?? MosquittoClient.text(code))")
        }
        let isSystem = code == MOSQ_ERR_ERRNO.rawValue
        if !isConnected {
            let isClosed = code == MOSQ_ERR_CONN_LOST.rawValue || isSystem && [ECONNRESET, EPIPE].contains(errno)
            return isClosed
                ? MQTTFailure(.closedBeforeResponse, "\(broker) disconnected before it answered")
                : MQTTFailure(
                    .unreachable, "\(broker) cannot be reached: \(isSystem ? system : MosquittoClient.text(code))")
        }
        return MQTTFailure(.lost, "\(broker) disconnected: \(isSystem ? system : MosquittoClient.text(code))")
    }
}
