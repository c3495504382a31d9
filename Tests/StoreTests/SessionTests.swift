import Foundation
import GRDB
import Testing
import TrackerCore

@testable import Store

@Suite struct SessionTests {
    let store: TrackerStore

    init() throws { store = try TrackerStore(inMemory: nil) }

    /// A time on 2026-06-15 in Berlin (CEST).
    private func at(_ time: String) throws -> WriteContext {
        try context("2026-06-\(time < "12:00" ? "16" : "15")T\(time):00+02:00", zone: "Europe/Berlin")
    }

    private func addBeer(_ name: String, _ now: WriteContext) throws -> DrinkPreset {
        try store.addPreset(name: name, drinkType: .beer, sizeOz: nil, abv: nil, estimate: 1, now)
    }

    private func bottleSip(_ time: String, _ ml: Int) throws -> JournalEntry {
        try sip("2026-06-15T\(time):00", ml, offset: "+02:00", zone: "Europe/Berlin")
    }

    @Test func `a session started by a fast clock can be ended after a correction`() throws {
        _ = try store.startSession(at("22:00"))
        #expect(throws: WaterlineSession.Refusal.outsideSession) { try store.addLog(.water(oz: 8), at("20:10")) }
        #expect(try store.endSession(at("20:12")).session.endTime == at("22:00").now)
        #expect(try store.startSession(at("20:13")).started)
    }

