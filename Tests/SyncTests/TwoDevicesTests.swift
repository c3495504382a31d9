import Foundation
import Store
import Support
import Testing
import TrackerCore

/// Two devices change one session: the later change wins, and the day follows its entries.
@Suite struct TwoDevicesTests {
    let store: TrackerStore
    let session: String

    init() throws {
        store = try TrackerStore(inMemory: nil)
        try store.changeSettings(
            [("sync.url", "http://127.0.0.1:9"), ("hydration.countSessionWater", "true")], context(1000))
        session = try store.startSession(context(1000)).session.id
    }

    /// Applies the other device's row of an entry; returns the number of accepted rows.
    private func receive(_ id: String, _ fields: String, at milliseconds: Int, on seconds: Int64) throws -> Int {
        let json = """
            [{"id": "\(id)", "sessionId": "\(session)", "timestamp": 1001000, "source": "phone", "updatedAt": \
            \(milliseconds), "deviceId": "~phone", \(fields)}]
            """
        return try store.merge(.logEntry, json: json, context(seconds)).applied
    }

    private func counted() throws -> [Int] { try store.allDrinks().map(\.ml) }

    @Test func `session water follows its entry when another device changes it`() throws {
        let id = try store.addLog(.water(oz: 12), context(1001)).id
        #expect(try counted() == [355])
        #expect(try receive(id, #""type": "water", "amountOz": 8, "deleted": 0"#, at: 1_002_000, on: 1003) == 1)
        #expect(try counted() == [237])
        #expect(try receive(id, #""type": "water", "amountOz": 8, "deleted": 1"#, at: 1_004_000, on: 1005) == 1)
        #expect(try counted() == [])
        #expect(try receive(id, #""type": "water", "amountOz": 16, "deleted": 0"#, at: 1_006_000, on: 1007) == 1)
        #expect(try counted() == [473])
    }

    @Test func `water of another device counts if session water is counted`() throws {
        #expect(try receive("theirs", #""type": "water", "amountOz": 8, "deleted": 0"#, at: 1_002_000, on: 1003) == 1)
        #expect(try receive("gone", #""type": "water", "amountOz": 8, "deleted": 1"#, at: 1_002_000, on: 1003) == 1)
        #expect(
            try receive(
                "beer", #""type": "alcohol", "standardDrinkEstimate": 1, "deleted": 0"#, at: 1_002_000, on: 1003) == 1)
        #expect(try counted() == [237])
        #expect(try receive("theirs", #""type": "water", "amountOz": 8, "deleted": 0"#, at: 1_002_000, on: 1004) == 0)
        #expect(try counted() == [237])
    }

    /// A change must not be undone by the next sync because of a clock that was ahead earlier, here or on the other
    /// device.
    @Test(arguments: ["delete", "edit"])
    func `a later change wins although another clock is ahead`(change: String) throws {
        let id = try store.addLog(.drink(estimate: 1), context(1001)).id
        let remote = #""type": "alcohol", "standardDrinkEstimate": 2, "deleted": 0"#
        #expect(try receive(id, remote, at: 4_600_000, on: 1003) == 1)
        switch change {
        case "delete": try store.deleteLog(id, context(1004))
        default: _ = try store.editLog(id, estimate: 0.5, context(1004))
        }
        func estimates() throws -> [Double?] {
            try #require(try store.activeSession(at: Instant(seconds: 1010))).logs.map(\.standardDrinkEstimate)
        }
        let after = try estimates()
        #expect(after == (change == "edit" ? [0.5] : []))
        #expect(try receive(id, remote, at: 4_600_000, on: 1005) == 0, "the server's row is already known")
        #expect(try estimates() == after)
        let payload = try #require(try store.outbox().items.last { $0.entity.id == id }).payload
        #expect(payload.contains(#""updatedAt":4600001"#), "\(payload)")
    }

    @Test func `undo is rejected after another device changed the entry`() throws {
        let id = try store.addLog(.drink(estimate: 1), context(1001)).id
        let remote = #""type": "alcohol", "standardDrinkEstimate": 2, "deleted": 0"#
        #expect(try receive(id, remote, at: 4_600_000, on: 1003) == 1)
        #expect(throws: Refusal.self) { try store.undo(context(1004)) }
        #expect(try store.activeSession(at: Instant(seconds: 1010))?.logs.map(\.standardDrinkEstimate) == [2])
    }

    @Test func `changed presets and sessions keep their changes after a sync`() throws {
        let preset = try store.addPreset(
            name: "Stout", drinkType: .beer, sizeOz: 16, abv: 6, estimate: 1.6, context(1001))
        let remote = """
            [{"id": "\(preset.id)", "userId": "\(preset.userID)", "name": "Porter", "drinkType": "beer", \
            "standardDrinkEstimate": 2, "position": 1,
              "deleted": 0, "updatedAt": 4600000, "deviceId": "~phone"}]
            """
        #expect(try store.merge(.preset, json: remote, context(1002)).applied == 1)
        try store.deletePreset(preset.id, context(1003))
        #expect(try store.merge(.preset, json: remote, context(1004)).applied == 0)
        #expect(try !store.presets().contains { $0.id == preset.id })

        let active = """
            [{"id": "\(session)", "userId": "\(preset.userID)", "startTime": 1000000, "endTime": null, "isActive": \
            true, "updatedAt": 4600000, "deviceId": "~phone"}]
            """
        #expect(try store.merge(.session, json: active, context(1005)).applied == 1)
        _ = try store.endSession(context(1006))
        #expect(try store.merge(.session, json: active, context(1007)).applied == 0)
        #expect(try store.activeSession(at: Instant(seconds: 1008)) == nil)
    }

    /// The server was down while this computer's clock was a year ahead: the retry must not wait for a year.
    @Test func `a change is sent at once when its retry is too far in the future`() throws {
        let year: Int64 = 365 * 86_400
        let item = try #require(try store.outbox().next(at: Instant(seconds: 1000 + year)))
        try store.finishSending(item, .noResponse("none"), at: Instant(seconds: 1000 + year))
        #expect(try store.outbox().next(at: Instant(seconds: 1000 + year)) != item)
        #expect(try store.outbox().next(at: Instant(seconds: 1100))?.id == item.id)
    }
}
