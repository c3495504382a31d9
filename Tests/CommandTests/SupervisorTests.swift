import CommandSupport
import Foundation
import Support
import Synchronization
import Testing

@Suite struct SupervisorTests {
    @Test func `the watchdog is notified only with progress`() async throws {
        let notify = try NotifyTests.NotifySocket()
        let supervisor = Supervisor(["NOTIFY_SOCKET": notify.path, "WATCHDOG_USEC": "30000"])
        let isAlive = Mutex(true)
        let watching = Task { await supervisor.keepAlive { isAlive.withLock { $0 } } }
        #expect(await notify.wait("WATCHDOG=1", times: 3))
        isAlive.withLock { $0 = false }
        supervisor.notify("MARK=1")
        #expect(await notify.wait("MARK=1"))
        let before = notify.messages.count
        _ = await event(within: 0.2) { () -> Bool? in nil }
        // One message can be in transit.
        #expect(notify.messages.count <= before + 1)
        isAlive.withLock { $0 = true }
        #expect(await event(within: 20) { notify.messages.count > before + 3 ? true : nil } == true)
        watching.cancel()
        await watching.value
    }

    @Test func `the systemd status is one line`() async throws {
        let notify = try NotifyTests.NotifySocket()
        Supervisor(["NOTIFY_SOCKET": notify.path]).notify(status: "two\nlines")
        #expect(await notify.wait("STATUS=two lines"))
    }

    @Test(arguments: [
        [:], ["NOTIFY_SOCKET": "relative"], ["NOTIFY_SOCKET": "/nonexistent/notify"],
        ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)],
    ])
    func silence(_ environment: [String: String]) async {
        let supervisor = Supervisor(environment.merging(["WATCHDOG_USEC": "1000"]) { $1 })
        supervisor.notify("READY=1")
        let watching = Task { await supervisor.keepAlive { true } }
        watching.cancel()
        await watching.value
    }
}
