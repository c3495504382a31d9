import Foundation
import WebServer
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

/// The nineteen checks of tracker spec B9, on a service over HTTP with a clock that the test sets. Checks that need a
/// browser or a program have tests of their own, which the specification's page of checks lists.
@Suite struct NineteenChecksTests {
    struct Check: Sendable, CustomTestStringConvertible {
        let number: Int
        let asks: String
        let show: @Sendable (CheckedDay) async throws -> Void

        init(_ number: Int, _ asks: String, _ show: @escaping @Sendable (CheckedDay) async throws -> Void) {
            (self.number, self.asks, self.show) = (number, asks, show)
        }

        var testDescription: String { "B9-\(number < 10 ? "0" : "")\(number): \(asks)" }
    }

    static let checks = pace + surfaces + notifications + thresholds

    @Test func `the checks have the numbers 1 to 19 of tracker spec B9`() {
        #expect(Self.checks.map(\.number).sorted() == Array(1...19))
    }

    @Test(arguments: checks) func check(_ check: Check) async throws { try await check.show(CheckedDay()) }

    private static let pace = [
        Check(1, "14:00 with nothing drunk is 1167 ml behind, and overdue") { day in
            try day.set("14:00")
            let client = try await day.serve()
            let state = try await client.state()
            #expect(
                state["deficitMl"] as? Int == 1167 && state["urgency"] as? Int == 2
                    && state["expectedMl"] as? Int == 1167)
        },
        Check(2, "behind, every surface shows the rounded amount") { day in
            try day.set("14:00")
            let client = try await day.serve()
            try await client.drink(800)
            let state = try await client.state()
            #expect(state["deficitMl"] as? Int == 367)
            #expect(
                state["statusText"] as? String == "350ml to catch up"
                    && state["behindText"] as? String == "350 ml behind target")
            let event = try await EventStream(client.server).events { $0.kind == "state" }.last
            #expect(event?.json["statusText"] as? String == "350ml to catch up")
            let sink = MemorySink()
            try await client.deliver(sink)
            #expect(sink.delivered.map(\.body) == ["Time to hydrate! You're 350ml behind pace."])
        },
        Check(3, "who drinks what is missing is on track at once") { day in
            try day.set("14:00")
            let client = try await day.serve()
            try await client.drink(800)
            let answer = try await client.drink(367)
            #expect(answer["statusText"] as? String == "On track ✓" && answer["urgency"] as? Int == 0)
            #expect(try await client.text("statusText") == "On track ✓")
        },
        Check(4, "no reminder is sent at 23:00") { day in
            try day.set("23:00")
            let client = try await day.serve()
            #expect(try await client.state()["urgency"] as? Int == 2)
            #expect(try await client.deliver(MemorySink()).isEmpty)
        },
        Check(5, "after eight reminders the ninth is held back") { day in
            try day.set("05:00")
            let client = try await day.serve()
            try await client.set("hydration.goalMl", "5000")
            let sink = MemorySink()
            for hour in [7, 10, 13, 16] {
                for time in ["\(padded(hour)):09", "\(padded(hour + 3)):00"] {
                    try day.set(time)
                    try await client.deliver(sink)
                }
                try await client.drink(1000)
            }
            #expect(sink.delivered.count == 8)
            try day.set("19:09")
            #expect(try await client.deliver(sink).isEmpty)
            #expect(try await client.state()["urgency"] as? Int == 1)
            try await client.set("reminders.dailyLimit", "false")
            #expect(try await client.deliver(sink).count == 1)
        },
        Check(6, "the goal reached says so and closes the reminder that is shown") { day in
            try day.set("14:00")
            let client = try await day.serve()
            let sink = MemorySink()
            try await client.deliver(sink)
            #expect(Array(sink.shown.keys) == ["hydration-reminder"])
            try await client.drink(2500)
            try await client.deliver(sink)
            #expect(Array(sink.shown.keys) == ["hydration-goal-reached"])
            for key in ["statusText", "headline"] { #expect(try await client.text(key) == "Goal reached! 🎉") }
        },
    ]

    private static let surfaces = [
        Check(7, "the small picture changes its colour with urgency") { day in
            let client = try await day.serve()
            for (time, colour) in [("07:00", "#42A5F5"), ("08:00", "#FFB300"), ("14:00", "#E53935")] {
                try day.set(time)
                let drop = try await client.picture("circular.svg").firstMatch(of: /<path [^>]*fill="(#[0-9A-F]{6})"/)?
                    .1
                #expect(drop.map(String.init) == colour, "\(time)")
            }
        },
        Check(8, "the second screen's page is there, and its drop's colour, litres, words and age are in the state") {
            day in
            try day.set("13:00")
            let client = try await day.serve()
            try await client.drink(800)
            try day.set("14:00")
            let page = try await client.server.ask("GET", "/watch")
            #expect(page.status == 200 && page.headers["content-type"]?.hasPrefix("text/html") == true)
            let state = try await client.state()
            #expect(state["displayUrgency"] as? Int == 1 && state["litresText"] as? String == "0.8L / 2.5L")
            #expect(
                state["statusText"] as? String == "350ml to catch up" && state["lastDrinkAge"] as? String == "1 h ago")
        },
        Check(9, "a record that arrives is at a listening client within two seconds") { day in
            let client = try await day.serve()
            let stream = try EventStream(client.server, "fields=dailyTotalMl")
            _ = try await stream.events { $0.kind == "state" }
            for (number, time) in ["10:00", "10:30", "11:00"].enumerated() {
                let start = ContinuousClock.now
                try client.bottleDrink(time, 250)
                _ = try await stream.events { $0.json["dailyTotalMl"] as? Int == 250 * (number + 1) }
                let took = ContinuousClock.now - start
                #expect(try await took < client.shortly())
            }
        },
        Check(10, "a new client gets the whole state first") { day in
            let client = try await day.serve()
            try await client.drink(330)
            let first = try #require(try await EventStream(client.server).events { _ in true }.first)
            #expect(first.kind == "state" && first.json["dailyTotalMl"] as? Int == 330)
            #expect(try await Set(first.json.keys) == Set(client.state().keys))
        },
        Check(11, "two minutes without input raise the deficit by five or six, unasked") { day in
            try day.set("14:00")
            let client = try await day.serve()
            let stream = try EventStream(client.server, "fields=deficitMl")
            _ = try await stream.events { $0.json["deficitMl"] as? Int == 1167 }
            for (time, deficit) in [("14:02", 1172), ("14:04", 1178), ("14:06", 1183), ("14:08", 1189)] {
                try day.set(time)
                let events = try await stream.events { $0.json["deficitMl"] as? Int == deficit }
                #expect(events.allSatisfy { $0.kind == "state" })
            }
        },
        Check(12, "without a service a check tells what is due, once") { day in
            try day.set("12:00")
            let first = try await day.serve()
            try await first.drink(100)
            await first.server.stop()
            let sink = MemorySink()
            for time in ["12:00", "12:15", "12:30"] {
                try day.set(time)
                try await day.tracker().deliver([sink])
            }
            #expect(sink.delivered.map(\.notificationId) == ["hydration-reminder/2026-06-15/1"])
            // The restarted service has it.
            let client = try await day.serve()
            #expect(try await client.deliver(sink).isEmpty)
            #expect(try await client.state()["remindersSent"] as? Int == 1)
        },
    ]

    private static let notifications = [
        Check(13, "crossing the goal notifies with the goal's texts") { day in
            let client = try await day.serve()
            let sink = MemorySink()
            try await client.drink(2499)
            try await client.deliver(sink)
            #expect(!sink.delivered.contains { $0.kind == .goal })
            try await client.drink(1)
            let sent = try await client.deliver(sink)
            #expect(
                sent.map(\.title) == ["Goal Reached! 💧"]
                    && sent.map(\.body) == ["Good job! You've hit your daily hydration goal."])
        },
        Check(14, "further drinks do not repeat it that day, also after a restart") { day in
            let sink = MemorySink()
            for round in 0..<3 {
                let client = try await day.serve()
                try await client.drink(2500)
                try await client.deliver(sink)
                try await client.drink(250)
                try await client.deliver(sink)
                await client.server.stop()
                #expect(sink.delivered.map(\.kind) == [.goal], "round \(round)")
            }
        },
        Check(15, "one decision reaches every sink, with a page open") { day in
            let client = try await day.serve()
            let page = try EventStream(client.server, "shows=notifications")
            _ = try await page.events { $0.kind == "state" }
            let (desktop, broker) = (NamedSink("desktop"), NamedSink("mqtt"))
            let sent = try await client.deliver(desktop, broker)
            #expect(sent.count == 1 && desktop.given == sent && broker.given == sent)
            #expect(
                try await page.events { $0.kind == "notify" }.last?.json["id"] as? String == sent.first?.notificationId)
            #expect(try client.server.store.notifications().map { Set($0.sinks) } == [["desktop", "mqtt", "events"]])
            #expect(try await client.state()["remindersSent"] as? Int == 1)
        },
        Check(16, "an event asks the device to vibrate") { day in
            let client = try await day.serve()
            let page = try EventStream(client.server, "shows=notifications")
            _ = try await page.events { $0.kind == "state" }
            try await client.deliver()
            #expect(try await page.events { $0.kind == "notify" }.last?.json["haptic"] as? String == "notification")
        },
    ]

    /// At 10:00 500 ml are expected.
    private static let thresholds = [
        Check(17, "a raw 73 shows 50ml") { day in try await day.expects(deficit: 73, text: "50ml to catch up") },
        Check(18, "a raw 24 is on track, a raw 25 shows 50ml") { day in
            try await day.expects(deficit: 24, text: "On track ✓")
            try await CheckedDay().expects(deficit: 25, text: "50ml to catch up")
        },
        Check(19, "a raw 49 does not remind, a raw 50 does") { day in
            try await day.expects(deficit: 49, text: "50ml to catch up", reminders: 0)
            try await CheckedDay().expects(deficit: 50, text: "50ml to catch up", reminders: 1)
        },
    ]

    private static func padded(_ hour: Int) -> String { "\(hour < 10 ? "0" : "")\(hour)" }
}

extension CheckedDay {
    /// The deficit at 10:00 with this text and, if given, this number of reminders.
    fileprivate func expects(deficit: Int, text: String, reminders: Int? = nil) async throws {
        try set("10:00")
        let client = try await serve()
        try await client.drink(500 - deficit)
        let state = try await client.state()
        #expect(state["deficitMl"] as? Int == deficit && state["statusText"] as? String == text)
        guard let reminders else { return }
        #expect(try await client.deliver(MemorySink()).count == reminders)
    }
}

/// A sink with a name of its own that accepts everything.
final class NamedSink: NotificationSink {
    let name: String
    private let heard = Mutex<[TrackerNotification]>([])

    init(_ name: String) { self.name = name }

    var given: [TrackerNotification] { heard.withLock { $0 } }

    func deliver(_ notification: TrackerNotification) async -> Bool {
        heard.withLock { $0.append(notification) }
        return true
    }
}
