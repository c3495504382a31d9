import Dispatch

/// An HCI controller over TCP, such as Bumble's, with time limits. The queue protects all state.
final class HCIController: @unchecked Sendable {
    let endpoint: NetworkEndpoint
    let queue: DispatchQueue
    private var host: HCIHost
    private var stream: TCPStream?
    var onEffect: ((HCIHost.Effect) -> Void)?
    /// Called when a working controller connection is lost.
    var onEnd: ((LinkError) -> Void)?
    private var readyHandlers: [(LinkError?) -> Void] = []
    private(set) var address: BluetoothAddress?
    private var shutDownHandler: (() -> Void)?
    private let instruments: LinkInstruments
    private let responseTimer: DeadlineTimer
    private let closeTimer: DeadlineTimer
    private static let responseLimit = Duration.seconds(5)
    /// The time limit for the controller's responses to the last commands.
    private static let closeLimit = Duration.seconds(1)

    init(_ endpoint: NetworkEndpoint, queue: DispatchQueue, instruments: LinkInstruments) {
        (self.endpoint, self.queue, self.instruments) = (endpoint, queue, instruments)
        responseTimer = DeadlineTimer(queue: queue, clock: instruments.clock)
        closeTimer = DeadlineTimer(queue: queue, clock: instruments.clock)
        host = HCIHost(fallback: endpoint.address)
        responseTimer.onFire = { [weak self] in
            guard let self else { return }
            self.end("the controller at \(self.endpoint) does not answer")
        }
        closeTimer.onFire = { [weak self] in self?.shutDownHandler?() }
    }

    /// Calls `body` when the controller is ready, or with an error. Connects if there is no connection.
    func whenReady(_ body: @escaping (LinkError?) -> Void) {
        guard address == nil else { return body(nil) }
        readyHandlers.append(body)
        guard stream == nil else { return }
        let newStream = TCPStream(endpoint, queue: queue, clock: instruments.clock) { [weak self] in self?.receive($0) }
        stream = newStream
        newStream.open()
    }

    func handle(_ input: HCIHost.Input) {
        let before = host.commandsSent
        for effect in host.handle(input) { perform(effect) }
        if let shutDownHandler, !host.isWaitingForResponse {
            self.shutDownHandler = nil
            shutDownHandler()
        }
        if !host.isWaitingForResponse {
            responseTimer.set(nil)
        } else if host.commandsSent != before {
            responseTimer.set(instruments.clock.now().advanced(by: Self.responseLimit))
        }
    }

    /// Closes the stream when the controller has answered the last commands, after at most a second.
    func shutDown(_ completion: @escaping () -> Void) {
        let finish = { [weak self] in
            self?.shutDownHandler = nil
            self?.close()
            completion()
        }
        guard address != nil, host.isWaitingForResponse else { return finish() }
        shutDownHandler = finish
        closeTimer.set(instruments.clock.now().advanced(by: Self.closeLimit))
    }

    func close() {
        responseTimer.set(nil)
        closeTimer.set(nil)
        stream?.close()
        stream = nil
        address = nil
        _ = host.handle(.closed)
    }

    private func receive(_ event: TCPStream.Event) {
        switch event {
        case .opened: handle(.opened)
        case .received(let bytes): handle(.received(bytes))
        case .ended(let message): end(message)
        }
    }

    private func perform(_ effect: HCIHost.Effect) {
        switch effect {
        case .send(let bytes): stream?.send(bytes)
        case .ready(let address):
            self.address = address
            let callers = readyHandlers
            readyHandlers = []
            for body in callers { body(nil) }
        case .failed(let message): end("\(endpoint): \(message)")
        case .commandFailed(let opcode, let status):
            instruments.log(
                """
                the controller at \(endpoint) refused command 0x\(String(opcode, radix: 16)): status \
                0x\(String(status, radix: 16))
                """
            )
        case .advertised, .connected, .connectFailed, .received, .congested, .drained, .disconnected: onEffect?(effect)
        }
    }

    private func end(_ message: String) {
        let wasReady = address != nil
        let lost = host.handle(.closed)
        close()
        let error = LinkError(.noAdapter, message, isTransient: true)
        let (callers, shutDownCaller) = (readyHandlers, shutDownHandler)
        (readyHandlers, shutDownHandler) = ([], nil)
        for body in callers { body(error) }
        shutDownCaller?()
        for effect in lost { onEffect?(effect) }
        if wasReady { onEnd?(error) }
    }
}
