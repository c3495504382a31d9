import DBus
import DBusSupport
import Foundation
import Support
import Testing

/// A day and a night in fast time on all channels: a notification server on a session bus, a broker, the event stream,
/// a webhook, and a phone (ntfy protocol).
@Suite(.timeLimit(.minutes(8))) struct AllChannelsDayTests {
    private struct ReceivedNotification: Hashable, CustomStringConvertible {
        var id, title, body: String

        init(id: String, title: String, body: String) { (self.id, self.title, self.body) = (id, title, body) }

        /// - Parameters:
        ///   - id: the name of the member with the id.
        ///   - body: the name of the member with the body.
        init(_ object: [String: Any], id: String = "id", body: String = "body") {
            let texts = [id, "title", body].map { object[$0] as? String ?? "" }
            self.init(id: texts[0], title: texts[1], body: texts[2])
        }

        var description: String { "\(id): \(title) / \(body)" }
        /// A phone receives no title without a body.
        var shownText: String { [title, body].filter { !$0.isEmpty }.joined(separator: " / ") }
        /// The notification of a running session changes often, and a channel can skip some of the changes.
        var isSessionStatus: Bool { id.hasPrefix("waterline-live") || title == "Session running" }
    }

    /// The start of the day, UTC. The programs see a shifted host clock (`Tests/System/clock_shift.c`).
    private static let startOfDay = 1_781_506_800.0

    private final class Bench: @unchecked Sendable {
        let folder: TemporaryFolder
        let bus: PrivateBus
        let broker: Broker
        let hook: WebPeer
        /// A server with the ntfy protocol.
        let phone: WebPeer
        let port: Int
        let store: String
        private let environment: [String: String]
        private let shift: ClockShift
        private(set) var now = AllChannelsDayTests.startOfDay
        private var counter = 0
        /// All desktop servers in the order of their start.
        private var desktops: [FakeNotificationServer] = []
        private(set) var streams: [RunningProgram] = []
        /// Arguments of curl with an access token.
        private var accessArguments: [String] = []
        private(set) var service: RunningProgram?
        private(set) var agent: RunningProgram?
        let subscriber: RunningProgram
        /// The service has no desktop: an agent shows its notifications.
        let hasAgent: Bool

        init(hasAgent: Bool) async throws {
            self.hasAgent = hasAgent
            folder = try TemporaryFolder()
            (bus, broker, hook, phone, port) = (
                try await PrivateBus(), try await Broker(), try await WebPeer(), try await WebPeer(),
                try Broker.freePort()
            )
            (store, shift) = (folder.file("s.sqlite"), try await ClockShift(in: folder))
            environment = [
                "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "HOME": folder.path, "WATERH_ZONE": "UTC",
            ].merging(
                shift.environment
            ) { $1 }
            subscriber = try await broker.listen("hydration/notify", as: "subscriber")
            let config = """
                link = "unix:\(folder.file("none.sock"))"
                store = "\(store)"
                zone = "UTC"
                share-waterline = true
                public-url = "http://127.0.0.1:\(port)"
                [mqtt]
                url = "\(broker.url)"
                [webhook]
                url = "\(hook.url)/hook"
                [ntfy]
                url = "\(phone.url)/my-water"
                """
            try folder.write(config, to: "waterh.toml")
            try set(AllChannelsDayTests.startOfDay)
            for line in [
                "setup --yes --goal 2000", "settings set waterline.discreet false reminders.backOnTrack true", "token",
            ] { try await tracker(line) }
        }

        private func set(_ time: Double) throws {
            now = time
            try shift.set(seconds: Int64(time - Date().timeIntervalSince1970))
        }

        @discardableResult
        func tracker(_ line: String) async throws -> Program.Result {
            try await Program.tracker.succeed("\(line) --store \(store)", environment: environment)
        }

        func startService() throws {
            service = try Program.gateway.start(
                "run --config \(folder.file("waterh.toml")) --listen 127.0.0.1:\(port)",
                environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": hasAgent ? "" : bus.address]) { $1 })
        }

        func startAgent() throws {
            guard hasAgent else { return }
            agent = try Program.tracker.start(
                "agent --store \(store)",
                environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { $1 })
        }

        func startDesktop() async throws { desktops.append(try await FakeNotificationServer(bus)) }

        /// Starts a client of the event stream, which resumes after the last event id as a browser does.
        func startStream() async throws {
            if accessArguments.isEmpty { accessArguments = try await Pair.signedIn(store) }
            let ids = streams.flatMap { $0.output.components(separatedBy: "\n\n").dropLast() }.flatMap {
                $0.split(separator: "\n")
            }.compactMap { $0.hasPrefix("id: ") ? Int($0.dropFirst(4)) : nil }
            let last = ids.max().map { ["-H", "Last-Event-ID: \($0)"] } ?? []
            let always =
                ["-sN", "--noproxy", "*", "--retry", "1000", "--retry-delay", "1", "--retry-all-errors"]
                + accessArguments
            streams.append(
                try Program.curl.start(
                    always + last + ["http://127.0.0.1:\(port)/api/v1/events?shows=notifications&looks=no"]))
        }

        func isReady() async {
            await service?.says("MQTT: connected", "go to Webhook", "go to ntfy", within: 60)
            await agent?.says("on this desktop", within: 60)
            let isStreaming = await eventually(within: 60) { streams.last?.output.contains("event: state") == true }
            #expect(isStreaming, "\(streams.last?.error ?? "")")
        }

        /// Advances the clock by this number of minutes and wakes sleeping programs by a write to the store. Entries
        /// for the phone get time to be sent first, because they expire after 15 minutes.
        func pass(minutes: Double) async throws {
            let waiting = "SELECT count(*) FROM queued_notification WHERE channel = 'ntfy' AND state = 'waiting'"
            let file = StoreFile(store)
            _ = try await eventually(within: 1) { try file.rows(waiting) == [["0"]] }
            try set(now + minutes * 60)
            counter += 1
            try file.execute("INSERT OR REPLACE INTO counter (name, value) VALUES ('test', \(counter))")
        }

        // MARK: - Received notifications

        func atDesktop() -> [ReceivedNotification] {
            desktops.flatMap { $0.notified.items }.map {
                var body = $0.body
                for (escaped, text) in [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")] {
                    body.replace(escaped, with: text)
                }
                return ReceivedNotification(id: $0.hints["x-waterh-id"]?.text ?? "", title: $0.summary, body: body)
            }.filter { !$0.isSessionStatus }
        }

        /// The notifications that the phone received, with the tag instead of the id. If the service is killed before
        /// it stores the response, it sends a notification again. That one has the same action key and replaces the
        /// first one on the phone.
        func atPhone() throws -> (received: [ReceivedNotification], repeated: Int) {
            var (all, keys, repeated): ([ReceivedNotification], Set<String>, Int) = ([], [], 0)
            for message in try phone.requests().filter({ $0.method == "POST" }).map(\.json) {
                let received = ReceivedNotification(message, id: "sequence_id", body: "message")
                let key = (message["actions"] as? [[String: Any]])?.first?["body"] as? String
                if received.isSessionStatus { continue }
                if key.map({ keys.insert($0).inserted }) ?? (all.last != received) {
                    all.append(received)
                } else {
                    repeated += 1
                }
            }
            return (all, repeated)
        }

        func atBroker() -> [ReceivedNotification] {
            subscriber.payloads(at: "hydration/notify").map {
                ReceivedNotification($0.jsonObject ?? [:], id: "notificationId")
            }
            .filter { !$0.isSessionStatus }
        }

        func inStream() -> [ReceivedNotification] {
            streams.flatMap { $0.output.components(separatedBy: "\n\n") }.filter { $0.contains("event: notify") }.map {
                let data = $0.split(separator: "\n").first { $0.hasPrefix("data:") }?.dropFirst(5) ?? ""
                return ReceivedNotification(data.jsonObject ?? [:])
            }.filter { !$0.isSessionStatus }
        }

        func atHook() throws -> [ReceivedNotification] {
            try hook.requests().map { ReceivedNotification($0.json["data"] as? [String: Any] ?? [:]) }
                .filter { !$0.isSessionStatus }
        }

        func end() async throws {
            for stream in streams { stream.send(signal: SIGKILL) }
            agent?.send(signal: SIGTERM)
            service?.send(signal: SIGTERM)
            if let result = try await service?.finish(limit: 30) { #expect(result.exitCode == 0, "\(result.error)") }
            _ = try await agent?.finish(limit: 30)
        }

        enum Victim: CaseIterable { case desktop, service, agent, broker }

        /// The number of notifications that the desktop had shown at the end of the last step. `halfShown` has the
        /// index range of each step in which the showing process was killed.
        private var shownBefore = 0
        private(set) var halfShown: [Range<Int>] = []

        func endStep() { shownBefore = atDesktop().count }

        func kill(_ victim: Victim) async throws {
            defer {
                let count = atDesktop().count
                if victim == .desktop || victim == .agent, count > shownBefore {
                    halfShown.append(shownBefore..<count)
                }
            }
            switch victim {
            case .desktop: await desktops.last?.stop()
            case .service:
                try await service?.kill()
                try await streams.last?.kill()
            case .agent: try await agent?.kill()
            case .broker: try await broker.stop()
            }
        }

        func restart(_ victim: Victim) async throws {
            switch victim {
            case .desktop: try await startDesktop()
            case .service:
                try startService()
                try await startStream()
            case .agent: try startAgent()
            case .broker: try await broker.start()
            }
        }

        // MARK: - Notifications in the store

        /// The delivered notifications in order of delivery, as the store lists them, with the reason why one was not
        /// shown on the desktop.
        func delivered() throws -> [(id: String, isOnDesktop: Bool, reason: String?)] {
            try StoreFile(store).rows(
                """
                SELECT id, ',' || sinks || ',' LIKE '%,desktop,%', replace(coalesce(missed, ''), 'desktop=', '')
                FROM notification WHERE kind <> 'waterlineLive' ORDER BY position
                """
            ).map {
                (id: $0[0], isOnDesktop: $0[1] == "1", reason: $0[2].isEmpty ? nil : $0[2])
            }
        }
    }

    /// The actions of the day, keyed by minutes after 07:00.
    private static let script: [Int: String] = [
        15: "log 150", 330: "log 300", 345: "log 500", 360: "log 400", 480: "log 250", 660: "log 400",
        810: "session start", 815: "drink", 850: "drink", 900: "water", 960: "drink", 965: "drink", 970: "drink",
        1010: "water", 1050: "session end --yes",
    ]

    /// All channels receive the same notifications in the same order, once each. When processes are killed, a channel
    /// that is down receives the notifications later as all others did. Only the desktop skips those that no longer
    /// apply. The store has the reason for each one that was not shown, and the events of the day confirm it.
    @Test(arguments: [false, true]) func `all notification channels receive the same notifications during a day`(
        isKilling: Bool
    ) async throws {
        let seed = UInt64(ProcessInfo.processInfo.environment["DAY_SEED"] ?? "") ?? UInt64.random(in: 0...UInt64.max)
        if isKilling { print("DAY_SEED=\(seed)") }
        var random = SeededGenerator(seed: seed)
        let bench = try await Bench(hasAgent: isKilling)
        try await bench.startDesktop()
        try bench.startService()
        try await bench.startStream()
        try bench.startAgent()
        await bench.isReady()
        var (killed, downUntil): ([String: Int], [Bench.Victim: Int]) = ([:], [:])
        for minute in stride(from: 0, through: 1080, by: 5) {
            if let line = Self.script[minute] { try await bench.tracker(line) }
            try await bench.pass(minutes: 5)
            for (victim, until) in downUntil where until <= minute {
                downUntil[victim] = nil
                try await bench.restart(victim)
            }
            if isKilling, Int.random(in: 0..<6, using: &random) == 0,
                let victim = Bench.Victim.allCases.randomElement(using: &random), downUntil[victim] == nil
            {
                killed["\(victim)", default: 0] += 1
                try await bench.kill(victim)
                // Notifications for the phone expire after 15 minutes: the service that sends them restarts at once.
                let until = victim == .service ? minute : minute + 5 * Int.random(in: 0...12, using: &random)
                if until == minute { try await bench.restart(victim) } else { downUntil[victim] = until }
            }
            bench.endStep()
            try await Task.sleep(for: .milliseconds(isKilling ? 200 : 100))
        }
        for victim in downUntil.keys { try await bench.restart(victim) }
        if isKilling {
            await bench.isReady()
            // Deliveries of a killed service finish after its claim has expired.
            for _ in 0..<3 { try await bench.pass(minutes: 2) }
        }
        let isDone = try await eventually(within: 90) {
            let (delivered, hook) = (try bench.delivered(), unique(try bench.atHook()))
            let phone = try bench.atPhone().received
            return hook.map(\.id) == delivered.map(\.id) && unique(bench.atBroker()) == hook
                && bench.inStream() == hook && phone.map(\.shownText) == hook.map(\.shownText)
                && delivered.allSatisfy { $0.isOnDesktop || $0.reason != nil }
        }
        #expect(isDone, "seed \(seed), killed \(killed)")
        let (delivered, hook) = (try bench.delivered(), unique(try bench.atHook()))
        let (broker, stream, desktop) = (unique(bench.atBroker()), bench.inStream(), bench.atDesktop())
        let (phone, repeated) = try bench.atPhone()
        #expect(hook.map(\.id) == delivered.map(\.id), "the webhook and the store's record: \(hook) \(delivered)")
        #expect(broker == hook, "the broker received \(broker), expected \(hook)")
        #expect(stream == hook, "the event stream sent \(stream), expected \(hook)")
        #expect(phone.map(\.shownText) == hook.map(\.shownText), "the phone")
        #expect(zip(phone, hook).allSatisfy { $1.id.hasPrefix($0.id + "/") }, "the ids on the phone")

        let onDesktop = Set(delivered.filter(\.isOnDesktop).map(\.id))
        let due = hook.filter { onDesktop.contains($0.id) }
        // A desktop or an agent that is killed before its response shows a notification again, or one that no longer
        // applies afterwards.
        var (extra, rest) = ([ReceivedNotification](), desktop[...])
        for notification in due {
            let index = try #require(rest.firstIndex(of: notification), "not shown: \(notification), but \(desktop)")
            extra += rest[..<index]
            rest = rest[(index + 1)...]
        }
        extra += rest
        let halfShown = bench.halfShown.flatMap { desktop[$0] }
        #expect(extra.allSatisfy(halfShown.contains), "shown \(extra), of these at a kill \(halfShown)")
        if !isKilling {
            #expect(desktop == hook && repeated == 0, "the desktop or the phone")
            #expect(try bench.atHook() == hook && bench.atBroker() == hook, "once each")
            for kind in [
                "hydration-reminder", "hydration-back-on-track", "hydration-goal-reached", "waterline-per-drink",
                "waterline-time",
            ] { #expect(hook.contains { $0.id.hasPrefix(kind) }, "no \(kind)") }
            #expect(
                hook.contains { $0.body.contains("falling behind") || $0.body.contains("catch up") },
                "amber, red and catching up")
        }
        try await bench.end()
    }

    /// Removes repetitions of at-least-once delivery by their id.
    private func unique(_ received: [ReceivedNotification]) -> [ReceivedNotification] {
        var seen: Set<String> = []
        return received.filter { seen.insert($0.id).inserted }
    }
}
