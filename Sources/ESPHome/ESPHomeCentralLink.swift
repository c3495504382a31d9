package import Bluetooth
import Dispatch
import Foundation

/// A central through an ESPHome Bluetooth proxy: `esphome:HOST`. It runs `ProxyHost` with a stream and a timer. `queue`
/// protects all state.
package final class ESPHomeCentralLink: CentralLink, @unchecked Sendable {
    package let name: String
    package let hasRadio = true
    package let events: AsyncStream<CentralEvent>
    private let queue: DispatchQueue
    private let eventQueue = EventQueue<CentralEvent>()
    private var host: ProxyHost
    private var stream: TCPStream?
    private let timer: DeadlineTimer
    private let instruments: LinkInstruments
    private var closeWaiters: [CheckedContinuation<Void, Never>] = []
    private var isClosed = false
    /// The maximum number of pending events. A proxy has no back pressure: a peer that causes more is disconnected.
    private static let maximumEvents = 8192

    /// The link connects to the proxy at the first scan or connection.
    /// - Parameter key: the encryption key in the device's configuration (32 bytes in Base64). `nil` if unencrypted.
    /// - Throws: `LinkError` if the key is invalid.
    package init(_ endpoint: NetworkEndpoint, key: String?, instruments: LinkInstruments = LinkInstruments())
        throws(LinkError)
    {
        let bytes = key.map { Data(base64Encoded: $0).map(Array.init) ?? [] }
        guard bytes == nil || bytes?.count == NoiseSession.keySize else {
            throw LinkError(.permissionDenied, "invalid encryption key for \(endpoint): expected 32 bytes in Base64")
        }
        name = "esphome:\(endpoint)"
        queue = DispatchQueue(label: "central esphome:\(endpoint)")
        self.instruments = instruments
        host = ProxyHost(endpoint, key: bytes)
        timer = DeadlineTimer(queue: queue, clock: instruments.clock)
        events = eventQueue.stream()
        timer.onFire = { [weak self] in self?.feed(.tick) }
    }

    deinit { eventQueue.finish() }

    package func perform(_ request: CentralRequest) {
        queue.async { self.feed(.request(request)) }
    }

    package func close() async {
        await withCheckedContinuation { done in
            queue.async {
                guard !self.isClosed else { return done.resume() }
                self.closeWaiters.append(done)
                self.feed(.shutDown)
            }
        }
    }

    private func feed(_ input: ProxyHost.Input) {
        guard !isClosed else { return }
        for effect in host.handle(input, at: instruments.clock.now()) { perform(effect) }
        timer.set(host.nextDeadline)
    }

    private func perform(_ effect: ProxyHost.Effect) {
        switch effect {
        case .dial:
            let newStream = TCPStream(host.endpoint, queue: queue, clock: instruments.clock) { [weak self] event in
                switch event {
                case .opened: self?.feed(.opened)
                case .received(let bytes): self?.feed(.received(bytes))
                case .ended(let reason): self?.feed(.ended(reason))
                }
            }
            stream = newStream
            newStream.open()
        case .send(let bytes): stream?.send(bytes)
        case .close:
            stream?.close()
            stream = nil
        case .event(let event):
            eventQueue.yield(event)
            if eventQueue.count > Self.maximumEvents {
                queue.async { self.feed(.ended("too many pending events from \(self.host.endpoint)")) }
            }
        case .finished:
            let waiters = closeWaiters
            closeWaiters = []
            isClosed = true
            timer.cancel()
            eventQueue.finish()
            waiters.forEach { $0.resume() }
        }
    }
}