    @Test
    func `E3: a second start returns the active session`() throws {
        let first = try store.startSession(at("21:00"))
        let second = try store.startSession(at("21:05"))
        #expect(first.started && !second.started && first.session.id == second.session.id)
        #expect(throws: DatabaseError.self) {
            try store.database.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO session (id, userId, startTime, isActive, updatedAt, deviceId) VALUES ('x', 'u', \
                        1, 1, 1, 'd')
                        """)
            }
        }
    }

    /// US-002: entries belong to a session, sessions and presets to the only user. Unknown values are rejected.
    @Test
    func `E2: foreign keys reject orphaned entries, sessions and presets`() throws {
        #expect(try store.finishOnboarding(at("20:00")))
        let session = try store.startSession(at("21:00")).session
        let log = try store.addLog(.drink(), at("21:10"))
        let user = try #require(try store.profile()).userID
        #expect(session.userID == user && log.sessionID == session.id)
        let owners = try store.database.read { db in
            try Set(String.fetchAll(db, sql: "SELECT userId FROM preset UNION SELECT userId FROM session"))
        }
        #expect(owners == [user])
        for values in [
            "'x', 'nobody', 1, 'water'", "'x', '\(session.id)', 1, 'tea'", "'\(log.id)', '\(session.id)', 1, 'water'",
        ] {
            #expect(throws: DatabaseError.self, "\(values)") {
                try store.database.write { db in
                    try db.execute(
                        sql:
                            """
                            INSERT INTO log_entry (id, sessionId, timestamp, type, source, updatedAt, deviceId) \
                            VALUES (\(values), 'cli', 1, 'd')
                            """
                    )
                }
            }
        }
        // Of two entries at the same time the later one sorts after the earlier one.
        let second = try store.addLog(.water(oz: 8), at("21:10"))
        #expect(second.seq > log.seq && second.amountOz == 8 && second.source.rawValue == "cli")
        // Deleting a session deletes its entries.
        try store.database.write { db in
            try db.execute(sql: "DELETE FROM session WHERE id = ?", arguments: [session.id])
        }
        #expect(try store.database.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM log_entry") } == 0)
    }

    @Test
    func `E3: entries need a session and a time within it`() throws {
        let error = #expect(throws: WaterlineSession.Refusal.self) { try store.addLog(.drink(), at("21:00")) }
        #expect(error == .noActiveSession)
        _ = try store.startSession(at("21:00"))
        let early = try at("20:59").now
        #expect(throws: WaterlineSession.Refusal.outsideSession) {
            try store.addLog(.drink(), at: early, try at("21:10"))
        }
        #expect(throws: WaterlineSession.Refusal.estimate) { try store.addLog(.drink(estimate: 10.5), try at("21:10")) }
        #expect(try store.activeSession(at: at("21:11").now)?.state.drinks == 0)
    }

    @Test(arguments: ["delete W", "delete last A", "first A to 2.0", "move W"])
    func `E1: edits change the session's value as in the test vectors`(edit: String) throws {
        _ = try store.startSession(at("21:00"))
        let a1 = try store.addLog(.drink(), at("21:10"))
        _ = try store.addLog(.drink(), at("21:20"))
        let w = try store.addLog(.water(oz: 8), at("21:30"))
        let a3 = try store.addLog(.drink(), at("21:40"))
        let now = try at("21:50")
        let expected: (Double, Int)
        switch edit {
        case "delete W":
            try store.deleteLog(w.id, now)
            expected = (3, 3)
        case "delete last A":
            try store.deleteLog(a3.id, now)
            expected = (1, 0)
        case "first A to 2.0":
            _ = try store.editLog("w\(a1.seq)", estimate: 2, now)
            expected = (3, 1)
        default:
            _ = try store.editLog(w.id, at: try at("21:05").now, now)
            expected = (2, 3)
        }
        let state = try #require(try store.activeSession(at: now.now)).state
        #expect(state.value == expected.0 && state.sinceWater == expected.1)
        _ = try store.undo(now)
        let back = try #require(try store.activeSession(at: now.now)).state
        #expect(back.value == 2 && back.sinceWater == 1, "undo reverts the edit")
    }

    @Test
    func `E3: edits recompute the summary until the session is sealed`() throws {
        _ = try store.startSession(at("21:00"))
        let log = try store.addLog(.drink(), at("21:10"))
        let ended = try store.endSession(at("23:00"))
        #expect(ended.session.computedSummary?.drinks == 1 && ended.session.ruleN == 1)
        _ = try store.editLog(log.id, estimate: 2, at("23:10"))
        #expect(try store.pastSessions().first?.computedSummary?.standardDrinks == 2)
        _ = try store.startSession(at("23:20"))
        #expect(throws: WaterlineSession.Refusal.sealed) { try store.editLog(log.id, estimate: 3, at("23:30")) }
        #expect(throws: WaterlineSession.Refusal.sealed) { try store.deleteLog(log.id, at("23:30")) }
        #expect(throws: Refusal.self) { try store.undo(at("23:30")) }
        #expect(try store.pastSessions().first?.computedSummary?.standardDrinks == 2)
    }

    @Test
    func `E3: a session can end without entries or at its last entry`() throws {
        _ = try store.startSession(at("21:00"))
        let empty = try store.endSession(at("21:30")).session
        #expect(empty.computedSummary?.drinks == 0 && empty.computedSummary?.adherencePercent == nil)
        _ = try store.startSession(at("22:00"))
        _ = try store.addLog(.drink(), at("22:10"))
        let ended = try store.endSession(atLastLog: true, at("23:59")).session
        #expect(ended.endTime == (try at("22:10").now))
        #expect(throws: WaterlineSession.Refusal.noActiveSession) { try store.endSession(at("23:59")) }
    }

    @Test(arguments: [("accumulate", 0.0, 0, 100), ("off", 1.0, 1, 0), ("perSip", -1.0, 0, 100)])
    func `X1: waterline.bottleWater decides how sips count as water`(
        mode: String, value: Double, sinceWater: Int, adherence: Int
    ) throws {
        try store.changeSettings([("waterline.bottleWater", mode)], at("20:00"))
        _ = try store.startSession(at("21:00"))
        _ = try store.addLog(.drink(), at("21:10"))
        _ = try store.append([bottleSip("21:12", 120), bottleSip("21:20", 117), bottleSip("20:50", 255)])
        let view = try #require(try store.activeSession(at: at("21:30").now))
        #expect(view.state.value == value && view.state.sinceWater == sinceWater)
        #expect(try store.endSession(at("21:30")).session.computedSummary?.adherencePercent == adherence)
    }

    @Test
    func `X1: late drinks recompute the summary of an ended session`() throws {
        _ = try store.startSession(at("21:00"))
        _ = try store.addLog(.drink(), at("21:10"))
        let session = try store.endSession(at("22:00")).session
        try store.sealSession(session.id, at("22:01"))
        try store.changeSettings([("waterline.bottleWater", "off"), ("waterline.waterEveryNDrinks", "3")], at("22:02"))
        _ = try store.append([bottleSip("21:12", 120), bottleSip("21:20", 117), bottleSip("22:30", 255)])
        let summary = try #require(try store.pastSessions().first?.computedSummary)
        #expect(summary.waters == 1 && summary.adherencePercent == 100 && summary.finalValue == 0)
        _ = try store.deleteDrink("b1|2026-06-15T21:20:00|117", at("22:40"))
        #expect(try store.pastSessions().first?.computedSummary?.waters == 0)
    }

    @Test
    func `X1: a derived water can be excluded but not edited`() throws {
        _ = try store.startSession(at("21:00"))
        // Two waters.
        _ = try store.append([bottleSip("21:12", 500)])
        let now = try at("21:30")
        func waters() throws -> [String]? { try store.activeSession(at: now.now)?.logs.map(\.id) }
        let both = try #require(try waters())
        try #require(both.count == 2)
        #expect(throws: WaterlineSession.Refusal.derived) { try store.editLog(both[0], amountOz: 4, now) }
        try store.deleteLog(both[0], now)
        #expect(try waters() == [both[1]])
        _ = try store.append([bottleSip("21:12", 500)])
        #expect(try waters() == [both[1]])
        _ = try store.undo(now)
        #expect(try waters() == both)
    }

    @Test
    func `X1: session water counts for the day if the setting is on`() throws {
        _ = try store.startSession(at("20:00"))
        _ = try store.addLog(.water(oz: 8), at("20:10"))
        let total = { try self.store.preview(self.at("21:00")).snapshot.pace.dailyTotalMl }
        #expect(try total() == 0)
        try store.changeSettings([("hydration.countSessionWater", "true")], at("20:20"))
        let water = try store.addLog(.water(oz: 8), at("20:30"))
        _ = try store.append([bottleSip("20:40", 240)])
        #expect(try total() == 237 + 240, "the sips' own water is not counted twice")
        _ = try store.editLog(water.id, amountOz: 16, at("20:50"))
        #expect(try total() == 473 + 240)
        try store.deleteLog(water.id, at("20:51"))
        #expect(try total() == 240)
        _ = try store.undo(at("20:52"))
        #expect(try total() == 473 + 240)
    }

    @Test
    func `E2: deleted default presets stay deleted`() throws {
        #expect(try store.finishOnboarding(at("20:00")))
        #expect(try store.presets().map(\.name) == ["Beer", "Glass of Wine", "Shot", "Cocktail", "Double"])
        let shot = try #require(try store.preset(named: "shot"))
        try store.changeSettings([("waterline.defaultPreset", shot.id)], at("20:01"))
        try store.deletePreset(shot.id, at("20:02"))
        #expect(try !store.finishOnboarding(at("20:03")))
        #expect(try store.presets().count == 4 && store.settings().defaultPreset == nil)
        #expect(throws: SettingRefusal.self) {
            try store.changeSettings([("waterline.defaultPreset", shot.id)], at("20:04"))
        }
        for name in ["beer", "", String(repeating: "x", count: 65), "tab\t"] {
            #expect(throws: Refusal.self) { try addBeer(name, at("20:05")) }
        }
    }

    /// SQL's lower() supports ASCII only.
    @Test func `preset names are compared case-insensitively (NFC)`() throws {
        _ = try addBeer("\u{C4}pfel", at("20:00"))
        for name in ["\u{E4}pfel", "A\u{308}pfel", "a\u{308}PFEL"] {
            #expect(throws: Refusal.self) { try addBeer(name, at("20:01")) }
        }
        // A store of an earlier version can have such names: an exact match takes precedence.
        let other = try addBeer("x", at("20:02"))
        try store.write {
            try $0.execute(sql: "UPDATE preset SET name = ? WHERE id = ?", arguments: ["\u{E4}pfel", other.id])
        }
        #expect(try store.preset(named: "\u{E4}pfel")?.id == other.id)
        #expect(try store.preset(named: "\u{C4}PFEL")?.id != nil)
    }
}
