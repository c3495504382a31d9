import Cryptography
import Foundation
import PushSupport
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerDesk

@testable import PocketSurface

/// Notifications pushed to browsers, by way of real servers in the place of their push services.
@Suite("Notifications pushed to browsers") struct PushTests {
    /// A store, its way to browsers, and what was said.
    final class Rig: Sendable {
        let store: TrackerStore
        let sink: PushSink
        let words: Collected
        private let task = Mutex<Task<Void, Never>?>(nil)

        final class Collected: Sendable {
            let all = Mutex<[PocketOutlet.Word]>([])
            /// So far ahead the machine's clock is, seconds.
            let lead = Mutex<Double>(0)
            var said: [PocketOutlet.Word] { all.withLock { $0 } }
        }

        init(store: TrackerStore? = nil, person: String? = nil, shares: Bool = false) throws {
            let store = try store ?? TrackerStore(inMemory: "UTC")
            let words = Collected()
            (self.store, self.words) = (store, words)
            sink = PushSink(
                .init(
                    desk: { PushTests.desk(store, words.lead.withLock { $0 }) }, person: person,
                    sharesWaterline: { shares }, say: { word in words.all.withLock { $0.append(word) } }, chance: { 0 },
                    limit: .seconds(2)))
        }

        func start() {
            let sink = sink
            task.withLock { $0 = Task { await sink.run() } }
        }

        func stop() async {
            let task = task.withLock { $0 }
            task?.cancel()
            await task?.value
        }

        func add(
            _ browser: PushBrowser, at peer: WebPeer, path: String = "/send/a", label: String = "Firefox",
            token: String? = nil
        ) throws {
            try store.subscribe(
                PushSubscription(
                    endpoint: peer.url + path, publicKey: browser.point, secret: browser.auth, label: label,
                    since: PushTests.desk(store).now), letInBy: token)
        }

        func tells(_ notification: TrackerNotification) async -> Bool {
            await event { await sink.deliver(notification) ? true : nil } == true
        }
        func says(_ fits: @Sendable (PocketOutlet.Word) -> Bool) async -> Bool {
            await event { words.said.contains(where: fits) ? true : nil } == true
        }
    }

    static func desk(_ store: TrackerStore, _ lead: Double = 0) -> TrackerDesk {
        let now = Instant(milliseconds: Int64((Date().timeIntervalSince1970 + lead) * 1000))
        return TrackerDesk(
            store, WriteContext(now: now, zone: .utc, source: "push", makeID: { UUID().uuidString.lowercased() }))
    }

