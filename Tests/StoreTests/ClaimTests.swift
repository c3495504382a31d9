import Foundation
import Support
import Testing
import TrackerCore
import TrackerSupport

@testable import Store

/// Tracker spec B7, B8: the process with the claim is the only sender of a notification.
@Suite final class ClaimTests: StoreFixture {
    private func explicit(_ wall: String) throws -> WriteContext {
        var context = try berlin(wall)
        context.isExplicit = true
        return context
    }

    @Test func `two concurrent checks send one reminder`() throws {
        let (first, second) = (try TrackerStore(path: scratch.store), try TrackerStore(path: scratch.store))
        let noon = try berlin("12:00")
        let delivery = try first.beginDelivery(noon)
        #expect(delivery.groups.count == 1)
        #expect(try second.beginDelivery(noon).groups.isEmpty, "the other process has claimed it")
        try first.finish(delivery.groups[0], of: delivery, acceptedBy: ["terminal"], noon)
        #expect(try second.beginDelivery(noon).groups.isEmpty, "decided")
        #expect(try second.preview(noon).snapshot.remindersSent == 1)
        #expect(try second.notifications().count == 1)
    }

    /// A process is killed between claim and delivery: after the lease the same id is delivered again and counted once.
    @Test func `the claim of a killed process expires`() throws {
        let killed = try store.beginDelivery(berlin("12:00"))
        #expect(try store.beginDelivery(berlin("12:00")).groups.isEmpty)
        let later = try berlin("12:01")
        let again = try store.beginDelivery(later)
        #expect(again.groups.map(\.shown.notificationId) == killed.groups.map(\.shown.notificationId))
        try store.finish(again.groups[0], of: again, acceptedBy: ["terminal"], later)
        // The first process was only slow: its delivery is not counted a second time.
        try store.finish(killed.groups[0], of: killed, acceptedBy: ["terminal"], later)
        #expect(try store.preview(later).snapshot.remindersSent == 1)
    }

    /// Each delivery renews the claim. A notification that another process claimed is not shown.
    @Test func `a claim is renewed during a delivery`() throws {
        let slow = try store.beginDelivery(berlin("12:00"))
        let group = try #require(slow.groups.first)
        let second = try #require(Instant(iso: "2026-06-15T12:00:50+02:00"))
        #expect(try store.renewClaims(group, of: slow, at: second))
        #expect(try store.beginDelivery(berlin("12:01")).groups.isEmpty, "ten seconds after it was held")
        #expect(try store.beginDelivery(berlin("12:02")).groups.count == 1)
        #expect(try !store.renewClaims(group, of: slow, at: second), "another process has claimed the notification")
    }

    @Test func `a claim made with a wrong clock does not block other processes`() throws {
        _ = try store.beginDelivery(berlin("20:00"))
        #expect(try store.beginDelivery(berlin("12:00")).groups.count == 1)
    }

    @Test func `accepting a notification keeps concurrent changes`() throws {
        let noon = try berlin("12:00")
        let delivery = try store.beginDelivery(noon)
        _ = try store.logDrink(ml: 2000, noon)
        _ = try store.logDrink(ml: 600, noon)
        #expect(try store.beginDelivery(noon).groups.isEmpty, "one delivery is in progress at a time")
        try store.finish(delivery.groups[0], of: delivery, acceptedBy: ["terminal"], noon)
        let other = try store.beginDelivery(noon)
        #expect(other.groups.map(\.shown.kind) == [.goal])
        try store.finish(other.groups[0], of: other, acceptedBy: ["terminal"], noon)
        #expect(try store.beginDelivery(berlin("12:30")).groups.isEmpty, "the goal is not decided again")
    }

