package import Dispatch
import Glibc
import Utilities

/// A connected or connecting socket that carries packets, on a queue. It never blocks.
///
/// On a SEQPACKET socket one message is one packet. On a stream socket each packet is an ATT PDU in an L2CAP basic
/// frame (`BasicFrames`), or any number of bytes. `queue` protects all state.
package final class PacketSocket: @unchecked Sendable {
    package enum Event {
        case connected
        case connectFailed(errno: Int32)
        case received([UInt8])
        /// The peer has disconnected, and the socket is closed. `nil` means without an error.
        case ended(errno: Int32?)
        /// The socket buffer is full. Further packets are queued in this object.
        case congested
        case drained
    }

    /// The maximum number of queued packets. A peer that reads its socket never reaches this number.
    private static let maximumQueuedPackets = 1024
    /// The sizes of the read buffer in bytes. That of a PDU is larger than any PDU, so that a longer one is detected.
    private static let (pduBuffer, byteBuffer) = (1024, 1 << 14)
    /// The maximum number of packets read in one turn, so that a busy peer does not block others.
    private static let packetsPerTurn = 64

    private let descriptor: Int32
    private let isStream: Bool
    /// The received frames of ATT PDUs; `nil` on a SEQPACKET socket and for bytes.
    private var frames: BasicFrames?
    private let bufferSize: Int
    private let onEvent: (Event) -> Void
    private var source: DescriptorSource?
    private var queuedPackets: [[UInt8]] = []
    private(set) var isConnecting: Bool
    private var isClosed = false
    private var isSendingClosed = false
    /// Whether the peer has disconnected. Its earlier data are still readable.
    private var isPeerReset = false

    /// Takes ownership of the descriptor, which must be non-blocking.
    /// - Parameter carriesPDUs: whether a stream has frames of ATT PDUs, not bytes of another protocol.
    package init(
        descriptor: Int32, isConnecting: Bool, carriesPDUs: Bool = true, queue: DispatchQueue,
        onEvent: @escaping (Event) -> Void
    ) {
        self.descriptor = descriptor
        self.isConnecting = isConnecting
        isStream = Self.isStream(descriptor)
        frames = isStream && carriesPDUs ? BasicFrames() : nil
        bufferSize = carriesPDUs ? Self.pduBuffer : Self.byteBuffer
        self.onEvent = onEvent
        source = DescriptorSource(owning: descriptor, queue: queue) { [weak self] ready in
            if ready.contains(.writing) { self?.write() }
            if ready.contains(.reading) { self?.read() }
        }
        update()
    }

    deinit { close() }

    package func send(_ bytes: [UInt8]) {
        guard !isClosed, !isSendingClosed else { return }
        var bytes = frames == nil ? bytes : BasicFrames.frame(bytes)
        guard queuedPackets.isEmpty, !isConnecting else { return enqueue(bytes) }
        switch transmit(&bytes) {
        case nil: break
        case EAGAIN, ENOBUFS:
            enqueue(bytes)
            onEvent(.congested)
        default: stopSending()
        }
    }

    var isReading = true { didSet { update() } }

    package var isCongested: Bool { !queuedPackets.isEmpty }

    /// Reads the data that has arrived, including the end of the connection, without waiting for the queue.
    func readNow() {
        if !isConnecting { read() }
    }

    /// Closes the socket. No event follows.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        queuedPackets = []
        source?.cancel()
    }

    // MARK: On the queue

    private func enqueue(_ bytes: [UInt8]) {
        guard queuedPackets.count < Self.maximumQueuedPackets else { return end(ENOBUFS) }
        queuedPackets.append(bytes)
        update()
    }

    private func write() {
        if isConnecting {
            isConnecting = false
            let error = pendingError()
            guard error == 0 else {
                close()
                return onEvent(.connectFailed(errno: error))
            }
            update()
            onEvent(.connected)
        }
        while !isClosed, !queuedPackets.isEmpty {
            switch transmit(&queuedPackets[0]) {
            case nil: queuedPackets.removeFirst()
            case EAGAIN, ENOBUFS: return
            default: return stopSending()
            }
            if queuedPackets.isEmpty {
                update()
                onEvent(.drained)
            }
        }
        update()
    }

    /// Bytes that a stream socket did not accept stay in `bytes`.
    private func transmit(_ bytes: inout [UInt8]) -> Int32? {
        while true {
            let sent = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if sent >= 0 {
                guard isStream, sent < bytes.count else { return nil }
                bytes.removeFirst(sent)
            } else if errno != EINTR {
                return errno
            }
        }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: bufferSize)
        for _ in 0..<Self.packetsPerTurn where isReading && !isClosed {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                guard forward(buffer[..<count]) else { return end(EPROTO) }
            } else if count == 0 {
                guard !isStream else { return end(nil) }
                // Either the message is empty, or the connection has ended.
                guard !isPeerClosed() else { return end(nil) }
                onEvent(.received([]))
            } else if errno == EINTR {
                continue
            } else if errno == ECONNRESET {
                // A Unix socket reports ECONNRESET if the peer closed without reading everything; its data are still
                // readable. An L2CAP socket reports it once and then has nothing to read.
                isPeerReset = true
            } else if errno == EAGAIN {
                return isPeerReset ? end(ECONNRESET) : ()
            } else {
                return end(errno)
            }
        }
    }

    /// Forwards complete packets. Returns `false` if the bytes cannot be ATT.
    private func forward(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard frames != nil else {
            onEvent(.received(Array(bytes)))
            return true
        }
        frames?.append(bytes)
        // A handler might have closed the socket in the loop.
        while !isClosed {
            switch frames?.next() {
            case .pdu(let pdu): onEvent(.received(pdu))
            case .tooLong: return false
            case .incomplete, nil: return true
            }
        }
        return true
    }

    private static func isStream(_ descriptor: Int32) -> Bool {
        var type: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == Int32(SOCK_STREAM.rawValue)
    }

    /// Stops sending, because the peer no longer receives. Reading continues, because earlier data might be unread.
    private func stopSending() {
        isSendingClosed = true
        let wasCongested = isCongested
        queuedPackets = []
        update()
        if wasCongested { onEvent(.drained) }
    }

    private func isPeerClosed() -> Bool {
        var query = pollfd(fd: descriptor, events: Int16(POLLIN) | 0x2000 /* POLLRDHUP */, revents: 0)
        guard poll(&query, 1, 0) > 0 else { return false }
        return query.revents & (0x2000 | Int16(POLLHUP) | Int16(POLLERR)) != 0
    }

    private func pendingError() -> Int32 {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno
    }

    private func end(_ error: Int32?) {
        guard !isClosed else { return }
        close()
        onEvent(.ended(errno: error))
    }

    private func update() {
        guard !isClosed else { return }
        var interest: DescriptorSource.Interest = isReading && !isConnecting ? .reading : []
        if isConnecting || !queuedPackets.isEmpty { interest.insert(.writing) }
        source?.interest = interest
    }
}
