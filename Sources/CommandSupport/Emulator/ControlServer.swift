import Utilities
import Dispatch
import Foundation
import Emulator

/// Listens for `waterh-emulator control` on a socket that only its owner may use.
///
/// All state belongs to the queue; that is what makes it safe to send.
package final class ControlServer: @unchecked Sendable {
    /// Why nobody can listen there.
    package struct Failure: Error, Sendable, CustomStringConvertible {
        /// Somebody else listens there already.
        package let isInUse: Bool
        /// What the system said of the path.
        package let description: String
    }

    /// Then the one that was silent longest makes room: a test that never hangs up must not keep the next one out.
    private static let mostConnections = 64
    private static let longestLine = 4096
    private static let mostWaiting = 64

    /// Where the socket lies.
    package let path: String
    private let queue = DispatchQueue(label: "control")
    private let listener: Int32
    private let mark: ControlSocket.Mark?
    private let handler: @Sendable (ControlAction) async -> ControlReply
    private var source: DescriptorSource?
    private var connections: [Int32: Connection] = [:]
    /// Counts what happens: a number for each conversation, and for when it was heard last.
    private var moments = 0

    private struct Connection {
        let number: Int
        let source: DescriptorSource
        /// When something came last.
        var heard: Int
        var bytes = Data()
        /// Requests that wait for the one before: a person's order is kept.
        var waiting: [Data] = []
        var isBusy = false
        /// It says no more, and may still listen.
        var hasEnded = false
    }

    /// Listens at once. A socket that a dead process left behind is replaced.
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

    /// Ends all conversations and removes the socket.
    package func stop() {
        queue.sync {
            source?.cancel()
            source = nil
            for descriptor in connections.keys { hangUp(descriptor) }
            // Somebody else may have taken the place since.
            if mark == ControlSocket.Mark(path) { unlink(path) }
        }
    }

    private func accept() {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else {
            // They wait in the system's queue.
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

    /// No more files may be open: tries again in a second.
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

    /// Who closed their writing half gets the answers that are due.
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

    /// The descriptor may be another conversation's by now: `number` tells.
    private func send(_ text: String, on descriptor: Int32, of number: Int) {
        guard let connection = connections[descriptor], connection.number == number else { return }
        connections[descriptor]?.isBusy = false
        let bytes = Array((text + "\n").utf8)
        // An answer fits the socket's buffer; who does not read is hung up on.
        guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            return hangUp(descriptor)
        }
        answerNext(on: descriptor)
    }

    private func hangUp(_ descriptor: Int32) {
        connections.removeValue(forKey: descriptor)?.source.cancel()
    }
}
