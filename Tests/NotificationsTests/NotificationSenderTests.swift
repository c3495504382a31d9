import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

@testable import Notifications

@Suite struct NotificationSenderTests {
    private func titles(_ seen: [WebPeer.Request]) -> [String] {
        seen.filter { $0.method == "POST" }.map { $0.json["message"] as? String ?? "?" }
    }

    @Test func `each notification is sent once in order`() async throws {
        let (peer, rig) = try await PhoneRig.started([("ntfy.token", "tk_1")])
        #expect(await rig.sink.canShow())
        for number in 1...3 {
            #expect(await rig.delivers(notice(number, number == 3 ? .goal : .pace, "T", "body \(number)")))
        }
        // Offered again by a process that does not have the delivery.
        #expect(await rig.delivers(notice(2, .pace, "T", "other words")))
        #expect(titles(try peer.requests()) == ["body 1", "body 2", "body 3"])
        #expect(try peer.requests().allSatisfy { $0.path == "/" && $0.headers["authorization"] == "Bearer tk_1" })
        #expect(rig.events == ["Notifications go to ntfy at \(peer.url), with a token."])
        await rig.stop()
    }

    @Test func `a restarted service continues the deliveries`() async throws {
        let peer = try await WebPeer()
        let first = try PhoneRig.ntfy(peer)
        first.start()
        #expect(await first.delivers(notice(1)))
        try peer.rule(#"{"status": 503}"#)
        #expect(await first.sink.deliver(notice(2, .goal, "Goal", "reached")) == false)
        await first.stop()
        try peer.rule("{}")
        let second = try PhoneRig.ntfy(peer, store: first.store)
        second.start()
        let seen = try await peer.requests(3)
        #expect(await second.delivers(notice(1)))
        #expect(await second.delivers(notice(2, .goal, "Goal", "reached")))
        #expect(try peer.requests().count == seen.count && titles(seen).suffix(1) == ["reached"])
        await second.stop()
    }

    @Test func `a delivery that cannot be stored is not repeated`() async throws {
        let (peer, folder) = (try await WebPeer(), try TemporaryFolder())
        let store = try TrackerStore(path: folder.file("s.sqlite"), hostZone: "UTC")
        let rig = try PhoneRig(.webhook, [("webhook.url", "\(peer.url)/hook")], store: store)
        try await sqlite(
            store.path,
            """
            CREATE TRIGGER full BEFORE UPDATE ON queued_notification WHEN NEW.state = 'sent' BEGIN SELECT RAISE(ABORT, \
            'database or disk is full'); END
            """
        )
        rig.start()
        #expect(await rig.sink.deliver(notice(1)) == false)
        // Each attempt prepares the message again.
        var taken: Set<String> = []
        #expect(
            try await eventually(within: 60) {
                taken.insert(try await sqlite(store.path, "SELECT claimedAt FROM claim"))
                return taken.count > 2
            }, "\(rig.events)")
        #expect(try peer.requests().count == 1)
        try await sqlite(store.path, "DROP TRIGGER full")
        #expect(
            await eventually { (try? store.queuedState(notice(1).notificationId, at: "webhook")) == .sent },
            "\(rig.events)")
        await rig.stop()
        #expect(try peer.requests().count == 1)
    }

    static let bad: [(String, String)] = [
        (#"{"status": 500}"#, "status 500"), (#"{"status": 429, "headers": {"Retry-After": "1"}}"#, "status 429"),
        (#"{"close": true}"#, "failed"), (#"{"cut": true, "body": "{\"id\": \"abcdefghijklmnop\"}"}"#, "failed"),
        (#"{"flood": 100000000}"#, "longer than the limit"), (#"{"status": 401}"#, "ntfy.token"),
        (#"{"status": 302, "headers": {"Location": "/login"}}"#, "redirected"),
        (#"{"body": "<html>Please log in</html>"}"#, "login"), (#"{"status": 404}"#, "ntfy.url"),
        (#"{"silent": 60}"#, "did not answer"),
    ]

    /// One message, not one per attempt. Reminders are not delayed, and once the server works the notification arrives
    /// once.
    @Test func `a failing server is reported once`() async throws {
        try await concurrently(Self.bad) { rule, word in
            let (peer, rig) = try await PhoneRig.started(rule: rule)
            let began = ContinuousClock.now
            #expect(await rig.sink.deliver(notice(1)) == false)
            #expect(ContinuousClock.now - began < NotificationSender.deliveryWait * 4)
            #expect(await rig.fails(word), "\(rig.events)")
            let tries = try peer.requests().count
            _ = try await peer.requests(tries + 1)
            try peer.rule("{}")
            #expect(await rig.logs("ntfy continues."), "\(rig.events)")
            #expect(rig.problems.count == 1, "\(rig.problems)")
            // It was delivered later: the reminder check runs again and gets the delivery.
            #expect(await eventually { rig.lateCount.withLock { $0 } > 0 })
            let count = try peer.requests().count
            #expect(await rig.delivers(notice(1)))
            #expect(try peer.requests().count == count)
            await rig.stop()
        }
    }

    @Test func `a sender waits as long as Retry-After requires`() async throws {
        let (peer, rig) = try await PhoneRig.started(
            rule: #"{"status": 429, "headers": {"Retry-After": "3"}}"#, once: true)
        _ = await rig.sink.deliver(notice(1))
        let seen = try await peer.requests(2)
        #expect(seen.count == 2 && seen[1].at - seen[0].at >= 2.9, "\(seen.map(\.at))")
        // During the back-off no caller waits for it.
        try peer.rule(#"{"status": 503, "headers": {"Retry-After": "600"}}"#)
        _ = await rig.sink.deliver(notice(2))
        #expect(await rig.fails("503"))
        let began = ContinuousClock.now
        #expect(await rig.sink.deliver(notice(3, .goal)) == false)
        #expect(ContinuousClock.now - began < NotificationSender.deliveryWait)
        await rig.stop()
    }

    @Test func `a rejected notification is not sent again`() async throws {
        let (peer, rig) = try await PhoneRig.started(rule: #"{"status": 413}"#, once: true)
        #expect(await rig.sink.deliver(notice(1)) == false)
        #expect(await rig.sink.deliver(notice(1)) == false)
        #expect(await rig.delivers(notice(2)))
        #expect(try peer.requests().count == 2)
        #expect(rig.dropped.count == 1)
        await rig.stop()
    }

    @Test func `a notification is dropped when it is older than 15 minutes`() async throws {
        let peer = try await WebPeer()
        try peer.rule(#"{"status": 503}"#)
        var rig = try PhoneRig.ntfy(peer)
        rig.start()
        for number in 1...5 { _ = await rig.sink.deliver(notice(number, .pace, "T", "old \(number)")) }
        _ = await rig.sink.deliver(notice(1, .goal, "T", "old goal"))
        await rig.stop()
        rig = try PhoneRig.ntfy(peer, store: rig.store)
        rig.skew.withLock { $0 = 7 * 86_400 }
        rig.start()
        try peer.rule("{}")
        let before = try peer.requests().count
        #expect(await eventually { await rig.sink.deliver(notice(6, .recovery, "T", "new")) }, "\(rig.events)")
        #expect(titles(Array(try peer.requests().dropFirst(before))) == ["new"])
        let dropped = rig.dropped
        #expect(dropped.count == 2 && dropped.allSatisfy { $0.contains("15 minutes") }, "\(dropped)")
        await rig.stop()
    }

    @Test(arguments: [31_536_000, -31_536_000] as [Double]) func `a clock step does not repeat or lose notifications`(
        skew: Double
    ) async throws {
        let (peer, rig) = try await PhoneRig.started()
        #expect(await rig.delivers(notice(1)))
        try peer.rule(#"{"status": 503}"#)
        #expect(await rig.sink.deliver(notice(2)) == false)
        rig.skew.withLock { $0 = skew }
        try peer.rule("{}")
        #expect(await eventually { rig.lateCount.withLock { $0 } == 1 }, "\(rig.events)")
        let count = try peer.requests().count
        for number in 1...2 { #expect(await rig.delivers(notice(number))) }
        #expect(try peer.requests().count == count)
        await rig.stop()
    }

    @Test func `a pending ntfy message is dropped when its reason is gone`() async throws {
        let (peer, rig) = try await PhoneRig.started()
        #expect(await rig.delivers(notice(1)))
        try peer.rule(#"{"status": 503}"#)
        #expect(await rig.sink.deliver(notice(2)) == false)
        await rig.sink.close(id: "hydration-reminder")
        try peer.rule("{}")
        #expect(try rig.store.queuedState(notice(2).notificationId, at: "ntfy") == .dropped)
        #expect(try peer.requests().allSatisfy { $0.method == "POST" })
        await rig.stop()
    }

    @Test func `ntfy does not get resident notifications`() async throws {
        let rig = try PhoneRig.ntfy(try await WebPeer())
        rig.shares.withLock { $0 = true }
        rig.start()
        #expect(await rig.sink.deliver(notice(1, .waterlineLive, session: "s")) == false)
        await rig.stop()
        #expect(try rig.store.queuedState(notice(1, .waterlineLive).notificationId, at: "ntfy") == nil)
    }

    /// The status has the reason and the time of the failure. Other settings, or none, clear it.
    @Test func `the store records the error of a server`() async throws {
        let (peer, rig) = try await PhoneRig.started(rule: #"{"status": 401}"#)
        _ = await rig.sink.deliver(notice(1))
        let first = try #require(try await event { try rig.store.publisherErrors().first })
        #expect(first.publisher == "ntfy" && first.message.contains("rejects the credential (status 401)"))
        #expect(first.waiting == 1 && first.since != nil)
        // A different reason is the same failure.
        try peer.rule(#"{"status": 503}"#)
        let other = try #require(
            try await event(within: 60) { try rig.store.publisherErrors().first { $0.message.contains("503") } })
        #expect(other.since == first.since)
        // A missing file is a failure of the new settings.
        _ = try rig.tracker().set([("ntfy.tokenFile", "/nowhere/token")])
        await rig.sender.checkNow()
        #expect(
            try await eventually { try rig.store.publisherErrors().first?.message.contains("/nowhere/token") == true })
        _ = try rig.tracker().set([("ntfy.tokenFile", "unset")])
        try peer.rule("{}")
        await rig.sender.checkNow()
        #expect(
            try await eventually(within: 60) {
                try rig.store.publisherErrors().isEmpty
                    && rig.store.queuedState(notice(1).notificationId, at: "ntfy") == .sent
            }, "\(rig.events)")
        try peer.rule(#"{"status": 401}"#)
        _ = await rig.sink.deliver(notice(2))
        #expect(try await eventually { try !rig.store.publisherErrors().isEmpty })
        _ = try rig.tracker().set([("ntfy.url", "unset")])
        await rig.sender.checkNow()
        #expect(try await eventually { try rig.store.publisherErrors().isEmpty })
        await rig.stop()
    }

    @Test func `Waterline notifications are sent only if shared`() async throws {
        let (peer, rig) = try await PhoneRig.started()
        let reminder = notice(1, .waterlineTime, "Time for water", "", session: "s")
        #expect(await rig.sink.deliver(reminder) == false)
        rig.shares.withLock { $0 = true }
        #expect(await rig.delivers(reminder))
        #expect(titles(try peer.requests()) == ["Time for water"])
        await rig.stop()
    }

    @Test func `changed settings take effect, and invalid ones are reported once`() async throws {
        let peer = try await WebPeer()
        let rig = try PhoneRig(.ntfy, [])
        rig.start()
        #expect(await rig.sink.canShow() == false)
        #expect(await rig.sink.deliver(notice(1)) == false)
        _ = try rig.tracker().set([("ntfy.url", "\(peer.url)/t"), ("ntfy.tokenFile", "/nowhere/token")])
        await rig.sender.checkNow()
        #expect(await rig.fails("/nowhere/token"))
        await rig.sender.checkNow()
        #expect(await rig.sink.canShow() == false)
        _ = try rig.tracker().set([("ntfy.tokenFile", "unset"), ("ntfy.token", "A1")])
        #expect(await rig.delivers(notice(1)))
        #expect(try peer.requests().first?.headers["authorization"] == "Bearer A1")
        _ = try rig.tracker().set([("ntfy.url", "unset")])
        await rig.sender.checkNow()
        #expect(await rig.logs("ntfy: no server is set."))
        #expect(rig.problems.count == 1)
        await rig.stop()
    }

    @Test func `two services send each notification once`() async throws {
        let peer = try await WebPeer()
        let first = try PhoneRig.ntfy(peer)
        let second = try PhoneRig.ntfy(peer, store: first.store)
        first.start()
        second.start()
        for number in 1...10 {
            let kind: NotificationKind = number % 2 == 0 ? .pace : .goal
            async let one = first.delivers(notice(number, kind, "T", "\(number)"))
            async let other = second.delivers(notice(number, kind, "T", "\(number)"))
            let shown = await [one, other]
            #expect(shown == [true, true])
        }
        #expect(titles(try peer.requests()) == (1...10).map(String.init))
        await first.stop()
        await second.stop()
    }

    /// The buttons of the first notification that the server received.
    private func buttons(_ peer: WebPeer) throws -> [[String: String]] {
        let actions = try #require(try peer.requests().first?.json["actions"] as? [[String: Any]])
        return actions.compactMap { action in
            let body = action["body"] as? String ?? ""
            return (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: String]
        }
    }

    /// The key of one notification is valid for its buttons, each once, for a day.
    @Test func `each button of a phone notification acts once`() async throws {
        let (peer, rig) = try await PhoneRig.started([("http.publicUrl", "https://shelf.example")])
        #expect(await rig.delivers(notice(1)))
        let body = try #require(try buttons(peer).first)
        let (name, key) = (
            try #require(body["action"].flatMap(NotificationAction.init(rawValue:))), try #require(body["key"])
        )
        #expect(key.count == 64)
        #expect(try rig.tracker().press(name, withKey: key) == true)
        #expect(try rig.tracker().press(name, withKey: key) == false)
        #expect(try rig.tracker().state().pace.dailyTotalMl == 250)
        #expect(try rig.tracker().press(name, withKey: String(repeating: "0", count: 64)) == nil)
        #expect(throws: Refusal.self) { try rig.tracker().press(.endSession, withKey: key) }
        rig.skew.withLock { $0 = 2 * 86_400 }
        #expect(throws: Refusal.self) { try rig.tracker().press(.dismiss, withKey: key) }
        await rig.stop()
    }

    @Test func `a button works when the notification was sent by a fast clock`() async throws {
        let peer = try await WebPeer()
        let rig = try PhoneRig.ntfy(peer, [("http.publicUrl", "https://shelf.example")])
        rig.skew.withLock { $0 = 365 * 86_400 }
        rig.start()
        #expect(await rig.delivers(notice(1)))
        let key = try #require(try buttons(peer).first?["key"])
        rig.skew.withLock { $0 = 0 }
        #expect(try rig.tracker().press(.logCup, withKey: key) == true)
        #expect(try rig.tracker().press(.logCup, withKey: key) == false)
        #expect(try rig.tracker().state().pace.dailyTotalMl == 250)
        await rig.stop()
    }

    @Test func `a button of an ended session does not affect the next`() async throws {
        let peer = try await WebPeer()
        let rig = try PhoneRig.ntfy(peer, [("http.publicUrl", "https://shelf.example")])
        rig.shares.withLock { $0 = true }
        _ = try rig.tracker().startSession()
        rig.start()
        #expect(await rig.delivers(notice(1, .waterlineAbandoned, "Session", "End it?")))
        let key = try #require(try buttons(peer).first?["key"])
        _ = try rig.tracker().endSession()
        rig.skew.withLock { $0 = 60 }
        _ = try rig.tracker().startSession()
        #expect(throws: Refusal.self) { try rig.tracker().press(.endSession, withKey: key) }
        #expect(try rig.store.activeSession(at: rig.tracker().now) != nil)
        await rig.stop()
    }

    /// All notifications in order, also after a downtime. A repetition has the same id.
    @Test func `a webhook receives every notification at least once`() async throws {
        let peer = try await WebPeer()
        try peer.rule(#"{"status": 500}"#)
        let rig = try PhoneRig(
            .webhook,
            [("webhook.url", "\(peer.url)/hook?x=y"), ("webhook.secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")])
        rig.start()
        for number in 1...20 { #expect(await rig.sink.deliver(notice(number, .pace, "T", "body \(number)")) == false) }
        await rig.sink.close(id: "hydration-reminder")
        rig.skew.withLock { $0 = 3600 }
        try peer.rule("{}")
        let last = notice(20).notificationId
        #expect(try await eventually { try rig.store.queuedState(last, at: "webhook") == .sent }, "\(rig.events)")
        let seen = try peer.requests()
        let bodies = seen.suffix(20).compactMap { ($0.json["data"] as? [String: Any])?["body"] as? String }
        #expect(bodies == (1...20).map { "body \($0)" })
        #expect(
            Set(seen.suffix(20).compactMap { $0.headers["webhook-id"] }).count == 20
                && seen[0].headers["webhook-id"] == seen[seen.count - 20].headers["webhook-id"])
        #expect(
            seen.allSatisfy {
                $0.path == "/hook?x=y" && $0.headers["webhook-signature"]?.hasPrefix("v1,") == true
                    && $0.headers["webhook-timestamp"] != nil
            })
        #expect(rig.problems.count == 1)
        await rig.stop()
    }

    /// A clock that is a year fast for a moment must not expire pending webhook deliveries, also if it is fast at the
    /// start.
    @Test(arguments: ["while it runs", "when it begins"]) func `a temporarily fast clock loses no webhook delivery`(
        _ when: String
    ) async throws {
        let peer = try await WebPeer()
        try peer.rule(#"{"status": 503}"#)
        let settings = [(name: "webhook.url", text: "\(peer.url)/hook")]
        var rig = try PhoneRig(.webhook, settings)
        rig.start()
        #expect(await rig.sink.deliver(notice(1)) == false)
        if when == "when it begins" {
            await rig.stop()
            rig = try PhoneRig(.webhook, settings, store: rig.store)
        }
        rig.skew.withLock { $0 = 365 * 86_400 }
        if when == "when it begins" { rig.start() }
        let before = try peer.requests().count
        await rig.sender.checkNow()
        _ = try await peer.requests(before + 1)
        #expect(await rig.sink.deliver(notice(2, .goal)) == false)
        rig.skew.withLock { $0 = 0 }
        try peer.rule("{}")
        #expect(
            await eventually(within: 60) {
                (try? rig.store.queuedState(notice(2, .goal).notificationId, at: "webhook")) == .sent
            }, "\(rig.events)")
        let ids = try peer.requests().suffix(2).compactMap { ($0.json["data"] as? [String: Any])?["id"] as? String }
        #expect(ids == [notice(1).notificationId, notice(2, .goal).notificationId])
        await rig.stop()
    }

    /// Notifications over the limit are reported, and the newest stay.
    @Test func `the notification queue drops the oldest entry when it is full`() throws {
        let store = try TrackerStore(inMemory: "UTC")
        var droppedCount = 0
        for number in 1...(TrackerStore.queueLimit + 5) {
            droppedCount += try store.enqueue(
                notice(number).announcement, to: "webhook", sendsLate: true, at: Instant(seconds: 1),
                makeKey: { "\(number)" })
        }
        #expect(droppedCount == 5)
        guard
            case .message(let oldest) = try store.claimNextNotification(
                from: "webhook", as: "me", at: Instant(seconds: 1))
        else {
            throw Broker.Missing(description: "nothing waits")
        }
        #expect(oldest.announcement.id == notice(6).notificationId)
    }
}
