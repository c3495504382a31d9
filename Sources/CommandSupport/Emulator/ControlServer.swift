package import Bluetooth
import Dispatch
package import Emulator
import Foundation
import Utilities

/// Serves `waterh-emulator control` on a private Unix socket. The queue protects all state.
package final class ControlServer: @unchecked Sendable {
    /// The maximum length of a request in bytes, and the maximum number of pending requests of a connection.
    private static let longestLine = 4096
    private static let maximumPending = 64

    private let listening: ListeningSocket
    private let queue = DispatchQueue(label: "control")
    private let handler: @Sendable (ControlAction) async -> ControlReply
    private var listener: DescriptorSource?
    private var connections: [Int32: (source: DescriptorSource, task: Task<Void, Never>)] = [:]

    /// Starts to listen. Replaces the socket file of a process that has ended.
    package init(path: String, handler: @escaping @Sendable (ControlAction) async -> ControlReply) throws(LinkError) {
        let socket = try UnixSocket(path: path, kind: .stream)
        self.handler = handler
        let mask = umask(0o177)
        defer { umask(mask) }
        listening = try socket.listen()
        let descriptor = listening.descriptor
        let listener = DescriptorSource(owning: descriptor, queue: queue) { [weak self] _ in self?.accept(descriptor) }
        self.listener = listener
        listener.interest = .reading
    }

    package func stop() {
        queue.sync {
            listener?.cancel()
            listener = nil
            for connection in connections.values { connection.task.cancel() }
            listening.withdraw()
        }
    }

    private func accept(_ listening: Int32) {
        let descriptor = Glibc.accept(listening, nil, nil)
        guard descriptor >= 0 else {
            guard errno == EMFILE || errno == ENFILE else { return }
            listener?.interest = []
            return queue.asyncAfter(deadline: .now() + .seconds(1)) { self.listener?.interest = .reading }
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        let (lines, continuation) = AsyncStream.makeStream(
            of: Data.self, bufferingPolicy: .bufferingOldest(Self.maximumPending))
        var bytes = Data()
        let source = DescriptorSource(owning: descriptor, queue: queue) { [weak self] _ in
            guard let self, !self.read(descriptor, &bytes, to: continuation) else { return }
            self.connections[descriptor]?.source.interest = []
            continuation.finish()
        }
        let task = Task {
            for await line in lines where await !respond(to: line, on: descriptor) { break }
            queue.async { self.connections.removeValue(forKey: descriptor)?.source.cancel() }
        }
        connections[descriptor] = (source, task)
        source.interest = .reading
    }

    /// Reads bytes that have arrived, and passes complete lines on.
    /// - Returns: `false` after the last line. A client that closed its sending side still receives pending responses.
    private func read(_ descriptor: Int32, _ bytes: inout Data, to lines: AsyncStream<Data>.Continuation) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        bytes.append(contentsOf: buffer.prefix(count))
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            guard case .enqueued = lines.yield(Data(bytes[..<end])) else { return false }
            bytes = Data(bytes[(end + 1)...])
        }
        guard bytes.count > Self.longestLine else { return true }
        lines.yield(bytes)
        // Read the rest of the long line, because closing a socket with unread bytes resets the connection.
        var reads = 64
        while reads > 0, Glibc.read(descriptor, &buffer, buffer.count) > 0 { reads -= 1 }
        return false
    }

    /// Performs a request. Returns `false` if its response could not be sent; the client is then disconnected.
    private func respond(to line: Data, on descriptor: Int32) async -> Bool {
        let reply: ControlReply
        do {
            if line.count > Self.longestLine {
                reply = .refused("request too long: expected at most \(Self.longestLine) bytes")
            } else {
                reply = await handler(try ControlMessages.action(line: line))
            }
        } catch {
            reply = .refused(String(describing: error))
        }
        let bytes = Array((ControlMessages.answer(reply).text + "\n").utf8)
        return send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
