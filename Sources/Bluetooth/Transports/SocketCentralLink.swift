import Dispatch

/// A central on a socket: `unix:PATH`, `stream:PATH`, or L2CAP with its own dialer.
package final class SocketCentralLink: CentralLink {
    package let name: String
    package let hasRadio: Bool
    package let events: AsyncStream<CentralEvent>
    private let driver: CentralDriver
    private let transport: SocketCentralTransport

    package init(_ dialer: some SocketDialer, instruments: LinkInstruments = LinkInstruments()) {
        name = dialer.name
        hasRadio = dialer.hasRadio
        driver = CentralDriver(queue: DispatchQueue(label: "central " + dialer.name), instruments: instruments)
        transport = SocketCentralTransport(dialer, driver: driver)
        driver.transport = transport
        events = driver.events.stream()
    }

    deinit { driver.events.finish() }

    package func perform(_ request: CentralRequest) { driver.perform(request) }

    package func close() async { await driver.close() }
}

/// The socket as the transport of the central's driver. The driver's queue protects all state.
private final class SocketCentralTransport: CentralTransport, @unchecked Sendable {
    private let dialer: any SocketDialer
    private let driver: CentralDriver
    private var socket: PacketSocket?
    /// The number of the current attempt. Retries of earlier attempts are ignored.
    private var attempt = 0

    init(_ dialer: any SocketDialer, driver: CentralDriver) {
        self.dialer = dialer
        self.driver = driver
    }

    func scan() {
        do throws(LinkError) {
            driver.feed(.found(try dialer.peer()))
        } catch {
            driver.feed(.notFound(error))
        }
    }

    func open(_ peer: PeerID) {
        attempt += 1
        dial(peer, attempt)
    }

    private func dial(_ peer: PeerID, _ current: Int) {
        guard attempt == current else { return }
        do throws(LinkError) {
            switch try dialer.dial(peer) {
            case .connected(let descriptor):
                take(descriptor, isConnecting: false)
                driver.feed(.opened)
            case .connecting(let descriptor):
                take(descriptor, isConnecting: true)
            case .busy:
                driver.queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [weak self] in self?.dial(peer, current)
                }
            }
        } catch {
            driver.feed(.openFailed(error))
        }
    }

    private func take(_ descriptor: Int32, isConnecting: Bool) {
        let current = attempt
        socket = PacketSocket(descriptor: descriptor, isConnecting: isConnecting, queue: driver.queue) {
            [weak self] event in
            guard let self, self.attempt == current else { return }
            self.handle(event)
        }
    }

    private func handle(_ event: PacketSocket.Event) {
        switch event {
        case .connected: driver.feed(.opened)
        case .connectFailed(let error): driver.feed(.openFailed(dialer.explain(error)))
        case .received(let bytes): driver.received(bytes)
        case .ended(let error):
            socket = nil
            let sentence = "the peer of \(dialer.name) closed the connection"
            driver.feed(
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