    /// RFC 8291, appendix A: the same keys and the same salt give the same bytes.
    @Test func theExampleOfTheStandard() throws {
        func bytes(_ text: String) throws -> [UInt8] { try #require(PushBrowser.bytes(text)) }
        let browser = try PushBrowser(
            key: bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), auth: bytes("BTBZMqHH6r4Tts7J_aSIgg"))
        #expect(
            browser.publicKey
                == "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
        let subscription = PushSubscription(
            endpoint: "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", publicKey: browser.point,
            secret: browser.auth, label: "", since: Instant(milliseconds: 0))
        let text = Array("When I grow up, I want to be a watermelon".utf8)
        let sender = try #require(try P256Key(raw: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")))
        let sent = try PushEncryption.encrypted(
            text, for: subscription, paddedTo: 1, sender: sender, salt: bytes("DGv6ra1nlYgDCS1FRnbzlw"))
        #expect(
            PushBrowser.text(sent)
                == """
                DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
                """
        )
        #expect(try browser.opened(sent) == text)
    }

    /// The length says nothing of the words, and the longest that may be still fits into what every push service takes.
    @Test(arguments: [0, 1, 511, 512, 513, 2000, PushEncryption.longest]) func theLengthSaysNothing(count: Int) throws {
        let browser = try PushBrowser()
        let subscription = PushSubscription(
            endpoint: "https://p.example/", publicKey: browser.point, secret: browser.auth, label: "",
            since: Instant(milliseconds: 0))
        let text = [UInt8](repeating: 7, count: count)
        let sent = try PushEncryption.encrypted(text, for: subscription)
        #expect(try browser.opened(sent) == text)
        #expect(sent.count <= 4096 && ((sent.count - 86 - 16 - 1) % 512 == 0 || count > 3584))
    }

    @Test func eachBrowserGetsEachOnceAndCanReadIt() async throws {
        let peers = [try await WebPeer(), try await WebPeer()]
        let browsers = [try PushBrowser(), try PushBrowser()]
        let rig = try Rig(person: "anna")
        for index in 0..<2 { try rig.add(browsers[index], at: peers[index]) }
        _ = try Self.desk(rig.store).set([("http.publicUrl", "https://shelf.example/x")])
        rig.start()
        #expect(await rig.sink.canShow())
        let reminder = notice(1, urgency: .critical, sound: false)
        #expect(await rig.tells(reminder))
        #expect(await rig.tells(notice(2, .goal, "Goal reached", "")))
        // Asked again, by whom it does not know that it was told.
        #expect(await rig.tells(reminder))
        let sender = try PushSender.of(rig.store)
        for index in 0..<2 {
            let seen = try await peers[index].seen(2)
            #expect(
                seen.map(\.path) == ["/send/a", "/send/a"]
                    && seen.allSatisfy { $0.method == "POST" && $0.headers["content-encoding"] == "aes128gcm" })
            #expect(
                seen.map { $0.headers["topic"] } == ["hydration-reminder", "hydration-goal-reached"]
                    && seen.map { $0.headers["urgency"] } == ["high", "normal"])
            #expect(seen.allSatisfy { (800...900).contains($0.headers["ttl"].flatMap { Int($0) } ?? 0) })
            let claims = try #require(
                try PushBrowser.claims(seen[0].headers["authorization"] ?? "", key: sender.publicKey))
            #expect(claims["aud"] as? String == peers[index].url && claims["sub"] as? String == "https://shelf.example")
            #expect((claims["exp"] as? Double).map { (0.0...86400).contains($0 - seen[0].at) } == true)
            let told = try browsers[index].json(seen[0])
            #expect(
                told["title"] as? String == reminder.title && told["body"] as? String == reminder.body
                    && told["tag"] as? String == "hydration-reminder")
            #expect(
                told["page"] as? String == "/people/anna/" && told["silent"] as? Bool == true
                    && told["stays"] as? Bool == true)
            let button = try #require((told["buttons"] as? [[String: Any]])?.first)
            #expect(button["action"] as? String == "log-cup" && button["title"] as? String == "Log a cup")
            // Nobody but the browser reads it.
            #expect(throws: (any Error).self) { try browsers[1 - index].opened(seen[0].bytes) }
            #expect(!seen[0].body.contains("Hydration"))
            #expect(
                try Self.desk(rig.store).press(.logCup, withKey: try #require(told["key"] as? String)) == (index == 0),
                "the button acts once, on whichever device")
        }
        await rig.stop()
    }

    /// A push service that is away holds up no other browser, and brings its own when it is back.
    @Test func onePushServiceThatIsAwayHoldsUpNoOther() async throws {
        let (well, away) = (try await WebPeer(), try await WebPeer())
        let browsers = [try PushBrowser(), try PushBrowser()]
        try await away.rule(#"{"status": 503}"#)
        let rig = try Rig()
        try rig.add(browsers[0], at: well)
        try rig.add(browsers[1], at: away, label: "Chrome")
        rig.start()
        #expect(await rig.tells(notice(1)))
        #expect(try await well.seen().count == 1)
        #expect(await rig.says { if case .trouble(let words) = $0 { words.contains("503") } else { false } })
        let tries = try await away.seen().count
        try await away.rule("{}")
        let seen = try await away.seen(tries + 1)
        #expect(try browsers[1].json(try #require(seen.last))["title"] as? String == "Hydration Reminder")
        #expect(await rig.says { $0 == .goesOn })
        #expect(await rig.tells(notice(1)))
        #expect(try await well.seen().count == 1)
        await rig.stop()
    }

    /// An adversary's finding: of what waited while the clock was put right, a phone that was off got nothing, or still
    /// after years.
    @Test(arguments: [86_400, -86_400] as [Double]) func whatIsLeftOfItSaysNoClock(lead: Double) async throws {
        let (peer, browser) = (try await WebPeer(), try PushBrowser())
        try await peer.rule(#"{"status": 503}"#)
        let rig = try Rig()
        try rig.add(browser, at: peer)
        rig.start()
        #expect(await rig.sink.deliver(notice(1)) == false)
        #expect(await rig.says { if case .trouble(let words) = $0 { words.contains("503") } else { false } })
        rig.words.lead.withLock { $0 = lead }
        try await peer.rule("{}")
        #expect(await rig.says { $0 == .goesOn })
        let left = try #require(try await peer.seen().last?.headers["ttl"].flatMap { Int($0) })
        #expect((800...900).contains(left), "\(left)")
        await rig.stop()
    }

    /// A browser that was uninstalled, or whose person took the permission back.
    @Test(arguments: [404, 410]) func aBrowserThatIsGoneIsForgotten(status: Int) async throws {
        let peer = try await WebPeer()
        try await peer.rule(#"{"status": \#(status)}"#)
        let rig = try Rig()
        try rig.add(try PushBrowser(), at: peer)
        rig.start()
        #expect(await rig.sink.deliver(notice(1)) == false)
        #expect(try await event { try rig.store.pushSubscriptions().isEmpty ? true : nil } == true)
        #expect(await rig.says { if case .dropped(let words) = $0 { words.contains("Firefox") } else { false } })
        #expect(await rig.sink.canShow() == false)
        #expect(await rig.sink.deliver(notice(2)) == false)
        #expect(try await peer.seen().count == 1)
        #expect(try rig.store.rowCounts().first { $0.table == "pocket_message" }?.rows == 0)
        await rig.stop()
    }

    static let bad: [(String, String)] = [
        (#"{"status": 500}"#, "500"), (#"{"status": 429, "headers": {"Retry-After": "1"}}"#, "429"),
        (#"{"status": 403}"#, "off and on again"), (#"{"close": true}"#, "broke"),
        (#"{"status": 302, "headers": {"Location": "/login"}}"#, "elsewhere"), (#"{"silent": 60}"#, "did not answer"),
    ]

    @Test(arguments: bad.indices) func aBadPushServiceIsToldOnceAndThenItComesOnce(row: Int) async throws {
        let (rule, word) = Self.bad[row]
        let peer = try await WebPeer()
        try await peer.rule(rule)
        let (rig, browser) = (try Rig(), try PushBrowser())
        try rig.add(browser, at: peer)
        rig.start()
        #expect(await rig.sink.deliver(notice(1)) == false)
        #expect(
            await rig.says { if case .trouble(let words) = $0 { words.contains(word) } else { false } },
            "\(rig.words.said)")
        let tries = try await peer.seen().count
        _ = try await peer.seen(tries + 1)
        try await peer.rule("{}")
        #expect(await rig.says { $0 == .goesOn }, "\(rig.words.said)")
        #expect(rig.words.said.count { if case .trouble = $0 { true } else { false } } == 1, "\(rig.words.said)")
        let count = try await peer.seen().count
        #expect(await rig.tells(notice(1)))
        #expect(try await peer.seen().count == count)
        await rig.stop()
    }

    @Test func aKeyThatIsNoPointIsTakenForNobody() async throws {
        let peer = try await WebPeer()
        let rig = try Rig()
        try rig.store.subscribe(
            PushSubscription(
                endpoint: peer.url, publicKey: [4] + [UInt8](repeating: 1, count: 64),
                secret: [UInt8](repeating: 1, count: 16), label: "Odd", since: Self.desk(rig.store).now), letInBy: nil)
        rig.start()
        #expect(await rig.sink.deliver(notice(1)) == false)
        #expect(await rig.says { if case .dropped(let words) = $0 { words.contains("Odd") } else { false } })
        #expect(try rig.store.pushSubscriptions().isEmpty)
        #expect(try await peer.seen().isEmpty)
        await rig.stop()
    }

    /// Who is let in no more hears no more; the page of this machine, which has no token, goes on.
    @Test func whoseTokenIsRevokedHearsNoMore() async throws {
        let peer = try await WebPeer()
        let rig = try Rig()
        let token = try Self.desk(rig.store).makeToken(label: "phone", scope: .log)
        try rig.add(try PushBrowser(), at: peer, path: "/phone", token: token.token)
        try rig.add(try PushBrowser(), at: peer, path: "/desk")
        rig.start()
        #expect(await rig.tells(notice(1)))
        #expect(Set(try await peer.seen(2).map(\.path)) == ["/phone", "/desk"])
        _ = try Self.desk(rig.store).revokeTokens(nil)
        #expect(await rig.tells(notice(2)))
        #expect(try await peer.seen(3).map(\.path).suffix(1) == ["/desk"])
        #expect(try await peer.seen().count == 3)
        await rig.stop()
    }

    /// What is replaced with each change would pile up, and what is nobody's business stays at home.
    @Test func neitherTheRunningSessionNorWhatIsNotShared() async throws {
        let peer = try await WebPeer()
        for shares in [false, true] {
            let rig = try Rig(shares: shares)
            try rig.add(try PushBrowser(), at: peer, path: "/\(shares)")
            rig.start()
            #expect(await rig.sink.deliver(notice(1, .waterlineLive, session: "s")) == false)
            if shares {
                #expect(await rig.tells(notice(2, .waterlineTime, session: "s")))
            } else {
                #expect(await rig.sink.deliver(notice(2, .waterlineTime, session: "s")) == false)
            }
            await rig.stop()
        }
        #expect(try await peer.seen().map(\.path) == ["/true"])
    }

    /// The key is made once: with another every browser would have to subscribe anew. A purge takes it and the
    /// browsers.
    @Test func theKeyStaysUntilThePurge() throws {
        let store = try TrackerStore(inMemory: "UTC")
        let key = try PushSender.of(store).publicKey
        #expect(try PushSender.of(store).publicKey == key && PushBrowser.bytes(key)?.count == 65)
        #expect(try !store.isUsed())
        let browser = PushSubscription(
            endpoint: "https://p.example/1", publicKey: [4], secret: [], label: "A", since: Instant(milliseconds: 0))
        try store.subscribe(browser, letInBy: nil)
        try store.subscribe(browser, letInBy: nil)
        #expect(try store.pushSubscriptions() == [browser])
        try store.purge()
        #expect(try store.pushSubscriptions().isEmpty && PushSender.of(store).publicKey != key)
    }

    @Test func noMoreBrowsersThanAllowed() throws {
        let store = try TrackerStore(inMemory: "UTC")
        func add(_ number: Int) throws {
            try store.subscribe(
                PushSubscription(
                    endpoint: "https://p.example/\(number)", publicKey: [4], secret: [], label: "A",
                    since: Instant(milliseconds: 0)), letInBy: nil)
        }
        for number in 0..<TrackerStore.pushLimit { try add(number) }
        let refusal = #expect(throws: Refusal.self) { try add(-1) }
        #expect(refusal?.code == "tooManyBrowsers")
        try add(0)
    }
}
