import Dispatch
import Glibc

/// A TCP connection on a queue: connects, reads, writes and reports its end, without blocking. No event follows
/// `close`. The queue protects all state.
package final class TCPStream: @unchecked Sendable {
    package enum Event {
        case opened
        case received([UInt8])
        case ended(String)
    }

    private let place: NetworkEndpoint
    private let queue: DispatchQueue
    private let onEvent: (Event) -> Void
    private var socket: PacketSocket?
    private var isOver = false
    private static let patience = Duration.seconds(5)
    private let clock: MonotonicClock
    /// The time limit for connecting to one address.
    private let dialling: DeadlineTimer
    private var others: ArraySlice<(family: Int32, bytes: [UInt8])> = []

    package init(
        _ place: NetworkEndpoint, queue: DispatchQueue, clock: MonotonicClock, onEvent: @escaping (Event) -> Void
    ) {
        (self.place, self.queue, self.clock, self.onEvent) = (place, queue, clock, onEvent)
        dialling = DeadlineTimer(queue: queue, clock: clock)
        dialling.onFire = { [weak self] in
            guard let self, self.socket?.isConnecting == true else { return }
            self.dial(self.others, "no answer in time")
        }
    }

    /// Resolves the name on another thread, then tries its addresses in turn.
    package func open() {
        let place = place
        DispatchQueue.global().async { [weak self] in
            let found = Self.addresses(place)
            guard let self else { return }
            self.queue.async {
                switch found {
                case .success(let addresses): self.dial(addresses[...], "the name has no address")
                case .failure(let reason): self.end(reason.sentence)
                }
            }
        }
    }

    package func send(_ bytes: [UInt8]) {
        socket?.send(bytes)
    }

    package func close() {
        isOver = true
        dialling.set(nil)
        socket?.close()
        socket = nil
    }

    // MARK: Connecting

    private struct Unknown: Error { let sentence: String }

    private static func addresses(_ place: NetworkEndpoint) -> Result<[(family: Int32, bytes: [UInt8])], Unknown> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(place.host, String(place.port), &hints, &first)
        guard code == 0 else {
            return .failure(Unknown(sentence: "cannot resolve \(place.host): \(String(cString: gai_strerror(code)))"))
        }
        defer { freeaddrinfo(first) }
        var found: [(Int32, [UInt8])] = []
        var next = first
        while let here = next {
            found.append(
                (
                    here.pointee.ai_family,
                    [UInt8](UnsafeRawBufferPointer(start: here.pointee.ai_addr, count: Int(here.pointee.ai_addrlen)))
                ))
            next = here.pointee.ai_next
        }
        return .success(found)
    }

    private func dial(_ addresses: ArraySlice<(family: Int32, bytes: [UInt8])>, _ reason: String) {
        guard !isOver else { return }
        guard let address = addresses.first else { return end("cannot connect to \(place): \(reason)") }
        let rest = addresses.dropFirst()
        let made = Glibc.socket(
            address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
            0)
        guard made >= 0 else { return dial(rest, String(cString: strerror(errno))) }
        let result = address.bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map { connect(made, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) }
                ?? -1
        }
        guard result == 0 || errno == EINPROGRESS else {
            let number = errno
            Glibc.close(made)
            return dial(rest, String(cString: strerror(number)))
        }
        // Disable Nagle's algorithm: requests are short, and each waits for its response.
        var one: Int32 = 1
        setsockopt(made, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        others = rest
        dialling.set(clock.now().advanced(by: Self.patience))
        socket = PacketSocket(descriptor: made, isConnecting: true, carriesPDUs: false, queue: queue) {
            [weak self] event in
            self?.handle(event)
        }
    }

    private func handle(_ event: PacketSocket.Event) {
        switch event {
        case .connected:
            dialling.set(nil)
            onEvent(.opened)
        case .connectFailed(let error): dial(others, String(cString: strerror(error)))
        case .received(let bytes): onEvent(.received(bytes))
        case .ended(nil): end("\(place) closed the connection")
        case .ended(ENOBUFS?): end("\(place) no longer receives data")
        case .ended(let error?): end("\(place): \(String(cString: strerror(error)))")
        case .congested, .drained: break
        }
    }

    private func end(_ sentence: String) {
        guard !isOver else { return }
        close()
        onEvent(.ended(sentence))
    }
}
