import Utilities
import Dispatch
import Glibc

/// One connected (or connecting) socket on a queue, which carries ATT PDUs. Never blocks, never polls.
///
/// On a SEQPACKET socket one message is one PDU. On a stream socket each PDU stands in an L2CAP basic frame
/// (`BasicFrames`).
///
/// All state belongs to the queue; that is what makes it safe to send.
final class PacketSocket: @unchecked Sendable {
    enum Event {
        case connected
        case connectFailed(errno: Int32)
        case received([UInt8])
        /// The other end has gone; `nil` in order. The socket is closed.
        case ended(errno: Int32?)
        /// The system takes no more for now; what is sent waits here.
        case congested
        case drained
    }

    /// PDUs that wait here at most; more than this is never in flight unless the other end reads nothing.
    private static let outboxLimit = 1024
    /// Longer than any PDU, so that an over-long one is seen as such.
    private static let bufferSize = 1024
    /// PDUs taken in one turn, so that one busy peer leaves room for the others.
    private static let turn = 64

    private let descriptor: Int32
    /// What has come of frames; `nil` where the socket keeps messages apart by itself.
    private var frames: BasicFrames?
    private let onEvent: (Event) -> Void
    /// Set once, in the beginning.
    private var source: DescriptorSource?
    private var outbox: [[UInt8]] = []
    private var isConnecting: Bool
    private var isClosed = false
    /// The other end no longer takes what is sent.
    private var isDeaf = false
    /// The other end has gone; what it sent before is still to be read.
    private var wasReset = false
    private var wantsToRead = true

    /// Takes the descriptor over. It must be non-blocking.
    init(descriptor: Int32, isConnecting: Bool, queue: DispatchQueue, onEvent: @escaping (Event) -> Void) {
        self.descriptor = descriptor
        self.isConnecting = isConnecting
        frames = Self.isStream(descriptor) ? BasicFrames() : nil
        self.onEvent = onEvent
        source = DescriptorSource(owning: descriptor, queue: queue) { [weak self] ready in
            if ready.contains(.writing) { self?.write() }
            if ready.contains(.reading) { self?.read() }
        }
        update()
    }

    deinit { close() }

    /// Sends a PDU, or keeps it until the system takes it.
    func send(_ bytes: [UInt8]) {
        guard !isClosed, !isDeaf else { return }
        var bytes = frames == nil ? bytes : BasicFrames.frame(bytes)
        guard outbox.isEmpty, !isConnecting else { return keep(bytes) }
        switch transmit(&bytes) {
        case nil: break
        case EAGAIN, ENOBUFS:
            keep(bytes)
            onEvent(.congested)
        default: turnDeaf()
        }
    }

    var isReading: Bool {
        get { wantsToRead }
        set {
            wantsToRead = newValue
            update()
        }
    }

    var isCongested: Bool { !outbox.isEmpty }

    /// Takes in what has arrived already, an end included, without waiting for the queue's turn.
    func readNow() {
        if !isConnecting { read() }
    }

    /// Closes; silent.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        outbox = []
        source?.cancel()
    }

    // MARK: On the queue

    private func keep(_ bytes: [UInt8]) {
        guard outbox.count < Self.outboxLimit else { return end(ENOBUFS) }
        outbox.append(bytes)
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
        while !isClosed, !outbox.isEmpty {
            switch transmit(&outbox[0]) {
            case nil: outbox.removeFirst()
            case EAGAIN, ENOBUFS: return
            default: return turnDeaf()
            }
            if outbox.isEmpty {
                update()
                onEvent(.drained)
            }
        }
        update()
    }

    /// What a stream did not take of it stays in `bytes`.
    private func transmit(_ bytes: inout [UInt8]) -> Int32? {
        while true {
            let sent = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if sent >= 0 {
                guard frames != nil, sent < bytes.count else { return nil }
                bytes.removeFirst(sent)
            } else if errno != EINTR {
                return errno
            }
        }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
        for _ in 0..<Self.turn where wantsToRead && !isClosed {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                guard take(buffer[..<count]) else { return end(EPROTO) }
            } else if count == 0 {
                guard frames == nil else { return end(nil) }
                // An empty message, or the end: the system says which.
                guard !hasHungUp() else { return end(nil) }
                onEvent(.received([]))
            } else if errno == EINTR {
                continue
            } else if errno == ECONNRESET {
                // A Unix socket says so when the other end closed without reading everything, and has the rest for us.
                // An L2CAP socket says so once, and from then on that there is nothing to read for now.
                wasReset = true
            } else if errno == EAGAIN {
                return wasReset ? end(ECONNRESET) : ()
            } else {
                return end(errno)
            }
        }
    }

    /// Hands on what has come whole; `false` where it can be no ATT.
    private func take(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard frames != nil else {
            onEvent(.received(Array(bytes)))
            return true
        }
        frames?.append(bytes)
        // Nothing is asked of a socket that a handler has closed.
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

    /// The other end takes nothing any more; it may have said something before it left, so the end comes with the
    /// reading.
    private func turnDeaf() {
        isDeaf = true
        let wasCongested = isCongested
        outbox = []
        update()
        if wasCongested { onEvent(.drained) }
    }

    private func hasHungUp() -> Bool {
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

    /// Runs each source exactly while it is needed: an idle socket costs nothing.
    private func update() {
        guard !isClosed else { return }
        var interest: DescriptorSource.Interest = wantsToRead && !isConnecting ? .reading : []
        if isConnecting || !outbox.isEmpty { interest.insert(.writing) }
        source?.interest = interest
    }
}
