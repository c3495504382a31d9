import Foundation
import Synchronization

extension ServiceSocket {
    /// The maximum number of pending events. One more ends the stream.
    private static let eventLimit = 256

    /// The events of the service. The stream ends with an error if the service ends, or sends nothing within the time
    /// limit. Cancelling the stream disconnects.
    package func events(_ target: String) -> AsyncThrowingStream<EventReader.Event, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: EventReader.Event.self, bufferingPolicy: .bufferingOldest(Self.eventLimit))
        // The reading thread closes the descriptor; cancelling only wakes the thread.
        let descriptor = Box()
        continuation.onTermination = { _ in
            descriptor.value.withLock { if let open = $0 { shutdown(open, Int32(SHUT_RDWR)) } }
        }
        Thread.detachNewThread {
            do {
                let opened = try open()
                descriptor.value.withLock { $0 = opened }
                defer {
                    descriptor.value.withLock { $0 = nil }
                    close(opened)
                }
                let request = Array(
                    "GET \(target) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".utf8)
                guard send(opened, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
                    throw noResponse
                }
                var reader = EventReader()
                var buffer = [UInt8](repeating: 0, count: 1 << 14)
                while true {
                    let count = recv(opened, &buffer, buffer.count, 0)
                    guard count > 0 else { throw noResponse }
                    for event in try reader.read(buffer[..<count]) {
                        guard case .enqueued = continuation.yield(event) else {
                            return continuation.finish(throwing: noResponse)
                        }
                    }
                }
            } catch {
                continuation.finish(throwing: error)
            }
        }
        return stream
    }

    private final class Box: Sendable {
        let value = Mutex<Int32?>(nil)
    }
}
