import Dispatch

/// An HCI controller over TCP, such as Bumble's, with time limits. The queue protects all state.
final class StreamController: @unchecked Sendable {
    let place: NetworkEndpoint
    let queue: DispatchQueue
    private var host: HCIHost
    private var stream: TCPStream?
    var onEffect: ((HCIHost.Effect) -> Void)?
    /// Called when a working controller connection is lost.
    var onEnd: ((LinkError) -> Void)?
    private var waiting: [(Result<BluetoothAddress, LinkError>) -> Void] = []
    private(set) var address: BluetoothAddress?
    private var leaving: (() -> Void)?
    private let instruments: LinkInstruments
    private let responding: DeadlineTimer
    private let closing: DeadlineTimer
    private static let responseLimit = Duration.seconds(5)
    /// The time limit for the controller's responses to the last commands.
    private static let closeLimit = Duration.seconds(1)

    init(_ place: NetworkEndpoint, queue: DispatchQueue, instruments: LinkInstruments) {
        (self.place, self.queue, self.instruments) = (place, queue, instruments)
        responding = DeadlineTimer(queue: queue, clock: instruments.clock)
        closing = DeadlineTimer(queue: queue, clock: instruments.clock)
        host = HCIHost(fallback: place.address)
        responding.onFire = { [weak self] in
            guard let self else { return }
            self.end("the controller at \(self.place) does not answer")
        }
        closing.onFire = { [weak self] in self?.leaving?() }
    }

    /// Calls `body` when the controller is ready. Connects if there is no connection.
    func ready(_ body: @escaping (Result<BluetoothAddress, LinkError>) -> Void) {
        if let address { return body(.success(address)) }
        waiting.append(body)
        guard stream == nil else { return }
        let made = TCPStream(place, queue: queue, clock: instruments.clock) { [weak self] in self?.take($0) }
        stream = made
        made.open()
    }

    func handle(_ input: HCIHost.Input) {
        let before = host.commandsSent
        for effect in host.handle(input) { perform(effect) }
        if let leaving, !host.isWaiting {
            self.leaving = nil
            leaving()
        }
        if !host.isWaiting {
            responding.set(nil)
        } else if host.commandsSent != before {
            responding.set(instruments.clock.now().advanced(by: Self.responseLimit))
        }
    }

    /// Closes the stream when the controller has answered the last commands, after at most a second.
    func leave(_ done: @escaping () -> Void) {
        let finish = { [weak self] in
            self?.leaving = nil
            self?.close()
            done()
        }
        guard address != nil, host.isWaiting else { return finish() }
        leaving = finish
        closing.set(instruments.clock.now().advanced(by: Self.closeLimit))
    }

    func close() {
        responding.set(nil)
        closing.set(nil)
        stream?.close()
        stream = nil
        address = nil
        _ = host.handle(.closed)
    }

    private func take(_ event: TCPStream.Event) {
        switch event {
        case .opened: handle(.opened)
        case .received(let bytes): handle(.received(bytes))
        case .ended(let sentence): end(sentence)
        }
    }

    private func perform(_ effect: HCIHost.Effect) {
        switch effect {
        case .send(let bytes): stream?.send(bytes)
        case .ready(let address):
            self.address = address
            let callers = waiting
            waiting = []
            for body in callers { body(.success(address)) }
        case .broken(let sentence): end("\(place): \(sentence)")
        case .refused(let opcode, let status):
            instruments.log(
                """
                the controller at \(place) refused command 0x\(String(opcode, radix: 16)): status \
                0x\(String(status, radix: 16))
                """
            )
        case .advertised, .connected, .connectFailed, .received, .congested, .drained, .disconnected: onEffect?(effect)
        }
    }

    private func end(_ sentence: String) {
        let wasReady = address != nil
        let gone = host.handle(.closed)
        close()
        let error = LinkError(.noAdapter, sentence, isTransient: true)
        let (callers, left) = (waiting, leaving)
        (waiting, leaving) = ([], nil)
        for body in callers { body(.failure(error)) }
        left?()
        for effect in gone { onEffect?(effect) }
        if wasReady { onEnd?(error) }
    }
}
