package import Dispatch
import Glibc

/// A TCP connection on a queue: connects, reads, writes and reports its end, without blocking. No event follows
/// `close`. The queue protects all state.
package final class TCPStream: @unchecked Sendable {
    package enum Event {
        case opened
        case received([UInt8])
        case ended(String)
    }

    private let endpoint: NetworkEndpoint
    private let queue: DispatchQueue
    private let onEvent: (Event) -> Void
    private var socket: PacketSocket?
    private var isClosed = false
    private static let connectLimit = Duration.seconds(5)
    private let clock: MonotonicClock
    /// The time limit for connecting to one address.
    private let connectTimer: DeadlineTimer
    private var remainingAddresses: ArraySlice<(family: Int32, bytes: [UInt8])> = []

    package init(
        _ endpoint: NetworkEndpoint, queue: DispatchQueue, clock: MonotonicClock, onEvent: @escaping (Event) -> Void
    ) {
        (self.endpoint, self.queue, self.clock, self.onEvent) = (endpoint, queue, clock, onEvent)
        connectTimer = DeadlineTimer(queue: queue, clock: clock)
        connectTimer.onFire = { [weak self] in
            guard let self, self.socket?.isConnecting == true else { return }
            self.dial(self.remainingAddresses, "no answer in time")
        }
    }

    /// Resolves the name on another thread, then tries its addresses in turn.
    package func open() {
        let endpoint = endpoint
        DispatchQueue.global().async { [weak self] in
            let found = Self.addresses(endpoint)
            guard let self else { return }
            self.queue.async {
                switch found {
                case .success(let addresses): self.dial(addresses[...], "the name has no address")
                case .failure(let error): self.end(error.message)
                }
            }
        }
    }

    package func send(_ bytes: [UInt8]) {
        socket?.send(bytes)
    }

    package func close() {
        isClosed = true
        connectTimer.set(nil)
        socket?.close()
        socket = nil
    }

    // MARK: Connecting

    private struct ResolutionError: Error { let message: String }

    private static func addresses(_ endpoint: NetworkEndpoint) -> Result<
        [(family: Int32, bytes: [UInt8])], ResolutionError
    > {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &first)
        guard code == 0 else {
            return .failure(
                ResolutionError(message: "cannot resolve \(endpoint.host): \(String(cString: gai_strerror(code)))"))
        }
        defer { freeaddrinfo(first) }
        var found: [(Int32, [UInt8])] = []
        var next = first
        while let entry = next {
            found.append(
                (
                    entry.pointee.ai_family,
                    [UInt8](UnsafeRawBufferPointer(start: entry.pointee.ai_addr, count: Int(entry.pointee.ai_addrlen)))
                ))
            next = entry.pointee.ai_next
        }
        return .success(found)
    }

    private func dial(_ addresses: ArraySlice<(family: Int32, bytes: [UInt8])>, _ reason: String) {
        guard !isClosed else { return }
        guard let address = addresses.first else { return end("cannot connect to \(endpoint): \(reason)") }
        let rest = addresses.dropFirst()
        let descriptor = Glibc.socket(
            address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
            0)
        guard descriptor >= 0 else { return dial(rest, String(cString: strerror(errno))) }
        let result = address.bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map {
                connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
                ?? -1
        }
        guard result == 0 || errno == EINPROGRESS else {
            let number = errno
            Glibc.close(descriptor)
            return dial(rest, String(cString: strerror(number)))
        }
        // Disable Nagle's algorithm: requests are short, and each waits for its response.
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        remainingAddresses = rest
        connectTimer.set(clock.now().advanced(by: Self.connectLimit))
        socket = PacketSocket(descriptor: descriptor, isConnecting: true, carriesPDUs: false, queue: queue) {
            [weak self] event in
            self?.handle(event)
        }
    }

    private func handle(_ event: PacketSocket.Event) {
        switch event {
        case .connected:
            connectTimer.set(nil)
            onEvent(.opened)
        case .connectFailed(let error): dial(remainingAddresses, String(cString: strerror(error)))
        case .received(let bytes): onEvent(.received(bytes))
        case .ended(nil): end("\(endpoint) closed the connection")
        case .ended(ENOBUFS?): end("\(endpoint) no longer receives data")
        case .ended(let error?): end("\(endpoint): \(String(cString: strerror(error)))")
        case .congested, .drained: break
        }
    }

    private func end(_ message: String) {
        guard !isClosed else { return }
        close()
        onEvent(.ended(message))
    }
}
