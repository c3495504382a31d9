import DBus
import DBusSupport
import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport
import Utilities

@testable import Notifications

/// Tracker spec C, its rows and its checks (2) to (4), against a server on a private bus.
@Suite(.timeLimit(.minutes(2)))
struct PresentationTests {
    let fixture: DesktopFixture

    init() async throws { fixture = try await DesktopFixture() }

    @Test(arguments: [true, false])
    func `a due reminder calls Notify once`(withPage: Bool) async throws {
        let server = try await FakeNotificationServer(fixture.bus)
        let (desktop, page) = (await fixture.desktop(), MemorySink("events"))
        for _ in 0..<3 { try await fixture.tracker().deliver(withPage ? [page, desktop] : [desktop]) }
        #expect(server.notified.items.count == 1 && server.asked == 1 && page.kinds == (withPage ? [.pace] : []))
        let shown = try #require(server.notified.items.first)
        #expect(
            shown.replaces == 0 && shown.summary == "Hydration Reminder" && shown.body.contains("Drink")
                && shown.expires == -1)
        #expect(
            shown.actions == [
                "default", "Open", "log-cup", "Log a cup", "snooze", "In 30 minutes", "not-today", "Not today",
                "dismiss", "Dismiss",
            ])
        #expect(try fixture.store.notifications().map(\.channels) == [withPage ? ["events", "desktop"] : ["desktop"]])
        #expect(fixture.lines.items == ["Shown on the desktop: hydration-reminder (hydration-reminder/2026-06-15/1)."])
        await desktop.stop()
    }

    @Test func `a pressed button acts once`() async throws {
        let server = try await FakeNotificationServer(fixture.bus, first: 41)
        let desktop = await fixture.desktop()
        try await fixture.tracker().deliver([desktop])
        // Another program's notification, and a key that this kind does not have.
        try await server.press(7, "log-cup")
        try await server.press(42, "end-session")
        try await server.press(42, "log-cup")
        let press = try #require(await fixture.presses.wait(for: 1).first)
        #expect(
            press.kind == .pace && press.action == .logCup && press.notificationId == "hydration-reminder/2026-06-15/1")
        #expect(
            fixture.lines.items.last
                == "Pressed on the desktop: log-cup of hydration-reminder (hydration-reminder/2026-06-15/1).")
        #expect(fixture.presses.items.count == 1)
        // Two programs receive the same press: one cup.
        #expect(try fixture.tracker().press(press.action, key: press.key))
        #expect(try !fixture.tracker("12:01").press(press.action, key: press.key))
        #expect(try fixture.tracker("12:02").state().pace.dailyTotalMl == 250)
        // A server that repeats the signal and does not close the notification.
        try await server.press(42, "log-cup")
        let again = try #require(await fixture.presses.wait(for: 2).last)
        #expect(try !fixture.tracker("12:03").press(again.action, key: again.key))
        #expect(try fixture.tracker("12:04").state().pace.dailyTotalMl == 250)
        // Closed long ago: no action.
        try await server.close(42)
        try await server.press(42, "log-cup")
        try await desktop.settled()
        #expect(fixture.presses.items.count == 2)
        await desktop.stop()
    }

    @Test func `a notification replaces the previous one of its kind`() async throws {
        var server = try await FakeNotificationServer(fixture.bus, first: 10)
        let desktop = await fixture.desktop()
        func show(_ kind: NotificationKind) async throws { #expect(try await desktop.deliver(.test(kind))) }
        try await show(.pace)
        try await show(.interval)
        try await show(.goal)
        #expect(server.notified.items.map(\.replaces) == [0, 11, 0])
        try await server.close(11)
        try await desktop.settled()
        try await show(.adaptive)
        #expect(server.notified.items.last?.replaces == 0)
        // A restarted program replaces the same notification.
        await desktop.stop()
        let next = await fixture.desktop()
        #expect(try await next.deliver(.test(.goal)))
        #expect(server.notified.items.last?.replaces == 12)
        // At another server the same id would be another program's notification.
        await server.stop()
        server = try await FakeNotificationServer(fixture.bus, first: 10)
        #expect(await fixture.appearances.wait(for: 1).count >= 1)
        #expect(try await next.deliver(.test(.goal)))
        #expect(server.notified.items.map(\.replaces) == [0] && server.asked == 1)
        await next.close(id: NotificationKind.goal.id)
        #expect(await server.closed.wait(for: 1) == [11])
        await next.stop()
    }

    @Test func `a new notification server gets notifications without a retry pause`() async throws {
        let server = try await FakeNotificationServer(fixture.bus, manner: .withoutReply)
        let next = try await FakeNotificationServer(fixture.bus, isNext: true)
        var limits = DesktopFixture.patient
        limits.pauses = Backoff(first: .seconds(3600), longest: .seconds(3600))
        let desktop = await fixture.desktop(limits)
        async let first = try desktop.deliver(.test(.pace))
        #expect(await server.notified.wait(for: 1).count == 1)
        await server.stop()
        // The timeout of the last server is reported after the name of the next one.
        #expect(try await !first)
        #expect(await fixture.appearances.wait(for: 1) == [true])
        #expect(try await desktop.deliver(.test(.pace)))
        #expect(next.notified.items.map(\.replaces) == [0] && next.asked == 1 && fixture.troubles.items == [])
        await desktop.stop()
    }

    @Test func `an error of a stopped server does not affect the next server`() async throws {
        let server = try await FakeNotificationServer(fixture.bus, answersQuery: { false })
        let next = try await FakeNotificationServer(fixture.bus, isNext: true)
        let desktop = await fixture.desktop()
        async let canShow = desktop.canShow()
        #expect(await eventually { server.asked == 1 })
        await server.stop()
        #expect(await canShow && next.asked == 1 && fixture.troubles.items == [])
        await desktop.stop()
    }

    @Test func `server capabilities are queried again when the server changes`() async throws {
        let (desktop, gate) = (await fixture.desktop(), DispatchSemaphore(value: 0))
        // From the query on, the desktop reads nothing until both the reply and the signal have arrived.
        let server = try await FakeNotificationServer(
            fixture.bus, capabilities: ["body", "actions"],
            answersQuery: {
                desktop.executor.queue.async { gate.wait() }
                return true
            })
        let next = try await FakeNotificationServer(fixture.bus, capabilities: [], isNext: true)
        async let shown = try desktop.deliver(.test(.pace, "Title", "Body"))
        #expect(await eventually { server.asked == 1 })
        // After its reply.
        _ = try await server.connection.busID()
        await server.stop()
        #expect(
            try await eventually { try await next.connection.requestName(FakeNotificationServer.service, waits: true) })
        gate.signal()
        #expect(try await shown && next.asked == 1)
        #expect(next.notified.items.first?.summary == "Title: Body" && next.notified.items.first?.actions == [])
        await desktop.stop()
    }

    @Test(
        arguments: [
            (["body", "body-markup", "actions"], "T & <b>", "1 &lt; 2 &amp; 3 &gt; 2", 10),
            (["body", "actions"], "T & <b>", "1 < 2 & 3 > 2", 10),
            (["body"], "T & <b>", "1 < 2 & 3 > 2", 0), ([], "T & <b>: 1 < 2 & 3 > 2", "", 0),
        ] as [([String], String, String, Int)])
    func `features that the server does not support are not used`(
        _ capabilities: [String], summary: String, body: String, actions: Int
    )
        async throws
    {
        let server = try await FakeNotificationServer(fixture.bus, capabilities: capabilities)
        let desktop = await fixture.desktop()
        #expect(try await desktop.deliver(.test(.pace, "T & <b>", "1 < 2 & 3 > 2")))
        let shown = try #require(server.notified.items.first)
        #expect(shown.summary == summary && shown.body == body && shown.actions.count == actions)
        await desktop.stop()
    }

    @Test func `the hints of a notification contain urgency, sound and residency`() async throws {
        let server = try await FakeNotificationServer(fixture.bus)
        let desktop = await fixture.desktop()
        #expect(try await desktop.deliver(.test(.pace, urgency: .critical)))
        #expect(try await desktop.deliver(.test(.recovery, urgency: .low, sound: false)))
        #expect(try await desktop.deliver(.test(.waterlineLive, urgency: .low, sound: false, isDiscreet: true)))
        #expect(try await desktop.deliver(.test(.waterlineLive, urgency: .low, sound: false)))
        let shown = server.notified.items
        #expect(shown.map { $0.hints["urgency"]?.integer } == [2, 0, 0, 0])
        #expect(shown.map { $0.hints["sound-name"]?.text } == ["message-new-instant", nil, nil, nil])
        #expect(shown.map { $0.hints["suppress-sound"]?.bool } == [nil, true, true, true])
        #expect(
            shown.map { $0.hints["resident"]?.bool } == [nil, nil, true, true]
                && shown.map(\.expires) == [-1, -1, 0, 0])
        #expect(
            shown[2].actions == ["log-water", "Log Water", "log-drink", "Add one"]
                && shown[3].actions == ["log-water", "Log Water", "log-drink", "Log Drink"])
        #expect(shown[3].number == shown[2].number, "updated in place")
        await desktop.stop()
        // A program that ends before a press shows no buttons.
        let brief = await fixture.desktop(acts: false)
        #expect(try await brief.deliver(.test(.goal)))
        #expect(server.notified.items.last?.actions == [])
        await brief.stop()
    }

    @Test func `a notification does not count as delivered without a notification server`() async throws {
        let (desktop, page) = (await fixture.desktop(), MemorySink("events"))
        #expect(await !desktop.canShow())
        let report = try await fixture.tracker().deliver([desktop])
        #expect(report.unseen.count == 1 && !report.state.hasNotificationServer && fixture.troubles.items == [])
        #expect(try fixture.tracker().state().remindersSent == 0)
        let server = try await FakeNotificationServer(fixture.bus)
        #expect(await fixture.appearances.wait(for: 1) == [true])
        #expect(try await fixture.tracker("12:01").deliver([page, desktop]).state.hasNotificationServer)
        #expect(server.notified.items.count == 1 && page.kinds == [.pace])
        await desktop.stop()
        let nowhere = DesktopNotifications(bus: { nil })
        #expect(await !nowhere.canShow())
        let refused = await fixture.desktop(address: "unix:path=/nowhere/bus")
        #expect(await !refused.canShow() && fixture.troubles.items.count == 1)
    }

    @Test func `a notification does not count as delivered when the server does not respond`() async throws {
        let server = try await FakeNotificationServer(fixture.bus, manner: .withoutReply)
        let desktop = await fixture.desktop(
            .init(
                delivery: .seconds(300), firstResponse: .seconds(60), response: .milliseconds(300),
                pauses: Backoff(first: .seconds(3600), longest: .seconds(3600))))
        let report = try await fixture.tracker().deliver([desktop])
        #expect(
            report.unseen.count == 1 && fixture.troubles.items.count == 1
                && fixture.troubles.items.first?.contains("does not respond") == true)
        // Idle for a while.
        #expect(await !desktop.canShow())
        #expect(try fixture.tracker().state().remindersSent == 0 && server.notified.items.count == 1)
        await desktop.stop()
    }

    /// A notification of the same day is shown again after a purge, and its text is no longer in the file.
    @Test func `a purge clears delivered notifications`() async throws {
        let server = try await FakeNotificationServer(fixture.bus)
        let file = fixture.file
        let day = Mutex("first")
        let service = await fixture.desktop(history: ShownNotifications(file: file, userID: { day.withLock { $0 } }))
        let agent = await fixture.desktop()
        let notification = try TrackerNotification.test(.goal)
        for each in [service, agent, service] { #expect(await each.deliver(notification)) }
        #expect(server.notified.items.count == 1)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        day.withLock { $0 = "second" }
        #expect(await service.deliver(notification) && server.notified.items.count == 2)
        // A program without the store's identity uses the file.
        #expect(await agent.deliver(notification) && server.notified.items.count == 2)
        ShownNotifications(file: file).removeAll()
        #expect(try !String(contentsOfFile: file, encoding: .utf8).contains("Title"))
        #expect(await agent.deliver(notification) && server.notified.items.count == 3)
        await service.stop()
        await agent.stop()
    }

    /// A store gets its identity at the first query of the state. Notifications shown before that must still be
    /// recognised as its own.
    @Test func `notifications shown before the store had an identity are recognised`() async throws {
        let server = try await FakeNotificationServer(fixture.bus)
        let day = Mutex("")
        let service = ShownNotifications(file: fixture.file, userID: { day.withLock { $0 } })
        let agent = await fixture.desktop()
        _ = service.notice("nothing", owner: "")
        let notification = try TrackerNotification.test(.goal)
        #expect(await agent.deliver(notification))
        #expect(service.wasRecentlyShown(notification.announcement))
        day.withLock { $0 = "somebody" }
        #expect(service.wasRecentlyShown(notification.announcement))
        _ = service.notice("nothing", owner: "")
        await agent.close(id: notification.kind.id)
        #expect(await eventually { !server.closed.items.isEmpty })
        await agent.stop()
    }

    @Test(arguments: [FakeNotificationServer.Manner.withInvalidID, .withError])
    func `a notification does not count as delivered after an invalid reply`(
        manner: FakeNotificationServer.Manner
    ) async throws {
        let server = try await FakeNotificationServer(fixture.bus, manner: manner)
        let desktop = await fixture.desktop()
        #expect(try await !desktop.deliver(.test(.pace)))
        #expect(server.notified.items.count == 1 && fixture.lines.items.isEmpty && fixture.troubles.items.count == 1)
        await desktop.stop()
    }

    @Test func `a notification is not shown twice when the process was killed before recording it`() async throws {
        let server = try await FakeNotificationServer(fixture.bus)
        let first = await fixture.desktop()
        let notification = try TrackerNotification.test(.pace)
        #expect(await first.deliver(notification))
        await first.stop()
        let second = await fixture.desktop()
        #expect(await second.deliver(notification))
        #expect(
            server.notified.items.count == 1
                && fixture.lines.items.last?.hasPrefix("Already on the desktop: hydration-reminder") == true)
        // The user dismissed it: it still counts as seen.
        try await server.close(1)
        try await second.settled()
        #expect(await second.deliver(notification))
        #expect(server.notified.items.count == 1)
        var other = notification
        other.body = "Drink more."
        #expect(await second.deliver(other))
        #expect(server.notified.items.map(\.replaces) == [0, 0])
        await second.stop()
    }

    @Test func `Do Not Disturb passes only urgent notifications`() async throws {
        let server = try await FakeNotificationServer(
            fixture.bus, capabilities: ["body", "inhibitions"], isInhibited: true)
        let desktop = await fixture.desktop()
        #expect(try await !desktop.deliver(.test(.recovery, urgency: .low)))
        #expect(try await desktop.deliver(.test(.pace, urgency: .critical)))
        await server.inhibit(false)
        #expect(try await desktop.deliver(.test(.recovery, urgency: .low)))
        #expect(server.notified.items.count == 2)
        await desktop.stop()
    }

    @Test func `notifications are shown on a new bus after the old one ended`() async throws {
        let (first, second) = (fixture.bus, try await PrivateBus())
        let current = Collected<String>()
        current.add(first.address)
        let desktop = DesktopNotifications(
            bus: { .address(current.items.last ?? "") }, history: ShownNotifications(), limits: DesktopFixture.patient)
        let server = try await FakeNotificationServer(first)
        #expect(try await desktop.deliver(.test(.pace)))
        first.stop()
        current.add(second.address)
        let next = try await FakeNotificationServer(second)
        #expect(await eventually { await desktop.canShow() })
        #expect(try await desktop.deliver(.test(.pace)))
        #expect(server.notified.items.count == 1 && next.notified.items.map(\.replaces) == [0])
        await desktop.stop()
    }
}

extension DesktopNotifications {
    /// Waits until all earlier messages are processed.
    func settled() async throws { _ = try await connection?.open.busID() }
}
