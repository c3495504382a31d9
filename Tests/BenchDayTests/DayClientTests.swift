@testable import BenchDay
import Bluetooth
import Synchronization
import Testing

@Suite("One connection of a bench day") struct DayClientTests {
    /// A link at which nobody is: a scan brings a remark, and then nothing.
    private final class Silence: CentralLink {
        let name = "silence"
        let hasRadio = true
        let events: AsyncStream<CentralEvent>
        private let told: AsyncStream<CentralEvent>.Continuation

        init() { (events, told) = AsyncStream.makeStream() }

        func perform(_ request: CentralRequest) {
            if case .startScan = request { told.yield(.remark("nobody is here")) }
        }

        func close() async { told.finish() }
    }

    @Test(
        """
        who waits for nobody looks at the clock now and then, and not without a pause, after something that was \
        not waited for
        """
    )
    func waitingIsQuiet() async {
        let looks = Mutex(0)
        let clock = MonotonicClock {
            looks.withLock { $0 += 1 }
            return MonotonicClock.system.now()
        }
        let link = Silence()
        let client = DayClient(link, clock: clock)
        await #expect(throws: LinkError.self) { _ = try await client.find(within: .milliseconds(300)) { _ in true } }
        #expect(looks.withLock { $0 } < 20, "it looked \(looks.withLock { $0 }) times")
        await client.close()
    }
}
