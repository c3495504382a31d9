import Bluetooth
import Utilities

/// The state machine of a central through an ESPHome Bluetooth proxy: requests and bytes in, bytes and events out.
///
/// A device sends advertisements and connection events to one client only: the one that has subscribed to
/// advertisements. So every wait here has a time limit, and the subscription ends when the caller makes no requests.
struct ProxyHost {
    enum Input: Hashable {
        case request(CentralRequest)
        case opened
        case received([UInt8])
        /// The stream could not be connected or has ended, with the reason.
        case ended(String)
        case tick
        case shutDown
    }

    enum Effect: Hashable {
        case dial
        case send([UInt8])
        /// Close the stream. No event follows.
        case close
        case event(CentralEvent)
        case finished
    }

    /// Time limits, and maximum numbers of stored items.
    enum Limit {
        /// The time limit from the connection of the stream until the device is ready.
        static let handshake = Duration.seconds(5)
        /// The time limit of a request on a connection: longer than the proxy's own.
        static let operation = Duration.seconds(30)
        static let disconnect = Duration.seconds(5)
        static let shutDown = Duration.seconds(1)
        /// The idle time after which the subscription ends.
        static let idle = Duration.seconds(10)
        static let ping = Duration.seconds(20)
        static let silence = Duration.seconds(60)
        static let waitingRequests = 64
        static let peers = 4096
        static let services = 256
    }

    enum Stage: Hashable {
        case closed, connecting
        /// With encryption, the device sends its name, then its handshake message.
        case noiseHello, noiseHandshake
        case hello, features, ready
    }

    let endpoint: NetworkEndpoint
    private let key: [UInt8]?
    var stage = Stage.closed
    private var noise: NoiseSession?
    private var frames: ProxyFrames
    /// The free and total connection slots of the device.
    var slots: (free: Int, limit: Int)?
    var isScanning = false
    var isSubscribed = false
    /// The peers of the scan, with the type of each address.
    var peers: [PeerID: (advertisement: Advertisement, addressType: Int)] = [:]
    /// The peers that this scan has already reported.
    var reported: Set<PeerID> = []
    var session: ProxySession?
    private var handshakeDeadline: MonotonicInstant?
    private var idleDeadline: MonotonicInstant?
    private var shutDownDeadline: MonotonicInstant?
    private var lastReceived = MonotonicInstant(nanoseconds: 0)
    private var lastSent = MonotonicInstant(nanoseconds: 0)
    var now = MonotonicInstant(nanoseconds: 0)
    private var effects: [Effect] = []

    /// - Parameter key: the device's encryption key, 32 bytes; `nil` for an unencrypted API.
    init(_ endpoint: NetworkEndpoint, key: [UInt8]?) {
        (self.endpoint, self.key) = (endpoint, key)
        frames = ProxyFrames(isEncrypted: key != nil)
    }

    /// The earliest time at which `tick` has an effect.
    var nextDeadline: MonotonicInstant? {
        let quiet =
            stage == .ready
            ? min(max(lastReceived, lastSent).advanced(by: Limit.ping), lastReceived.advanced(by: Limit.silence)) : nil
        return [handshakeDeadline, idleDeadline, shutDownDeadline, session?.nextDeadline, quiet].compactMap { $0 }.min()
    }

    /// Handles one input and returns its effects in order. Time must not go backwards.
    mutating func handle(_ input: Input, at now: MonotonicInstant) -> [Effect] {
        self.now = now
        switch input {
        case .request(let request): perform(request)
        case .opened: startHandshake()
        case .received(let bytes): receive(bytes)
        // An unencrypted device closes the stream here.
        case .ended where stage == .noiseHello:
            streamEnded(
                LinkError(
                    .permissionDenied,
                    "\(endpoint) disconnected at the first encrypted message: it might not use encryption"))
        case .ended(let sentence): streamEnded(LinkError(.noAdapter, sentence, isTransient: true))
        case .tick: tick()
        case .shutDown: shutDown()
        }
        updateIdleDeadline()
        defer { effects = [] }
        return effects
    }

