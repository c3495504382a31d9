import CBluetooth
import Dispatch
import Glibc
import Utilities

/// The peripheral's end of a socket that carries notified values to bluetoothd: one message is one value. Values that
/// do not fit are queued up to a limit.
final class ValueSocket: @unchecked Sendable {
    enum Event: Sendable {
        case sent
        case ended
    }

    private let descriptor: Int32
    private var source: DescriptorSource?
    private let limit: Int
    private let report: @Sendable (Event) -> Void
    private var waiting: [[UInt8]] = []

    static func pair() -> (ours: Int32, theirs: Int32)? {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return socketpair(AF_UNIX, type, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
    }

    /// - Parameter descriptor: owned by this object.
    init(_ descriptor: Int32, queue: DispatchQueue, limit: Int, report: @escaping @Sendable (Event) -> Void) {
        self.descriptor = descriptor
        self.limit = limit
        self.report = report
        let source = DescriptorSource(owning: descriptor, queue: queue) { [weak self] ready in
            // bluetoothd writes nothing, so the socket becomes readable only when bluetoothd has closed it.
            if ready.contains(.reading) { self?.end() } else { self?.drain() }
        }
        self.source = source
        source.interest = .reading
    }

    deinit { close() }

    private var isClosed: Bool { source?.isCancelled != false }

    /// Returns `false` if too many values are queued.
    func send(_ value: [UInt8]) -> Bool {
        guard waiting.count < limit, !isClosed else { return false }
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
            report(.sent)
        }
        setWriting(false)
    }

    private func setWriting(_ on: Bool) {
        source?.interest = on ? [.reading, .writing] : .reading
    }

    private func end() {
        guard !isClosed else { return }
        close()
        report(.ended)
    }

    func close() {
        source?.cancel()
        waiting = []
    }
}
