import Utilities
import Dispatch
import Glibc

/// A TCP connection on a queue: connects, reads, writes and reports its end, without blocking. The queue protects all
/// state.
package final class TCPStream: @unchecked Sendable {
    package enum Event {
        case opened
        case received([UInt8])
        case ended(String)
    }

    private let place: NetworkEndpoint
    private let queue: DispatchQueue
    private let onEvent: (Event) -> Void
    private var descriptor: Int32 = -1
    private var source: DescriptorSource?
    private var outbox: [UInt8] = []
    private var isOpen = false
    private var isOver = false
    /// The maximum number of unsent bytes, above which the connection is closed.
    private static let mostWaiting = 1 << 20
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
            guard let self, !self.isOpen, !self.isOver else { return }
            self.stop()
            self.dial(self.others, "no answer in time")
        }
    }

    deinit { stop() }

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
        guard isOpen, !isOver else { return }
        outbox += bytes
        guard outbox.count <= Self.mostWaiting else { return end("\(place) no longer receives data") }
        write()
    }

    package func close() {
        isOver = true
        stop()
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
        let made = socket(
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
        take(made)
        others = rest
        dialling.set(clock.now().advanced(by: Self.patience))
    }

    private func take(_ made: Int32) {
        descriptor = made
        source = DescriptorSource(owning: made, queue: queue) { [weak self] ready in
            guard let self, !self.isOver else { return }
            guard self.isOpen else { return self.connected() }
            if ready.contains(.writing) { self.write() }
            if ready.contains(.reading), !self.isOver { self.read() }
        }
        source?.interest = .writing
    }

    private func connected() {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        guard error == 0 else {
            stop()
            return dial(others, String(cString: strerror(error)))
        }
        isOpen = true
        dialling.set(nil)
        setWriting(false)
        onEvent(.opened)
    }

    // MARK: On the queue

    private func setWriting(_ wanted: Bool) { source?.interest = wanted ? [.reading, .writing] : .reading }

    private func write() {
        while !outbox.isEmpty {
            let count = Glibc.send(descriptor, outbox, outbox.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if count > 0 {
                outbox.removeFirst(count)
            } else if errno == EAGAIN {
                return setWriting(true)
            } else if errno != EINTR {
                return end("\(place): \(String(cString: strerror(errno)))")
            }
        }
        setWriting(false)
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { return onEvent(.received(Array(buffer[..<count]))) }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        end(count == 0 ? "\(place) closed the connection" : "\(place): \(String(cString: strerror(errno)))")
    }

    private func end(_ sentence: String) {
        guard !isOver else { return }
        isOver = true
        stop()
        onEvent(.ended(sentence))
    }

    private func stop() {
        dialling.set(nil)
        guard descriptor >= 0 else { return }
        descriptor = -1
        source?.cancel()
        source = nil
        isOpen = false
    }
}
