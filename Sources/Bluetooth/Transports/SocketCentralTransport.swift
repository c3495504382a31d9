import Dispatch

extension ATTCentralLink {
    /// A central on a socket: `unix:PATH`, `stream:PATH`, or L2CAP with its own dialer.
    package convenience init(_ dialer: some SocketDialer, instruments: LinkInstruments = LinkInstruments()) {
        let queue = DispatchQueue(label: "central " + dialer.name)
        self.init(
            name: dialer.name, hasRadio: dialer.hasRadio, queue: queue, instruments: instruments,
            transport: SocketCentralTransport(dialer, queue: queue))
    }
}

/// A central's socket. The queue protects all state.
private final class SocketCentralTransport: CentralTransport, @unchecked Sendable {
    private let dialer: any SocketDialer
    private let queue: DispatchQueue
    weak var central: ATTCentralLink?
    private var socket: PacketSocket?
    /// The number of the current attempt. Retries of earlier attempts are ignored.
    private var attempt = 0

    init(_ dialer: any SocketDialer, queue: DispatchQueue) {
        self.dialer = dialer
        self.queue = queue
    }

    func scan() {
        do throws(LinkError) {
            central?.feed(.found(try dialer.peer()))
        } catch {
            central?.feed(.notFound(error))
        }
    }

    func open(_ peer: PeerID) {
        attempt += 1
        dial(peer, attempt)
    }

    private func dial(_ peer: PeerID, _ current: Int) {
        guard attempt == current else { return }
        do throws(LinkError) {
            guard let descriptor = try dialer.dial(peer) else {
                return queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [weak self] in
                    self?.dial(peer, current)
                }
            }
            socket = PacketSocket(descriptor: descriptor, isConnecting: true, queue: queue) { [weak self] in
                self?.handle($0)
            }
        } catch {
            central?.feed(.openFailed(error))
        }
    }

    private func handle(_ event: PacketSocket.Event) {
        switch event {
        case .connected: central?.feed(.opened)
        case .connectFailed(let error): central?.feed(.openFailed(dialer.explain(error)))
        case .received(let bytes): central?.received(bytes)
        case .ended(let error):
            socket = nil
            let sentence = "the peer of \(dialer.name) closed the connection"
            central?.feed(
                .closed(
                    LinkError(
                        .disconnected, sentence, cause: error.map { dialer.explain($0).cause ?? "" }, isTransient: true)
                ))
        // Only write commands can queue here, and the socket limits their number.
        case .congested, .drained: break
        }
    }

    func send(_ bytes: [UInt8]) { socket?.send(bytes) }

    func close() {
        attempt += 1
        socket?.close()
        socket = nil
    }

    func setReading(fromPeripheral isReading: Bool) { socket?.isReading = isReading }
}
