import Dispatch
import Glibc

/// Our end of a socket that carries notified values to bluetoothd: one message is one value. What does not fit waits, up to a
/// limit; the end of the other side is told.
final class ValueSocket: @unchecked Sendable {
    enum Event: Sendable {
        /// One value has left.
        case sent
        case ended
    }

    private let descriptor: Int32
    private let reader: any DispatchSourceRead
    private let writer: any DispatchSourceWrite
    private let limit: Int
    private let tell: @Sendable (Event) -> Void
    private var waiting: [[UInt8]] = []
    private var isWriting = false

    /// Two connected ends: ours, and one to hand over.
    static func pair() -> (ours: Int32, theirs: Int32)? {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return socketpair(AF_UNIX, type, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
    }

    /// - Parameter descriptor: owned from here on.
    init(_ descriptor: Int32, queue: DispatchQueue, limit: Int, tell: @escaping @Sendable (Event) -> Void) {
        self.descriptor = descriptor
        self.limit = limit
        self.tell = tell
        // A descriptor each: a source keeps its own until it has been cancelled.
        let second = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        reader = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        writer = DispatchSource.makeWriteSource(fileDescriptor: second >= 0 ? second : descriptor, queue: queue)
        reader.setCancelHandler { Glibc.close(descriptor) }
        if second >= 0 { writer.setCancelHandler { Glibc.close(second) } }
        // bluetoothd writes nothing: readable means that it has closed.
        reader.setEventHandler { [weak self] in self?.end() }
        writer.setEventHandler { [weak self] in self?.drain() }
        reader.resume()
    }

    deinit { close() }

    /// `false` when too many wait already.
    func send(_ value: [UInt8]) -> Bool {
        guard waiting.count < limit, !reader.isCancelled else { return false }
        waiting.append(value)
        drain()
        return true
    }

    private func drain() {
        while let value = waiting.first {
            let sent = Glibc.send(descriptor, value, value.count, Int32(MSG_NOSIGNAL))
            if sent < 0, errno == EINTR { continue }
            if sent < 0, errno == EAGAIN { return setWriting(true) }
            waiting.removeFirst()
            if sent < 0 { return end() }
            tell(.sent)
        }
        setWriting(false)
    }

    private func setWriting(_ on: Bool) {
        guard on != isWriting, !reader.isCancelled else { return }
        isWriting = on
        if on { writer.resume() } else { writer.suspend() }
    }

    private func end() {
        guard !reader.isCancelled else { return }
        close()
        tell(.ended)
    }

    func close() {
        guard !reader.isCancelled else { return }
        reader.cancel()
        // A suspended source must be resumed before it goes.
        if !isWriting { writer.resume() }
        isWriting = true
        writer.cancel()
        waiting = []
    }
}