    /// With `discreet`, the per-drink reminder and the warning have the same text. Both are shown as one notification.
    @Test func `decisions with the same text are shown as one notification`() throws {
        let night = try berlin("23:00")
        _ = try store.startSession(night)
        for _ in 0..<2 { _ = try store.addLog(.drink(), night) }
        let sink = MemorySink()
        let evaluation = try store.evaluate(night, sinks: [sink])
        #expect(evaluation.decisions.map(\.kind) == [.waterlinePerDrink, .waterlineWarning, .waterlineLive])
        #expect(sink.delivered.map(\.kind) == [.waterlineWarning, .waterlineLive])
        #expect(try store.evaluate(night, sinks: [sink]).decisions.isEmpty, "both notifications count as shown")
        try store.changeSettings([("waterline.discreet", "false")], night)
        _ = try store.addLog(.water(oz: 8), night)
        for _ in 0..<2 { _ = try store.addLog(.drink(), night) }
        let otherSink = MemorySink()
        _ = try store.evaluate(night, sinks: [otherSink])
        #expect(
            otherSink.delivered.map(\.kind).prefix(2) == [.waterlinePerDrink, .waterlineWarning],
            "different texts are two notifications")
    }

    /// E4: the grid restarts at the change, independently of the next evaluation.
    @Test func `a new interval restarts the time grid`() throws {
        _ = try store.startSession(berlin("21:00"))
        try store.changeSettings([("waterline.intervalMinutes", "30")], berlin("21:07"))
        func next(_ wall: String) throws -> Double? {
            try store.preview(berlin(wall)).snapshot.waterline?.nextReminderSeconds
        }
        #expect(try next("21:20") == 17 * 60, "21:37, not 21:50")
        try store.changeSettings([("waterline.discreet", "false")], berlin("21:25"))
        #expect(try next("21:30") == 7 * 60, "a change of another setting does not move the reminder")
    }

    /// D3: the days before a change keep their goal, with and without drinks. The first setup applies to all days.
    @Test func `a new goal does not change earlier days`() throws {
        func goals(_ store: TrackerStore) throws -> [Int] {
            let days = (10...16).compactMap { LocalDay("2026-06-\($0)") }
            let history = try store.history(from: days[0], through: days[6])
            return days.map { history[$0].goalMl }
        }
        try store.changeSettings([("hydration.goalMl", "3000")], berlin("12:00"))
        #expect(try goals(store) == [2500, 2500, 2500, 2500, 2500, 3000, 3000])
        let fresh = try TrackerStore(inMemory: nil)
        try fresh.changeSettings([("hydration.goalMl", "3000")], isFirstChoice: true, berlin("12:00"))
        #expect(try goals(fresh) == Array(repeating: 3000, count: 7))
        let used = try TrackerStore(inMemory: nil)
        _ = try used.logDrink(ml: 100, at: Instant(iso: "2026-06-13T12:00:00Z"), berlin("12:00"))
        try used.changeSettings([("hydration.goalMl", "3000")], isFirstChoice: true, berlin("12:00"))
        #expect(try goals(used) == [2500, 2500, 2500, 2500, 2500, 3000, 3000])
    }

    @Test func `later drinks do not count with --now in the past`() throws {
        _ = try store.logDrink(ml: 250, berlin("10:00"))
        _ = try store.logDrink(ml: 300, berlin("14:00"))
        func total(_ wall: String) throws -> Int { try store.preview(explicit(wall)).snapshot.pace.dailyTotalMl }
        #expect(try total("09:00") == 0 && total("12:00") == 250 && total("14:00") == 550)
        var early = try sip("2026-06-15T15:30:00", 50, offset: "+02:00", zone: "Europe/Berlin")
        early.received = try berlin("15:00").now
        _ = try store.append([early])
        #expect(try total("15:00") == 600 && total("14:30") == 550)
        _ = try store.startSession(berlin("20:00"))
        #expect(try store.preview(explicit("19:00")).snapshot.waterline == nil)
        let day = try #require(LocalDay("2026-06-15"))
        func known(_ wall: String) throws -> [Int] {
            let then = try explicit(wall).explicitNow
            return [
                try store.drinks(on: day, knownAt: then).reduce(0) { $0 + $1.ml },
                try store.totals(from: day, through: day, knownAt: then).first?.totalMl ?? 0,
                try store.history(from: day, through: day, knownAt: then)[day].totalMl,
            ]
        }
        for (wall, ml) in [("09:00", 0), ("12:00", 250), ("14:30", 550), ("15:00", 600)] {
            #expect(try known(wall) == [ml, ml, ml], "at \(wall)")
        }
        try store.changeSettings([("hydration.goalMl", "500")], isFirstChoice: true, berlin("16:00"))
        #expect(
            try store.streak(today: day, knownAt: explicit("12:00").explicitNow) == 0
                && store.streak(today: day, knownAt: explicit("14:00").explicitNow) == 1)
    }

    @Test func `a clock set back removes no drink`() throws {
        _ = try store.logDrink(ml: 1800, berlin("17:00"))
        _ = try store.startSession(berlin("17:30"))
        let before = try store.preview(berlin("16:00")).snapshot
        #expect(before.pace.dailyTotalMl == 1800 && before.waterline?.elapsedSeconds == 0)
        let delivery = try store.beginDelivery(berlin("16:00"))
        #expect(
            delivery.groups.allSatisfy { $0.shown.kind == .waterlineLive },
            "1800 ml is more than is due at four: \(delivery.groups)")
        #expect(try store.preview(explicit("16:00")).snapshot.pace.dailyTotalMl == 0)
    }
}
