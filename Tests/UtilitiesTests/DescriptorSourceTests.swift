@testable import Utilities
import Dispatch
import Foundation
import Glibc
import Support
import Synchronization
import Testing

/// Readiness is reported on the queue. The end of a connection is reported exactly once.
@Suite(.timeLimit(.minutes(5))) struct DescriptorSourceTests {
    private static func pair(_ type: __socket_type = SOCK_SEQPACKET) throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(
            socketpair(
                AF_UNIX, Int32(type.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
                == 0)
        return (ends[0], ends[1])
    }

    /// With epoll, and with the fallback to poll when epoll has no room.
    static let pollers = [true, false]

    /// A source that streams its events and then clears its interest.
    private static func source(_ descriptor: Int32, _ poller: DescriptorPoller) -> (
        DescriptorSource, AsyncStream<DescriptorSource.Interest>
    ) {
        let (stream, continuation) = AsyncStream.makeStream(of: DescriptorSource.Interest.self)
        let box = Box()
        let source = DescriptorSource(owning: descriptor, queue: DispatchQueue(label: "test"), poller: poller) {
            ready in
            box.source?.interest = []
            continuation.yield(ready)
        }
        box.source = source
        return (source, stream)
    }

    private final class Box: @unchecked Sendable {
        weak var source: DescriptorSource?
    }

    @Test(arguments: pollers) func `a source reports only the conditions of its interest`(canUseEpoll: Bool)
        async throws
    {
        let (ours, theirs) = try Self.pair()
        defer { close(theirs) }
        let (source, stream) = Self.source(ours, DescriptorPoller(canUseEpoll: canUseEpoll))
        var events = stream.makeAsyncIterator()
        source.interest = .writing
        #expect(await events.next() == .writing)
        source.interest = .reading
        #expect(send(theirs, [1], 1, 0) == 1)
        #expect(await events.next() == .reading)
        // The event is reported again as soon as the interest is set.
        source.interest = [.reading, .writing]
        #expect(await events.next() == [.reading, .writing])
        source.cancel()
        #expect(source.isCancelled)
    }

    /// Without an interest the end is not reported; then it is reported as the requested event.
    @Test(arguments: pollers, [DescriptorSource.Interest.reading, .writing, [.reading, .writing]])
    func `a hang-up while no events are requested is reported with the next request`(
        canUseEpoll: Bool, interest: DescriptorSource.Interest
    ) async throws {
        let (ours, theirs) = try Self.pair()
        let (source, stream) = Self.source(ours, DescriptorPoller(canUseEpoll: canUseEpoll))
        var events = stream.makeAsyncIterator()
        source.interest = .writing
        #expect(await events.next() == .writing)
        close(theirs)
        source.interest = interest
        #expect(await events.next() == interest)
        source.cancel()
    }

    @Test(arguments: pollers) func `a released or cancelled source closes its descriptor once`(canUseEpoll: Bool)
        async throws
    {
        let poller = DescriptorPoller(canUseEpoll: canUseEpoll)
        for isReleased in [true, false] {
            let (ours, theirs) = try Self.pair()
            defer { close(theirs) }
            var source: DescriptorSource? = Self.source(ours, poller).0
            source?.interest = .reading
            if !isReleased {
                source?.cancel()
                source?.cancel()
            }
            source = nil
            let isClosed = await event { recv(theirs, nil, 0, Int32(MSG_DONTWAIT)) == 0 ? true : nil }
            #expect(isClosed == true)
        }
    }

    /// libdispatch's sources crash here or do not report the end.
    @Test func `the end of each of ten thousand connections is reported`() async throws {
        let queues = (0..<4).map { DispatchQueue(label: "queue \($0)") }
        let connections = 10_000
        let ended = Mutex(0)
        let (ends, end) = AsyncStream.makeStream(of: Result<Void, any Error>.self)
        // On a thread of its own, because it blocks.
        Thread.detachNewThread {
            end.yield(
                Result {
                    let capacity = DispatchSemaphore(value: 0)
                    for _ in 0..<16 { capacity.signal() }
                    var random = SystemRandomNumberGenerator()
                    for number in 0..<connections {
                        // An unreported end blocks all others.
                        guard capacity.wait(timeout: .now() + 30) == .success else { return }
                        let (ours, theirs) = try Self.pair()
                        let queue = queues[number % 4]
                        queue.async {
                            let box = Holder()
                            box.source = DescriptorSource(owning: ours, queue: queue) { ready in
                                var bytes = [UInt8](repeating: 0, count: 8)
                                var isOver = false
                                if ready.contains(.writing) {
                                    isOver = send(ours, bytes, 8, Int32(MSG_NOSIGNAL)) < 0 && errno != EAGAIN
                                }
                                if ready.contains(.reading) { isOver = recv(ours, &bytes, 8, 0) == 0 || isOver }
                                guard isOver, let source = box.source else { return }
                                box.source = nil
                                source.cancel()
                                ended.withLock { $0 += 1 }
                                capacity.signal()
                            }
                            box.source?.interest = [.reading, .writing]
                        }
                        // Varies the timing.
                        for _ in 0..<Int.random(in: 0..<8, using: &random) { sched_yield() }
                        if Bool.random(using: &random) { _ = send(theirs, [1], 1, Int32(MSG_NOSIGNAL)) }
                        close(theirs)
                    }
                    for _ in 0..<16 { _ = capacity.wait(timeout: .now() + 30) }
                })
        }
        try await ends.first { _ in true }?.get()
        #expect(ended.withLock { $0 } == connections)
    }

    private final class Holder: @unchecked Sendable {
        var source: DescriptorSource?
    }
}
