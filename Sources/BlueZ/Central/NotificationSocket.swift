import Utilities
import Dispatch
import Glibc

/// A socket of AcquireNotify: one message is one value. D-Bus signals, not the socket, report the end.
final class NotificationSocket: @unchecked Sendable {
    private var source: DescriptorSource?
    private let descriptor: Int32
    private let receive: @Sendable ([UInt8]) -> Void
    /// The time at which the socket was last empty, in nanoseconds.
    private var emptied: UInt64 = 0

    /// During a burst, values are gathered for this time (in nanoseconds) and read in one wake-up, which leaves the
    /// processor to bluetoothd. Its socket has room for some hundred values. Slower values are read at once.
    private static let gathering: UInt64 = 2_000_000

    /// - Parameter descriptor: owned by this object.
    init(_ descriptor: Int32, queue: DispatchQueue, receive: @escaping @Sendable ([UInt8]) -> Void) {
        self.descriptor = descriptor
        self.receive = receive
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        let source = DescriptorSource(owning: descriptor, queue: queue) { [weak self] _ in self?.drain() }
        self.source = source
        source.interest = .reading
    }

    static func discard(_ descriptor: Int32) { Glibc.close(descriptor) }

    func close() { source?.cancel() }

    private func drain() {
        if DispatchTime.now().uptimeNanoseconds &- emptied < Self.gathering { usleep(UInt32(Self.gathering / 1000)) }
        defer { emptied = DispatchTime.now().uptimeNanoseconds }
        // The maximum length of a value is 512 bytes (Core 5.4, Vol 3 Part F, 3.2.9).
        var buffer = [UInt8](repeating: 0, count: 1024)
        while source?.isCancelled == false {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                receive(Array(buffer.prefix(count)))
            } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
                return close()
            } else if errno == EAGAIN {
                return
            }
        }
    }
}