    // MARK: Device

    mutating func dial() {
        guard stage == .closed else { return }
        stage = .connecting
        effects.append(.dial)
    }

    private mutating func startHandshake() {
        guard stage == .connecting else { return }
        handshakeDeadline = now.advanced(by: Limit.handshake)
        frames = ProxyFrames(isEncrypted: key != nil)
        guard let key else { return sendHello() }
        let ephemeralKey: X25519Key
        do { ephemeralKey = try X25519Key() } catch {
            return end(.system, "cannot encrypt for \(endpoint): \(error)", isTransient: true)
        }
        var session = NoiseSession(key: key, ephemeralKey: ephemeralKey)
        guard let message = try? session.hello() else { return end(.system, "cannot encrypt for \(endpoint)") }
        noise = session
        stage = .noiseHello
        effects.append(.send(ProxyFrames.encrypted([]) + ProxyFrames.encrypted([0] + message)))
    }

    private mutating func sendHello() {
        stage = .hello
        send(.hello)
        send(.authentication)
    }

    mutating func send(_ request: ProxyRequest) {
        lastSent = now
        guard noise != nil else { return effects.append(.send(ProxyFrames.plain(type: request.type, request.bytes))) }
        let head = [request.type, request.bytes.count].flatMap {
            [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)]
        }
        guard let sealed = try? noise?.seal(head + request.bytes) else {
            return end(.system, "cannot encrypt for \(endpoint)")
        }
        effects.append(.send(ProxyFrames.encrypted(sealed)))
    }

    mutating func emit(_ event: CentralEvent) { effects.append(.event(event)) }

    private mutating func receive(_ bytes: [UInt8]) {
        lastReceived = now
        frames.append(bytes)
        while stage != .closed {
            switch frames.next() {
            case .incomplete: return
            case .message(let type, let bytes): receiveMessage(type, bytes)
            case .encrypted(let body): open(body)
            case .invalid: end(.noAdapter, "\(endpoint) does not speak the ESPHome API")
            case .wrongEncryption(isEncrypted: true): end(.permissionDenied, "\(endpoint) requires an encryption key")
            case .wrongEncryption(isEncrypted: false):
                end(.permissionDenied, "\(endpoint) does not use encryption, but a key was given")
            }
        }
    }

    private mutating func open(_ body: [UInt8]) {
        switch stage {
        case .noiseHello:
            guard body.first == 1 else { return end(.noAdapter, "\(endpoint) uses an unknown encryption") }
            stage = .noiseHandshake
        case .noiseHandshake:
            // If the device rejects the handshake, for example because of a wrong key, its message is an error text.
            guard body.first == 0, (try? noise?.finish(Array(body.dropFirst()))) != nil else {
                return end(.permissionDenied, "wrong encryption key for \(endpoint)")
            }
            sendHello()
        default:
            guard let plain = try? noise?.open(body), plain.count >= 4 else {
                return end(.noAdapter, "cannot decrypt a message from \(endpoint)")
            }
            receiveMessage(Int(plain[0]) << 8 | Int(plain[1]), Array(plain[4...]))
        }
    }

    private mutating func receiveMessage(_ type: Int, _ bytes: [UInt8]) {
        guard let message = try? ProxyMessage(type: type, bytes) else {
            return end(.noAdapter, "invalid message from \(endpoint) (type \(type))")
        }
        switch (stage, message) {
        case (_, .pingRequest): send(.pong)
        case (_, .disconnectRequest):
            send(.disconnected)
            end(.noAdapter, "\(endpoint) closed the connection")
        case (_, .disconnectResponse): if shutDownDeadline != nil { finish() }
        case (_, .authentication(isInvalid: true)):
            end(
                .permissionDenied,
                "\(endpoint) requires a password, which is not supported; set an encryption key in the device")
        case (.hello, .hello(let major)):
            guard major <= 2 else {
                return end(.noAdapter, "\(endpoint) uses the unknown API version \(major)")
            }
            stage = .features
            send(.deviceInfo)
        case (.features, .deviceInfo(let deviceFeatures)): finishHandshake(deviceFeatures)
        case (.ready, _): handle(message)
        default: break
        }
    }

    private mutating func finishHandshake(_ deviceFeatures: ProxyFeatures) {
        guard deviceFeatures.contains([.passiveScan, .activeConnections]) else {
            let canScan = deviceFeatures.contains(.passiveScan)
            let kind =
                canScan ? "a Bluetooth proxy that does not connect" : "no Bluetooth proxy, or older than ESPHome 2023.6"
            return end(.noAdapter, "\(endpoint) is \(kind)", isTransient: false)
        }
        guard deviceFeatures.contains([.connectsWithoutCache, .rawAdvertisements]) else {
            return end(.noAdapter, "\(endpoint) is older than ESPHome 2023.6", isTransient: false)
        }
        stage = .ready
        handshakeDeadline = nil
        send(.connectionsFree)
        if isScanning { subscribe() }
        if case .connecting? = session?.phase { connectPeer() }
    }

    /// Subscribes to advertisements, without which a device sends no connection events.
    mutating func subscribe() {
        guard !isSubscribed else { return }
        isSubscribed = true
        send(.subscribe)
    }

    // MARK: End

    mutating func end(_ code: LinkError.Code, _ sentence: String, isTransient: Bool = true) {
        effects.append(.close)
        streamEnded(LinkError(code, sentence, isTransient: isTransient && code != .permissionDenied))
    }

    private mutating func streamEnded(_ error: LinkError) {
        guard stage != .closed else { return }
        (stage, noise, isSubscribed, slots, handshakeDeadline, idleDeadline) = (.closed, nil, false, nil, nil, nil)
        let (lostSession, wasScanning) = (session, isScanning)
        (session, isScanning) = (nil, false)
        switch lostSession?.phase {
        case .connecting: emit(.connectFailed(error))
        case .connected: emit(.disconnected(LinkError(.disconnected, error.sentence, isTransient: true)))
        case .ending(_, let reason): emit(.disconnected(reason))
        case nil: break
        }
        if wasScanning { emit(.scanFailed(error)) }
        if shutDownDeadline != nil { finish() }
    }

    private mutating func shutDown() {
        isScanning = false
        guard stage == .ready else { return finish() }
        shutDownDeadline = now.advanced(by: Limit.shutDown)
        if let session { send(.device(session.address, .disconnect)) }
        session = nil
        send(.disconnect)
    }

    private mutating func finish() {
        if stage != .closed { effects.append(.close) }
        (stage, noise, isSubscribed, session, shutDownDeadline, handshakeDeadline, idleDeadline) = (
            .closed, nil, false, nil, nil, nil, nil
        )
        effects.append(.finished)
    }

    /// Ends the subscription after the last request, so that other clients can use the device.
    private mutating func updateIdleDeadline() {
        let isIdle = stage == .ready && isSubscribed && !isScanning && session == nil && shutDownDeadline == nil
        if !isIdle { idleDeadline = nil } else if idleDeadline == nil { idleDeadline = now.advanced(by: Limit.idle) }
    }

    private mutating func tick() {
        func isDue(_ deadline: MonotonicInstant?) -> Bool { deadline.map { $0 <= now } ?? false }
        if isDue(shutDownDeadline) { return finish() }
        if isDue(handshakeDeadline) { return end(.noAdapter, "\(endpoint) did not complete the handshake in time") }
        if isDue(session?.nextDeadline) { sessionTimedOut() }
        if isDue(idleDeadline) {
            (idleDeadline, isSubscribed) = (nil, false)
            send(.unsubscribe)
        }
        guard stage == .ready else { return }
        if isDue(lastReceived.advanced(by: Limit.silence)) { return end(.noAdapter, "\(endpoint) no longer responds") }
        if isDue(max(lastReceived, lastSent).advanced(by: Limit.ping)) { send(.ping) }
    }
}
