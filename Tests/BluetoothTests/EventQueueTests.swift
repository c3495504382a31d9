import Support
import Synchronization
import Testing

@testable import Bluetooth

@Suite struct EventQueueTests {
    /// The CI examples query the bottle's state after a response: the command before must be processed by then.
    @Test(arguments: 1...50)
    func `waitUntilEventsAreProcessed returns when the consumer has processed all earlier events`(seed: Int) async {
        var random = SeededGenerator(seed: UInt64(seed))
        let queue = EventQueue<Int>()
        let done = Mutex(0)
        await queue.waitUntilEventsAreProcessed()
        let consumer = Task {
            for await event in queue.stream() {
                for _ in 0..<(event % 5) { await Task.yield() }
                done.withLock { $0 = event }
            }
        }
        var last = 0
        for _ in 0..<20 {
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                last += 1
                queue.yield(last)
            }
            // `waitUntilEventsAreProcessed` needs a consumer that has started.
            while done.withLock({ $0 }) == 0, last > 0 { await Task.yield() }
            await queue.waitUntilEventsAreProcessed()
            #expect(done.withLock { $0 } == last, "seed \(seed)")
        }
        queue.yield(last + 1)
        queue.finish()
        await queue.waitUntilEventsAreProcessed()
        await consumer.value
        #expect(done.withLock { $0 } == last + 1, "pending events are delivered after finish")
    }

    @Test func `waitUntilEventsAreProcessed returns when the consumer ends`() async {
        let queue = EventQueue<Int>()
        let stream = queue.stream()
        queue.yield(1)
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        // The consumer took the first event and might still process it.
        let waits = Task { await queue.waitUntilEventsAreProcessed() }
        await Task.yield()
        queue.finish()
        await waits.value
    }
}
