import Foundation
import GRDB
import Support
import Testing
import TrackerCore

@testable import Store

/// Deliveries have one order and keep their text, for channels that were down and after a killed process.
@Suite final class DeliveredTests: StoreFixture {
    /// One check of a process with these channels.
    @discardableResult
    private func deliver(_ store: TrackerStore, _ wall: String, by names: [String] = ["desktop"]) throws
        -> [TrackerNotification]
    {
        let context = try berlin(wall)
        let delivery = try store.beginDelivery(context)
        for group in delivery.groups { try store.finish(group, of: delivery, acceptedBy: names, context) }
        return delivery.groups.map(\.shown)
    }

    @Test func `delivered notifications keep their order and text`() throws {
        let through = try store.lastProcessed("mqtt")
        let first = try deliver(store, "08:00")
        let second = try deliver(store, "11:00")
        let delivered = try store.deliveries(after: through)
        #expect(delivered.map(\.decision) == first + second && delivered.map(\.channels) == [["desktop"], ["desktop"]])
        #expect(
            delivered.map(\.position) == delivered.map(\.position).sorted() && Set(delivered.map(\.position)).count == 2
        )
        #expect(try delivered.map(\.decision.decidedAt) == [berlin("08:00").now, berlin("11:00").now])
        #expect(
            try store.deliveries(after: delivered[0].position).map(\.decision) == second
                && store.lastProcessed("later") == delivered[1].position,
            "a new channel starts with the next notification"
        )
        try store.recordProcessed([delivered[0]], "mqtt", through: delivered[0].position)
        try store.recordProcessed(
            [delivered[1]], "mqtt", missed: [delivered[1].position: .replaced], through: delivered[1].position)
        #expect(try store.lastProcessed("mqtt") == delivered[1].position)
        let list = try store.notifications()
        #expect(
            list.map(\.channels) == [["desktop"], ["desktop", "mqtt"]]
                && list.map(\.missed) == [["mqtt": "replaced"], [:]])
    }

    /// The clock is set back, and the position is in use: the order is that of delivery.
    @Test func `a clock set back does not change the order`() throws {
        try deliver(store, "12:00")
        _ = try store.logDrink(ml: 2000, berlin("08:00"))
        _ = try store.logDrink(ml: 600, berlin("08:00"))
        try deliver(store, "08:01")
        #expect(try store.deliveries(after: 0).map(\.decision.kind) == [.pace, .goal])
    }

    /// The process is killed after one sink has shown the notification. Hours later it keeps its id and text, precedes
    /// new ones, and counts.
    @Test func `the delivery of a killed process is completed with the same text`() throws {
        let begun = try store.beginDelivery(berlin("08:00")).groups.map(\.shown)
        #expect(begun.map(\.body) == ["Time to hydrate! You're 150ml behind pace."])
        _ = try store.logDrink(ml: 200, berlin("08:01"))
        #expect(try store.beginDelivery(berlin("08:00")).groups.isEmpty, "the claim has not expired")
        #expect(try deliver(store, "14:00", by: []) == begun, "counted, because the killed process might have shown it")
        let red = try deliver(store, "14:00")
        #expect(
            red.map(\.urgency) == [.critical] && red.map(\.notificationId) == ["hydration-reminder/2026-06-15/2"],
            "each notification has its own id")
        #expect(try store.deliveries(after: 0).map(\.decision) == begun + red)
        #expect(try store.preview(berlin("14:01")).snapshot.remindersSent == 2)
    }

    /// The notification of a running session is a state, so only the last one is kept.
    @Test func `only the last resident notification of a session is kept`() throws {
        _ = try store.startSession(berlin("20:00"))
        try store.changeSettings([("waterline.discreet", "false"), ("reminders.enabled", "false")], berlin("20:00"))
        for minute in 1...3 {
            try deliver(store, "20:0\(minute)")
            _ = try store.addLog(.water(oz: 8), berlin("20:0\(minute)"))
        }
        #expect(
            try store.deliveries(after: 0).filter { $0.decision.kind == .waterlineLive }.map(\.decision.body).count == 1
        )
        #expect(try store.notifications().count == 3)
    }

    /// Deliveries in a backup are not sent to channels that were down, and unfinished ones are not finished.
    @Test func `a restore sends no notifications to absent channels`() throws {
        let folder = try TemporaryFolder()
        let other = try TrackerStore(path: folder.file("other.sqlite"), hostZone: "UTC")
        let first = try deliver(other, "08:00")
        _ = try other.beginDelivery(berlin("11:00"))
        try other.backUp(to: folder.file("backup.sqlite"))
        #expect(try store.lastProcessed("mqtt") == 0 && !store.hasRowsToReplace())
        try store.restore(from: folder.file("backup.sqlite"), scratch: folder.path)
        #expect(
            try store.lastProcessed("mqtt") == first[0].position && store.deliveries(after: 0).map(\.decision) == first)
        let next = try deliver(store, "14:00")
        #expect(
            try next.map(\.decidedAt) == [berlin("14:00").now]
                && store.deliveries(after: store.lastProcessed("mqtt")).map(\.decision) == next)
    }

    /// The list is full of entries with later times. The next delivery must not be removed as the oldest.
    @Test func `a new notification is kept although stored ones have later times`() throws {
        let through = try store.lastProcessed("mqtt")
        let later = try #require(Instant(iso: "2031-06-15T08:00:00Z")).milliseconds
        try store.database.write { db in
            for number in 0..<Int64(NotificationTable.limit) {
                try db.execute(
                    sql:
                        "INSERT INTO notification (id, kind, sentAt, sinks, position) VALUES (?, 'goal', ?, 'a', ?)",
                    arguments: ["g/\(number)", later + number, later + number])
            }
        }
        let delivered = try deliver(store, "08:00")
        #expect(try delivered.count == 1 && store.deliveries(after: through).map(\.decision) == delivered)
        #expect(
            try store.notifications(limit: 2000).count == NotificationTable.limit
                && store.deliveryPositions().lastDeleted == later)
    }

    @Test func `the position of the last deleted notification is stored`() throws {
        let first = try deliver(store, "08:00")
        #expect(try store.deliveryPositions().lastDeleted == 0)
        try store.database.write { db in
            for number in 0..<NotificationTable.limit {
                try db.execute(
                    sql: "INSERT INTO notification (id, kind, sentAt, sinks) VALUES (?, 'goal', ?, 'desktop')",
                    arguments: ["g/\(number)", first[0].position + 1])
            }
        }
        try deliver(store, "11:00")
        #expect(try store.deliveryPositions().lastDeleted == first[0].position && store.deliveries(after: 0).count == 1)
        try store.purge()
        #expect(try store.deliveries(after: 0).isEmpty && store.deliveryPositions() == (0, 0, 0))
    }
}
