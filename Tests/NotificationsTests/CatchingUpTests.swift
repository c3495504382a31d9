import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@testable import Notifications

@Suite struct CatchingUpTests {
    /// The state at this hour of the day, independent of the time of the test.
    private func tracker(_ store: TrackerStore, _ hours: Double) throws -> TrackerAPI {
        let day = DayCalendar(zone: .utc, boundaryHour: 4)
        let start = day.start(of: day.day(of: .current))
        return TrackerAPI(store, .test(at: start.advanced(seconds: hours * 3600)))
    }

    /// Sets the rig's clock to this hour.
    private func turn(_ rig: PhoneRig, _ hours: Double) throws {
        rig.skew.withLock { $0 = 0 }
        let skew = try rig.tracker().now.seconds(to: tracker(rig.store, hours).now)
        rig.skew.withLock { $0 = skew }
    }

    private func ids(_ peer: WebPeer) throws -> [String] {
        try peer.requests().compactMap { ($0.json["data"] as? [String: Any])?["id"] as? String }
    }

    @Test func `a webhook receives earlier notifications in order, once`() async throws {
        let peer = try await WebPeer()
        var rig = try PhoneRig(.webhook, [("webhook.url", "\(peer.url)/hook")])
        try turn(rig, 3.1)
        rig.start()
        #expect(await eventually { (try? rig.store.lastProcessed("webhook")) != nil })
        #expect(await rig.logs("Notifications go to"))
        await rig.stop()
        try await tracker(rig.store, 3.5).deliver([MemorySink()])
        try await tracker(rig.store, 7).deliver([MemorySink()])
        for _ in 0..<2 { _ = try tracker(rig.store, 8).logDrink(.ml(1500)) }
        try await tracker(rig.store, 8).deliver([MemorySink()])
        let sent = try rig.store.deliveries(after: 0).map(\.decision)
        #expect(sent.count == 3)
        rig = try PhoneRig(.webhook, [], store: rig.store)
        // A webhook gets all of them, also days later.
        try turn(rig, 8 + 72)
        rig.start()
        let seen = try await peer.requests(3)
        #expect(try ids(peer) == sent.map(\.notificationId))
        #expect(seen.map { $0.json["timestamp"] as? String } == sent.map { $0.decidedAt?.description })
        // The delivery is listed.
        #expect(
            await eventually {
                (try? rig.store.notifications().allSatisfy { $0.channels == ["memory", "webhook"] }) == true
            })
        await rig.stop()
        let last = try PhoneRig(.webhook, [], store: rig.store)
        try turn(last, 8 + 73)
        last.start()
        #expect(await last.delivers(notice(9)))
        #expect(try ids(peer) == sent.map(\.notificationId) + [notice(9).notificationId])
        await last.stop()
    }

    /// A phone gets notifications that still apply, for 15 minutes, and only the last of a kind.
    @Test(arguments: [(0.05, 1), (0.5, 0)]) func `ntfy receives notifications that are still valid`(
        hoursLater: Double, count: Int
    ) async throws {
        let peer = try await WebPeer()
        let rig = try PhoneRig.ntfy(peer)
        try turn(rig, 3.1)
        _ = try rig.store.lastProcessed("ntfy")
        try await tracker(rig.store, 3.5).deliver([MemorySink()])
        try await tracker(rig.store, 7).deliver([MemorySink()])
        #expect(
            try rig.store.deliveries(after: 0).map(\.decision.kind.id) == ["hydration-reminder", "hydration-reminder"])
        try turn(rig, 7 + hoursLater)
        rig.start()
        #expect(await rig.delivers(notice(9, .goal, "Goal", "reached")))
        let last = try #require(try rig.store.deliveries(after: 0).last?.decision)
        #expect(
            try peer.requests().map { $0.json["message"] as? String } == (count == 1 ? [last.body] : []) + ["reached"])
        await rig.stop()
    }

    @Test func `a new channel receives later notifications only`() async throws {
        let peer = try await WebPeer()
        let rig = try PhoneRig(.webhook, [("webhook.url", "\(peer.url)/hook")])
        try turn(rig, 3.1)
        rig.start()
        #expect(await rig.logs("Notifications go to"))
        _ = try rig.tracker().set([("webhook.url", "unset")])
        await rig.sender.checkNow()
        #expect(await rig.logs("Webhook: no server is set."))
        try await tracker(rig.store, 3.5).deliver([MemorySink()])
        _ = try rig.tracker().set([("webhook.url", "\(peer.url)/other")])
        #expect(await rig.delivers(notice(9)))
        #expect(try ids(peer) == [notice(9).notificationId])
        await rig.stop()
    }

    @Test func `notifications of a session are not sent later when it was not shared`() async throws {
        let peer = try await WebPeer()
        let rig = try PhoneRig(.webhook, [("webhook.url", "\(peer.url)/hook"), ("reminders.enabled", "false")])
        try turn(rig, 3.1)
        _ = try rig.store.lastProcessed("webhook")
        _ = try tracker(rig.store, 16).startSession()
        _ = try tracker(rig.store, 16.1).drink()
        try await tracker(rig.store, 16.2).deliver([MemorySink()])
        #expect(try rig.store.deliveries(after: 0).contains { $0.decision.kind.isWaterline })
        try turn(rig, 16.3)
        rig.shares.withLock { $0 = true }
        rig.start()
        #expect(await rig.delivers(notice(9)))
        #expect(try ids(peer) == [notice(9).notificationId])
        // Later notifications are sent there, also if the service is stopped at that time.
        await rig.stop()
        for _ in 0..<3 { _ = try tracker(rig.store, 16.4).drink() }
        try await tracker(rig.store, 16.5).deliver([MemorySink()])
        rig.start()
        #expect(try await eventually { try ids(peer).contains { $0.hasPrefix("waterline-") } }, "\(rig.events)")
        await rig.stop()
    }

    @Test func `a webhook receives the live notification of a session that has ended`() async throws {
        let peer = try await WebPeer()
        let rig = try PhoneRig(.webhook, [("webhook.url", "\(peer.url)/hook"), ("reminders.enabled", "false")])
        try turn(rig, 3.1)
        rig.shares.withLock { $0 = true }
        try rig.store.recordSharing(true)
        _ = try rig.store.lastProcessed("webhook")
        _ = try tracker(rig.store, 16).startSession()
        _ = try tracker(rig.store, 16.1).drink()
        try await tracker(rig.store, 16.2).deliver([MemorySink()])
        #expect(try rig.store.deliveries(after: 0).contains { $0.decision.kind == .waterlineLive })
        _ = try tracker(rig.store, 16.3).endSession()
        try turn(rig, 16.4)
        rig.start()
        #expect(try await eventually { try ids(peer).contains { $0.hasPrefix("waterline-live") } }, "\(rig.events)")
        await rig.stop()
    }
}
