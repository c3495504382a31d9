import Foundation
import GRDB
import GatewaySupport
import Support
import Testing
import TrackerCore

@testable import Store

@Suite final class HostileRowTests: ScratchFixture {
    private func tampered(_ sql: String) throws -> TrackerStore {
        do { try TrackerStore(path: scratch.store).fill() }
        try scratch.withDatabase { try $0.execute(sql: sql) }
        return try TrackerStore(path: scratch.store)
    }

    /// Invalid rows of the settings count as unset in every query: the day of a drink must use the same hour as the
    /// display, and an invalid zone must not stop polls.
    @Test(arguments: [
        ("day.boundaryHour", "6", "2026-02-01"), ("day.boundaryHour", "9", "2026-02-02"),
        ("day.boundaryHour", "5x", "2026-02-02"), ("day.zone", "Nowhere/No", "2026-02-02"),
    ])
    func `an unknown setting is ignored`(name: String, value: String, day: String) throws {
        let store = try tampered(
            "DELETE FROM setting; INSERT INTO setting (name, value) VALUES ('\(name)', '\(value)')")
        // 05:00 is after the boundary of four and before that of six.
        _ = try store.append([entry(hour: 5)])
        _ = try store.logDrink(ml: 70, try context("2026-02-02T05:10:00Z"))
        let noon = try context("2026-02-02T12:00:00Z").now
        let days = try store.allDrinks().filter { $0.at < noon }.map(\.localDay.description)
        #expect(days == [day, day])
    }

    @Test(arguments: [
        "drink SET instant = -9223372036854775808", "drink SET instant = -62135596800001",
        "drink SET instant = 253402300800000", "drink SET instant = 9223372036854775807", "drink SET ml = -5",
        "drink SET ml = 9223372036854775807", "drink SET localDay = 'yesterday'", "drink SET localDay = '2026-02-30'",
        "session SET startTime = 9223372036854775807", "session SET ruleN = 0",
        "log_entry SET timestamp = -9223372036854775808", "log_entry SET amountOz = 1e300",
        "log_entry SET amountOz = 9e999", "log_entry SET standardDrinkEstimate = -1e300",
        "log_entry SET sizeOz = -9e999", "preset SET sizeOz = 1e300", "preset SET standardDrinkEstimate = 9e999",
        "day SET goalMl = 9223372036854775807", "day SET localDay = '2026-02-30'",
    ])
    func `the schema rejects values out of range`(_ change: String) throws {
        let error = #expect(throws: DatabaseError.self) { _ = try tampered("UPDATE \(change)") }
        #expect(error?.resultCode == .SQLITE_CONSTRAINT, "\(change)")
    }

    @Test(arguments: [-1, -2_147_483_648, 0, 1, 2_147_483_647])
    func `an invalid schema number is reported`(_ version: Int) throws {
        let error = #expect(throws: StoreError.self) { _ = try tampered("PRAGMA user_version = \(version)") }
        #expect(version >= 0 || error?.kind == .damaged && error?.cause.contains("\(version)") == true)
        #expect(throws: StoreError.self) { _ = try TrackerStore(path: scratch.store, for: .reading) }
    }
}
