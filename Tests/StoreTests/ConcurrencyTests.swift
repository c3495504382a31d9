import Foundation
import GatewaySupport
import Store
import Support
import Synchronization
import Testing
import TrackerCore

@Suite(.timeLimit(.minutes(20))) struct ConcurrencyTests {
    @Test func `writes and other reads do not wait while eight exports are open`() async throws {
        let scratch = try TemporaryFolder()
        let store = try TrackerStore(path: scratch.store)
        let now = try context("2026-02-03T18:00:00Z", counted: true)
        for ml in 1...3 { _ = try store.logDrink(ml: ml, now) }
        let version = try store.dataVersion()
        // Each export waits after its first drink until the test has written.
        let open = Mutex(0), counts = Mutex<[Int]>([])
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<8 {
            Thread {
                var count = 0
                try? store.forEachDrink { _, _, _ in
                    count += 1
                    guard count == 1 else { return }
                    open.withLock { $0 += 1 }
                    gate.wait()
                }
                counts.withLock { $0.append(count) }
            }.start()
        }
        #expect(await eventually(within: 30) { open.withLock { $0 } == 8 })
        _ = try store.logDrink(ml: 4, now)
        #expect(try store.dataVersion() != version)
        #expect(try store.allDrinks().map(\.ml) == [1, 2, 3, 4])
        try store.backUp(to: scratch.store + "-backup")
        for _ in 0..<8 { gate.signal() }
        #expect(await eventually(within: 30) { counts.withLock { $0 } == Array(repeating: 3, count: 8) })
    }
}
