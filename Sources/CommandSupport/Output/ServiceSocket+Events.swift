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
                var reader = EventReader()
                try exchange(on: opened, "GET \(target)", "Accept: text/event-stream\r\n\r\n") { body in
                    guard let events = try? reader.read(body) else { throw noResponse }
                    for event in events {
                        guard case .enqueued = continuation.yield(event) else { throw noResponse }
                    }
                }
                throw noResponse
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
