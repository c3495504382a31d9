package import Bluetooth
import CLinux
import Dispatch
import Glibc
import Utilities

/// A packet of the kernel's HCI monitor channel, which carries the traffic of all adapters.
package struct MonitorPacket: Sendable, Hashable {
    /// The opcode of btsnoop's monitor format: 0 new adapter, 2 command, 3 event, 4 ACL sent, 5 ACL received…
    package var opcode: UInt16
    /// The adapter's index: 1 for `hci1`.
    package var adapter: UInt16
    package var time: Duration
    /// The HCI packet without the H4 type byte.
    package var bytes: [UInt8]
}

extension MonitorPacket {
    /// Decodes a message of the channel; ignores bytes after the packet.
    ///
    /// ```
    /// opcode 2 · adapter 2 · length 2 · `length` bytes      little-endian (BlueZ lib/hci.h, hci_mon_hdr)
    /// ```
    package init(decoding message: some RandomAccessCollection<UInt8>, at time: Duration) throws(LinkError) {
        func malformed(_ needed: Int) -> LinkError {
            let problem = "invalid packet from the kernel's monitor channel: \(message.count) bytes, expected \(needed)"
            return LinkError(.protocolViolation, "The recording ends: \(problem)")
        }
        let header = Array(message.prefix(6))
        guard header.count == 6 else { throw malformed(6) }
        let length = Int(header.uint16(at: 4))
        guard message.count >= 6 + length else { throw malformed(6 + length) }
        self.init(
            opcode: header.uint16(at: 0), adapter: header.uint16(at: 2), time: time,
            bytes: Array(message.dropFirst(6).prefix(length)))
    }
}

/// Reads the kernel's HCI monitor channel live, alongside other users of the adapters. Requires CAP_NET_RAW.
package final class HCIMonitor: Sendable {
    /// The packets in order. If the reader is more than `limit` packets late, the stream ends with an error.
    package let packets: AsyncThrowingStream<MonitorPacket, any Error>
    private let source: DescriptorSource
    private let continuation: AsyncThrowingStream<MonitorPacket, any Error>.Continuation
    private let queue = DispatchQueue(label: "hci monitor")

    /// - Parameter limit: the maximum number of unread packets.
    package init(limit: Int = 65_536) throws(LinkError) {
        let descriptor = try HCISocket.open(
            channel: HCI_CHANNEL_MONITOR, .permissionDenied, "Cannot open the HCI monitor channel")
        // Room for a burst; the kernel drops packets that do not fit.
        var size: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: MonitorPacket.self, bufferingPolicy: .bufferingOldest(limit))
        packets = stream
        source = DescriptorSource(owning: descriptor, queue: queue) { _ in
            while let message = Self.next(descriptor) {
                do throws(LinkError) {
                    let packet = try MonitorPacket(decoding: message, at: Self.realTime())
                    guard case .dropped = continuation.yield(packet) else { continue }
                    throw LinkError(.system, "The recording is too slow: more than \(limit) packets are pending")
                } catch {
                    // Finishing the stream also cancels the socket's source.
                    return continuation.finish(throwing: error)
                }
            }
        }
        self.continuation = continuation
        continuation.onTermination = { [weak source] _ in source?.cancel() }
        source.interest = .reading
    }

    deinit { continuation.finish() }

    package func close() { continuation.finish() }

    private static func next(_ descriptor: Int32) -> ArraySlice<UInt8>? {
        var buffer = [UInt8](repeating: 0, count: 6 + 0xFFFF)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count >= 0 { return buffer[..<count] }
            if errno != EINTR { return nil }
        }
    }

    private static func realTime() -> Duration {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }
}
