import Utilities
import Dispatch
import Foundation
import Emulator

/// Serves `waterh-emulator control` on a private Unix socket. The queue protects all state.
package final class ControlServer: @unchecked Sendable {
    package struct Failure: Error, Sendable, CustomStringConvertible {
        /// Whether another process listens on the socket.
        package let isInUse: Bool
        package let description: String
    }

    /// The maximum number of connections; the one that was idle longest is closed first.
    private static let mostConnections = 64
    private static let longestLine = 4096
    private static let mostWaiting = 64

    package let path: String
    private let queue = DispatchQueue(label: "control")
    private let listener: Int32
    private let mark: ControlSocket.Mark?
    private let handler: @Sendable (ControlAction) async -> ControlReply
    private var source: DescriptorSource?
    private var connections: [Int32: Connection] = [:]
    private var moments = 0

    private struct Connection {
        let number: Int
        let source: DescriptorSource
        var heard: Int
        var bytes = Data()
        /// The requests that wait for the response to the previous one.
        var waiting: [Data] = []
        var isBusy = false
        /// Whether the client has shut down its sending side.
        var hasEnded = false
    }

    /// Starts to listen. Replaces the socket file of a process that has ended.
    package init(path: String, handler: @escaping @Sendable (ControlAction) async -> ControlReply) throws(Failure) {
        self.path = path
        self.handler = handler
        do {
            listener = try ControlSocket.listen(path)
        } catch {
            throw Failure(isInUse: error.isInUse, description: error.description)
        }
        mark = ControlSocket.Mark(path)
        let source = DescriptorSource(owning: listener, queue: queue) { [weak self] _ in self?.accept() }
        self.source = source
        source.interest = .reading
    }

    package func stop() {
        queue.sync {
            source?.cancel()
            source = nil
            for descriptor in connections.keys { hangUp(descriptor) }
            // Another process might have replaced the socket.
            if mark == ControlSocket.Mark(path) { unlink(path) }
        }
    }

    private func accept() {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else {
            // Connections wait in the listen queue.
            if errno == EMFILE || errno == ENFILE { pause() }
            return
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        if connections.count >= Self.mostConnections {
            let idle = connections.filter { !$0.value.isBusy && $0.value.waiting.isEmpty }.min {
                $0.value.heard < $1.value.heard
            }
            guard let idle else {
                close(descriptor)
                return
            }
            hangUp(idle.key)
        }
        moments += 1
        let source = DescriptorSource(owning: descriptor, queue: queue) { [weak self] _ in self?.read(descriptor) }
        connections[descriptor] = Connection(number: moments, source: source, heard: moments)
        source.interest = .reading
    }

    /// Pauses accepting for a second, because the process has too many open files.
    private func pause() {
        source?.interest = []
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.source?.interest = .reading }
    }

    private func read(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0 else {
            if count == 0 { end(descriptor) } else if errno != EAGAIN, errno != EINTR { hangUp(descriptor) }
            return
        }
        moments += 1
        connections[descriptor]?.heard = moments
        connections[descriptor]?.bytes.append(contentsOf: buffer.prefix(count))
        while let bytes = connections[descriptor]?.bytes, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            connections[descriptor]?.bytes = Data(bytes[(end + 1)...])
            connections[descriptor]?.waiting.append(Data(bytes[..<end]))
        }
        guard let connection = connections[descriptor], connection.bytes.count <= Self.longestLine,
            connection.waiting.count <= Self.mostWaiting
        else {
            return hangUp(descriptor)
        }
        answerNext(on: descriptor)
    }

    /// Handles a client that has closed its sending side. The client still receives pending responses.
    private func end(_ descriptor: Int32) {
        guard let connection = connections[descriptor], connection.isBusy || !connection.waiting.isEmpty else {
            return hangUp(descriptor)
        }
        connections[descriptor]?.hasEnded = true
        connection.source.interest = []
    }

    private func answerNext(on descriptor: Int32) {
        if let connection = connections[descriptor], connection.hasEnded, !connection.isBusy, connection.waiting.isEmpty
        {
            return hangUp(descriptor)
        }
        guard let connection = connections[descriptor], !connection.isBusy, let line = connection.waiting.first else {
            return
        }
        connections[descriptor]?.waiting.removeFirst()
        connections[descriptor]?.isBusy = true
        let number = connection.number
        Task {
            let reply: ControlReply
            do {
                reply = await handler(try ControlMessages.action(line: line))
            } catch {
                reply = .refused(String(describing: error))
            }
            queue.async { self.send(ControlMessages.answer(reply).text, on: descriptor, of: number) }
        }
    }

    /// Sends a line. `number` shows whether the descriptor still belongs to the same connection.
    private func send(_ text: String, on descriptor: Int32, of number: Int) {
        guard let connection = connections[descriptor], connection.number == number else { return }
        connections[descriptor]?.isBusy = false
        let bytes = Array((text + "\n").utf8)
        // A response fits the socket's buffer; a client that does not read is disconnected.
        guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            return hangUp(descriptor)
        }
        answerNext(on: descriptor)
    }

    private func hangUp(_ descriptor: Int32) {
        connections.removeValue(forKey: descriptor)?.source.cancel()
    }
}
