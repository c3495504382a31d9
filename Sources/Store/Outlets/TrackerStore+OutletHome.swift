import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// Whether an outlet speaks from where it did before. What never spoke speaks from here from now on; so does a file
    /// that was moved, which is not there any more where it was.
    package func standing(of outlet: String, at here: OutletHome) throws -> OutletStanding {
        guard let known = try home(of: outlet) else {
            try move(outlet, to: here)
            return .known
        }
        guard known != here else { return .known }
        // Noted when a machine without a number had nothing else in its place.
        guard !known.machine.isEmpty || known.path != here.path else {
            try move(outlet, to: here)
            return .known
        }
        guard known.machine == here.machine else { return .fromElsewhere(known.path) }
        guard try isThere(known.path, as: outlet, beside: here.path) else {
            try move(outlet, to: here)
            return .known
        }
        return .copy(of: known.path)
    }

    /// It speaks from here from now on, as who it was.
    package func move(_ outlet: String, to here: OutletHome) throws {
        try write { db in
            try db.execute(sql: "UPDATE outlet SET home = ? WHERE name = ?", arguments: [here.text, outlet])
        }
    }

    /// It speaks from here from now on, as somebody else: what the other end keeps is the other one's. What waits is
    /// told by both: one cannot know by whom it was stored.
    package func beginAnew(_ outlet: String, id: String, at here: OutletHome) throws {
        try write { db in
            try db.execute(
                sql: "UPDATE outlet SET home = ?, id = ? WHERE name = ?", arguments: [here.text, id, outlet])
            try db.execute(sql: "DELETE FROM outlet_topic WHERE outlet = ?", arguments: [outlet])
        }
    }

    /// At which topics the other end may keep something of the one that this store began as: what the two know of it.
    package func keptByOriginal(of outlet: String, at here: OutletHome) throws -> Set<String> {
        var topics = Set(try keptTopics(of: outlet))
        if let known = try home(of: outlet), known.path != here.path, known.machine == here.machine,
            let original = try? TrackerStore(path: known.path, for: .looking)
        {
            topics.formUnion((try? original.keptTopics(of: outlet)) ?? [])
        }
        return topics
    }

    /// Who an outlet is, also one that is switched off; `nil` where there never was one.
    package func identity(of outlet: String) throws -> (id: String, path: String?)? {
        let row = try read { db in
            try Row.fetchOne(db, sql: "SELECT id, home FROM outlet WHERE name = ?", arguments: [outlet])
        }
        return try row.map {
            (try $0.checked("id"), (try? $0.checked("home", String.self)).flatMap(OutletHome.init)?.path)
        }
    }

    private func home(of outlet: String) throws -> OutletHome? {
        try read { db in try String.fetchOne(db, sql: "SELECT home FROM outlet WHERE name = ?", arguments: [outlet]) }
            .flatMap(OutletHome.init)
    }

    /// Whether the store that this one was copied from is still there: another file that speaks as the same one. What
    /// cannot be looked into may be it.
    private func isThere(_ path: String, as outlet: String, beside own: String) throws -> Bool {
        var (other, mine) = (stat(), stat())
        guard stat(path, &other) == 0 else { return errno != ENOENT && errno != ENOTDIR }
        if stat(own, &mine) == 0, other.st_dev == mine.st_dev, other.st_ino == mine.st_ino { return false }
        guard let there = try? TrackerStore(path: path, for: .looking), let who = try? there.identity(of: outlet) else {
            return Glibc.access(path, R_OK) != 0
        }
        return try who.id == identity(of: outlet)?.id
    }
}
