import Utilities
import Dispatch
import Glibc

/// A socket from AcquireNotify: one message is one value. Its end says that the connection, or bluetoothd, has ended;
/// that is told by signals too, so here it only stops.
final class NotificationSocket: @unchecked Sendable {
    /// Set once, in the beginning.
    private var source: DescriptorSource?
    private let descriptor: Int32
    private let receive: @Sendable ([UInt8]) -> Void
    /// When the socket was last found empty; of the queue's own.
    private var emptied: UInt64 = 0

    /// In a flood one wake-up takes what came within this time, instead of one value: bluetoothd has the processor
    /// meanwhile, and its socket holds some hundred values. A bottle's values come further apart and are never waited
    /// for.
    private static let gathering: UInt64 = 2_000_000

    /// - Parameter descriptor: owned from here on.
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
        // A value has 512 bytes at most (Core 5.4, Vol 3 Part F, 3.2.9).
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
