import Glibc
import GRDB
import GatewaySupport
import Support
import TrackerCore

@testable import Store

/// A folder for the files of a test.
class ScratchFixture {
    let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }
}

/// A new store in a folder of its own.
class StoreFixture {
    let scratch: TemporaryFolder
    let store: TrackerStore

    init() throws {
        scratch = try TemporaryFolder()
        store = try TrackerStore(path: scratch.store)
    }
}

extension TrackerStore {
    /// Stores rows in every table of a day: 2026-02-02, 22:41 UTC.
    func fill() throws {
        let now = try context("2026-02-02T22:41:00Z")
        _ = try append([
            entry(), entry(ml: 40), entry(second: 59, verdict: .notADrink(reason: "flag")),
            entry(minute: 59, verdict: .quarantined(reason: "bottleClock"), hasWall: false),
        ])
        try quarantine(bottle: "A4:C1:38:00:00:01", bytes: [1, 2, 3], reason: "no frame", received: now.now)
        _ = try finishOnboarding(now)
        try changeSettings([("hydration.goalMl", "2000"), ("sync.url", "http://127.0.0.1:9")], now)
        try changeSettings([("bottle.timeZone", "Europe/Berlin")], ofBottle: "A4:C1:38:00:00:01")
        _ = try logDrink(ml: 330, now)
        _ = try startSession(now)
        _ = try addLog(.drink(), now)
        _ = try addToken("t", label: "l", now)
        try evaluate(now)
        _ = try openPublisher("mqtt", includesStored: true) { "one" }
    }
}

/// The file permissions of a path; 0 if it does not exist.
func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
}

extension TemporaryFolder {
    /// The path of a store in this folder.
    var store: String { file("waterh.sqlite") }

    /// Opens a store with GRDB only, as another program does.
    func withDatabase<T>(_ path: String? = nil, _ body: (Database) throws -> T) throws -> T {
        let database = try DatabaseQueue(path: path ?? store)
        defer { try? database.close() }
        return try database.writeWithoutTransaction(body)
    }
}
