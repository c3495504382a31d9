import Foundation
import Support
import Testing
import TrackerCore

@testable import FleetBackup
@testable import FleetStore
@testable import FleetWire

/// The file of the keys of a fleet's backups, as the built `waterh-fleet` writes and reads it: nothing goes out of a
/// backup that nobody had forgotten, and whoever was forgotten does not come back.
@Suite(
    "A fleet's file of keys",
    .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetKeyFileTests {
    private let fleet: FleetServeTests.Fleet
    private let store: FleetStore
    private let folder: TemporaryFolder
    private let keys: String

    init() async throws {
        fleet = try await FleetServeTests.Fleet()
        store = FleetStore(try FleetConnection(fleet.words))
        folder = try TemporaryFolder()
        keys = folder.file("keys")
        _ = try FleetStoreTests.gateway(store, "one")
        for (place, person) in ["anna", "bob"].enumerated() { try tell(store, person, Int64(place + 1)) }
    }

    private func tell(_ store: FleetStore, _ person: String, _ place: Int64) throws {
        let one = try #require(try store.visitor("hash-one"))
        #expect(
            try store.take(
                FleetStoreTests.lines([
                    FleetEntryTests.entry(
                        place, person: person, key: "A4:C1:38:01:02:03|2026-02-02T22:21:\(place + 10)|\(place)")
                ]), from: one
            ).taken == 1)
    }

    private func other() async throws -> (fleet: FleetServeTests.Fleet, store: FleetStore) {
        let other = try await FleetServeTests.Fleet()
        return (other, FleetStore(try FleetConnection(other.words)))
    }

    private struct Keys: Codable {
        var version: Int
        var seals: [FleetStore.Seal]
        var forgettings: [String: [String: Bool]], thrown: [String], revoked: [String]
    }

    private func read() throws -> Keys {
        try JSONDecoder().decode(Keys.self, from: Data(contentsOf: URL(fileURLWithPath: keys)))
    }

    /// Of each time that somebody was forgotten whether the file says that it was undone.
    private func said(_ name: String) throws -> [Bool] {
        try (read().forgettings[digest(name)] ?? [:]).values.sorted { !$0 && $1 }
    }

    private func digest(_ name: String) throws -> String {
        try #require(try store.connection.run("SELECT \(FleetStore.digest("$1"))", [name])[0][0])
    }

    private func people(_ store: FleetStore) throws -> [String] {
        try store.connection.run("SELECT DISTINCT person FROM entry ORDER BY 1").compactMap { $0[0] }
    }

    /// The pieces of a backup: where each begins.
    private func pieces(_ bytes: [UInt8]) -> [Int] {
        var pieces: [Int] = [], place = 38
        while place + 4 <= bytes.count {
            pieces.append(place)
            place += 4 + bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        return pieces
    }

    /// One bit in the name of a piece's key, and a person was gone: "their key was thrown away", exit 0.
    @Test func aPieceWhoseKeyIsMissingIsPassedOverOnlyWhereSomebodyWasForgotten() async throws {
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        try FileManager.default.copyItem(atPath: keys, toPath: folder.file("old-keys"))
        let whole = [UInt8](try Data(contentsOf: folder.url("b")))
        let id = try #require(try store.seals(of: digest("anna")).first?.id)
        let named = pieces(whole).filter { place in
            whole[place + 4..<place + 20].map { String(format: "%02x", $0) }.joined() == id
        }
        #expect(named.count > 1)
        let (target, copy) = try await other()
        for place in named {
            var changed = whole
            changed[place + 4] ^= 1
            try Data(changed).write(to: folder.url("changed"))
            #expect(
                try await target.run("restore", folder.file("changed"), "--keys", keys, code: 4).contains("changed"))
        }
        // Bytes behind the end.
        try Data(whole + [0]).write(to: folder.url("changed"))
        #expect(
            try await target.run("restore", folder.file("changed"), "--keys", keys, code: 4).contains("behind its end"))
        // The name of her key changed in the keys.
        var text = try String(contentsOfFile: keys, encoding: .utf8)
        text.replace(id, with: (id.hasPrefix("0") ? "1" : "0") + id.dropFirst())
        try Data(text.utf8).write(to: folder.url("changed-keys"))
        #expect(
            try await target.run("restore", folder.file("b"), "--keys", folder.file("changed-keys"), code: 4).contains(
                "Name the newest one"))
        // Keys of before carol came.
        try tell(store, "carol", 3)
        _ = try await fleet.run("backup", folder.file("c"), "--keys", keys)
        #expect(
            try await target.run("restore", folder.file("c"), "--keys", folder.file("old-keys"), code: 4).contains(
                "1 of the keys that the backup was sealed with are missing"))
        #expect(try copy.isUnused())
        // And of the form that could not tell, in words.
        try Data(Array("Waterh fleet backup 1\n".utf8) + whole.dropFirst(22)).write(to: folder.url("changed"))
        #expect(
            try await target.run("restore", folder.file("changed"), "--keys", keys, code: 4).contains("older program"))
        _ = try await target.run("restore", folder.file("c"), "--keys", keys)
        #expect(try people(copy) == ["anna", "bob", "carol"])
    }

    /// A copy for trying wrote its own keys over those of the fleet, and who had come to the fleet since was lost.
    @Test func aCopyOfTheFleetDropsNoKeyOfIt() async throws {
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        let (copy, _) = try await other()
        _ = try await copy.run("restore", folder.file("b"), "--keys", keys)
        try tell(store, "carol", 3)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        _ = try await copy.run("backup", folder.file("of-the-copy"), "--keys", keys)
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(restored) == ["anna", "bob", "carol"])
        // But what the fleet forgot the copy does not bring back; nor does it seal with keys that are no more.
        #expect(try await fleet.run("forget", "bob", "--keys", keys).hasPrefix("Forgotten.\n"))
        #expect(try await copy.run("backup", folder.file("of-the-copy"), "--keys", keys, code: 3).contains("bob"))
        #expect(try await copy.run("forget", "bob", "--keys", keys).hasPrefix("Forgotten.\n"))
        _ = try await copy.run("backup", folder.file("of-the-copy"), "--keys", keys)
        _ = try await fleet.run("backup", folder.file("c"), "--keys", keys)
        let seals = try read().seals.map(\.owner)
        #expect(try !seals.contains(digest("bob")) && seals.contains(digest("carol")))
        for (file, names) in [("b", ["anna", "carol"]), ("c", ["anna", "carol"]), ("of-the-copy", ["anna"])] {
            let (target, restored) = try await other()
            _ = try await target.run("restore", folder.file(file), "--keys", keys)
            #expect(try people(restored) == names, "\(file)")
        }
    }

    /// A backup was renamed over its own keys where the folder had two names.
    @Test func theKeysAreAnotherFileByWhateverName() async throws {
        try FileManager.default.createDirectory(at: folder.url("d1"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: folder.file("d2"), withDestinationPath: "d1")
        try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "d2/x")
        for other in ["d2/x", "link", "d1/../d2/x"] {
            #expect(
                try await fleet.run("backup", folder.file("d1/x"), "--keys", folder.file(other), code: 2).contains(
                    "another file"), "\(other)")
        }
        #expect(
            try await fleet.run("backup", folder.file("d1/x.lock"), "--keys", folder.file("d2/x"), code: 2).contains(
                "another file"))
        _ = try await fleet.run("backup", folder.file("d1/y"), "--keys", folder.file("link"))
        // And where both are there already.
        try FileManager.default.linkItem(atPath: folder.file("d1/x"), toPath: folder.file("hard"))
        #expect(
            try await fleet.run("backup", folder.file("hard"), "--keys", folder.file("link"), code: 2).contains(
                "another file"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("d1")).sorted() == ["x", "x.lock", "y"])
    }

    /// A backup that had read the keys before somebody was forgotten wrote them after that.
    @Test func whoWritesTheKeysHoldsTheirLock() async throws {
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        let lock = open(keys + ".lock", O_RDWR)
        #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        let backup = try Program("waterh-fleet").start(
            ["backup", folder.file("c"), "--keys", keys], environment: fleet.environment)
        let path = URL(fileURLWithPath: keys + ".lock").resolvingSymlinksInPath().path
        // It has all rows, and the lock's file open: it waits for it.
        let waits = await event(within: 30) {
            ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(backup.processIdentifier)/fd")) ?? [])
                .contains {
                    (try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/\(backup.processIdentifier)/fd/\($0)")) == path
                } ? true : nil
        }
        #expect(waits == true && backup.isRunning)
        #expect(try store.forget("bob"))
        close(lock)
        #expect(try await backup.finish().exitCode == 0)
        #expect(try read().seals.map(\.owner).contains(digest("bob")) == false)
        #expect(try said("bob") == [false] && read().thrown.count == 2)
        for file in ["b", "c"] {
            let (target, restored) = try await other()
            #expect(try await target.run("restore", folder.file(file), "--keys", keys).contains("stay sealed"))
            #expect(try people(restored) == ["anna"], "\(file)")
        }
    }

    /// Whoever was forgotten while the keys could not be written kept theirs, and nothing could throw it away.
    @Test func forgettingCanBeRepeatedUntilTheKeysAreWritten() async throws {
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        // A folder in the place of the lock: nothing can be locked, as on a disk that is full.
        try FileManager.default.removeItem(atPath: keys + ".lock")
        try FileManager.default.createDirectory(atPath: keys + ".lock", withIntermediateDirectories: false)
        let said = try await fleet.run("forget", "bob", "--keys", keys, code: 1)
        #expect(
            said.contains("bob is forgotten here, but the keys are not written") && said.contains("once more"),
            "\(said)")
        #expect(try people(store) == ["anna"] && read().seals.map(\.owner).contains(digest("bob")))
        #expect(try await fleet.run("forget", "bob", code: 3).contains("Nobody goes by that name"))
        try FileManager.default.removeItem(atPath: keys + ".lock")
        #expect(
            try await fleet.run("forget", "bob", "--keys", keys)
                == "Forgotten in the backups, too: the keys are written now.\n")
        #expect(try !read().seals.map(\.owner).contains(digest("bob")))
        #expect(try await fleet.run("forget", "nobody", "--keys", keys, code: 3).contains("Nobody goes by that name"))
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(restored) == ["anna"])
    }

    /// Where nobody had backed up before, the file had no keys, and every later backup was refused as another fleet's.
    @Test func theFirstToWriteTheKeysMayBeWhoForgets() async throws {
        #expect(try await fleet.run("forget", "anna", "--keys", keys).hasPrefix("Forgotten.\n"))
        #expect(try read().seals.contains { $0.owner == FleetStore.fleetOwner })
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        // Nor is a file that was written so another fleet's.
        try Data(#"{"forgotten":[],"seals":[],"version":1}"#.utf8).write(to: URL(fileURLWithPath: keys))
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        let (target, restored) = try await other()
        #expect(
            try await target.run("backup", folder.file("c"), "--keys", keys, code: 3).contains(
                "the keys of another fleet"))
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(restored) == ["bob"])
    }

    /// An older backup knew her as forgotten: what gateways told of her was passed over, and they took it for stored.
    @Test func whoIsAllowedAgainIsKnownWhereAnOlderBackupIsRestored() async throws {
        #expect(try await fleet.run("forget", "anna", "--keys", keys).hasPrefix("Forgotten.\n"))
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        _ = try await fleet.run("allow", "one", "anna")
        _ = try await fleet.run("backup", folder.file("c"), "--keys", keys)
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try !restored.isForgotten("anna"))
        #expect(
            try restored.connection.run("UPDATE gateway SET people = NULL WHERE name = 'one' RETURNING 1").count == 1)
        try tell(restored, "anna", 9)
        #expect(try people(restored) == ["anna", "bob"])
    }

    /// A copy of the time when bob was forgotten backed up beside the fleet, and threw the key away that he had since
    /// he was known again: his drinks were in no backup any more.
    @Test func aCopyThatKnowsSomebodyAsForgottenThrowsNoKeyOfWhoIsKnownAgain() async throws {
        _ = try await fleet.run("forget", "bob", "--keys", keys)
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let (copy, _) = try await other()
        _ = try await copy.run("restore", folder.file("a"), "--keys", keys)
        _ = try await fleet.run("allow", "one", "bob", "anna")
        try tell(store, "bob", 7)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        _ = try await copy.run("backup", folder.file("of-the-copy"), "--keys", keys)
        #expect(try said("bob") == [true])
        let (target, restored) = try await other()
        #expect(try await !target.run("restore", folder.file("b"), "--keys", keys).contains("stay sealed"))
        #expect(try people(restored) == ["anna", "bob"] && !restored.isForgotten("bob"))
        // But who is forgotten there from then on is forgotten in all backups.
        _ = try await copy.run("allow", "one", "bob")
        #expect(
            try await copy.run("forget", "bob", "--keys", keys).hasPrefix("Forgotten.\n")
                && said("bob") == [false, true])
        #expect(try await fleet.run("backup", folder.file("c"), "--keys", keys, code: 3).contains("bob"))
        #expect(try await fleet.run("forget", "bob", "--keys", keys).hasPrefix("Forgotten.\n"))
        let (last, rest) = try await other()
        _ = try await last.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(rest) == ["anna"] && rest.isForgotten("bob"))
    }

    /// What the fleet had forgotten was known again in the file as soon as a copy wrote it that had never heard of it,
    /// and gateways brought it back after a restore.
    @Test func whoIsForgottenStaysSoInTheKeysWhateverCopyWritesThem() async throws {
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let (copy, _) = try await other()
        _ = try await copy.run("restore", folder.file("a"), "--keys", keys)
        try tell(store, "carol", 3)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        _ = try await fleet.run("forget", "carol", "--keys", keys)
        _ = try await copy.run("backup", folder.file("of-the-copy"), "--keys", keys)
        for file in ["a", "b"] {
            let (target, restored) = try await other()
            _ = try await target.run("restore", folder.file(file), "--keys", keys)
            let one = try #require(try restored.visitor("hash-one"))
            let again = try restored.take(
                FleetStoreTests.lines([FleetEntryTests.entry(9, person: "carol", key: "c9")]), from: one)
            #expect(try again.taken == 0 && people(restored) == ["anna", "bob"], "\(file)")
        }
    }

    /// Nothing was written in between: the old key stayed in the file, and what was to be forgotten in all backups.
    @Test func whoIsForgottenAndKnownAgainBeforeTheKeysAreWrittenHasAnotherKey() async throws {
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let old = try store.seals(of: digest("bob"))
        _ = try await fleet.run("forget", "bob")
        _ = try await fleet.run("allow", "one", "anna", "bob")
        try tell(store, "bob", 8)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(try read().thrown.contains(#require(old.first).id) && read().seals.contains { $0.after.count == 2 })
        for (file, isSealed, place) in [("a", true, nil), ("b", false, "8")] as [(String, Bool, String?)] {
            let (target, restored) = try await other()
            #expect(
                try await target.run("restore", folder.file(file), "--keys", keys).contains("stay sealed") == isSealed)
            #expect(
                try restored.connection.run("SELECT place FROM entry WHERE person = 'bob'").first.flatMap { $0[0] }
                    == place)
        }
    }

    /// The list of an older program's file is of the time when it was written, and does not say who is known again
    /// since.
    @Test func aFileOfAnOlderVersionIsReadAsItWasMeant() async throws {
        try tell(store, "carol", 3)
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let now = try read(), carol = try digest("carol")
        func write(_ version: Int, _ forgotten: [String], thrown: [String]) throws {
            struct Old: Encodable {
                struct Seal: Encodable { var owner: String, id: String, key: String }
                var version: Int, seals: [Seal], forgotten: [String], thrown: [String]?, revoked: [String]?
            }
            let seals = now.seals.filter { !thrown.contains($0.id) }.map {
                Old.Seal(owner: $0.owner, id: $0.id, key: $0.key)
            }
            try JSONEncoder().encode(
                Old(
                    version: version, seals: seals, forgotten: forgotten, thrown: version == 1 ? nil : thrown,
                    revoked: version == 1 ? nil : [])
            ).write(to: URL(fileURLWithPath: keys))
        }
        let id = try #require(now.seals.first { $0.owner == carol }?.id)
        // Bob was known again before forgettings had names; dora is known to nobody here.
        try write(2, [digest("bob"), digest("dora")], thrown: [String(repeating: "0d", count: 16)])
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(try read().version == 3 && said("bob") == [true] && said("dora") == [false])
        let (second, rest) = try await other()
        _ = try await second.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(rest) == ["anna", "bob", "carol"] && rest.isForgotten("dora"))
        // Of the first version nobody knows whether it is of before that: somebody has to say so.
        try write(1, [digest("bob")], thrown: [])
        let refused = try await fleet.run("backup", folder.file("b"), "--keys", keys, code: 3)
        #expect(refused.contains("It is about: bob.") && refused.contains("allow GATEWAY NAME --keys"), "\(refused)")
        _ = try await fleet.run("allow", "one", "anna", "bob", "carol", "--keys", keys)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(try said("bob") == [true])
        let (third, last) = try await other()
        _ = try await third.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(last) == ["anna", "bob", "carol"] && !last.isForgotten("bob"))
        // A database of before carol was forgotten.
        try write(2, [carol], thrown: [id] + store.seals(of: carol).map(\.id))
        #expect(try await fleet.run("backup", folder.file("b"), "--keys", keys, code: 3).contains("carol"))
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("a"), "--keys", keys)
        #expect(try people(restored) == ["anna", "bob"] && restored.isForgotten("carol"))
        for text in [
            #"{"version":3,"seals":[],"forgettings":{"x":{"a b":true}},"thrown":[],"revoked":[]}"#,
            #"{"version":3,"seals":[],"forgettings":{"x":1},"thrown":[],"revoked":[]}"#,
            #"{"version":4,"seals":[],"forgettings":{},"thrown":[],"revoked":[]}"#,
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: keys))
            #expect(
                try await fleet.run("backup", folder.file("b"), "--keys", keys, code: 4).contains(
                    "no file of a fleet's keys"))
        }
    }

    /// Once this program had written the keys no program could read those backups any more.
    @Test func aBackupOfTheFirstFormIsTakenWhereSomebodySaysSo() async throws {
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        let bytes = [UInt8](try Data(contentsOf: folder.url("b"))), random = Array(bytes[22..<38])
        let seals = Dictionary(uniqueKeysWithValues: try read().seals.compactMap { BackupSeal($0) }.map { ($0.id, $0) })
        var now = FleetBackup.Place(random), then = FleetBackup.Place(random, isFirstForm: true),
            first = FleetBackup.firstMark + random, parts: [Range<Int>] = []
        for place in pieces(bytes) {
            let length = bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) },
                id = Array(bytes[place + 4..<place + 20])
            let seal = try #require(seals[id])
            let sealed =
                try id
                + seal.seal(seal.open(bytes[place + 20..<place + 4 + length], at: now.next(id)), at: then.next(id))
            parts.append(first.count..<first.count + 4 + sealed.count)
            first += withUnsafeBytes(of: UInt32(sealed.count).bigEndian, Array.init) + sealed
        }
        try Data(first).write(to: folder.url("first"))
        _ = try await fleet.run("forget", "bob", "--keys", keys)
        let (target, restored) = try await other()
        #expect(try await target.run("restore", folder.file("first"), "--keys", keys, code: 4).contains("--first-form"))
        for (cut, words) in [
            (Array(first.dropLast()), "is cut"), (first + [1], "behind its end"),
            (first.enumerated().map { $0 == parts[0].upperBound - 1 ? $1 ^ 1 : $1 }, "changed"),
        ] {
            try Data(cut).write(to: folder.url("broken"))
            #expect(
                try await target.run("restore", folder.file("broken"), "--keys", keys, "--first-form", code: 4)
                    .contains(words))
        }
        let said = try await target.run("restore", folder.file("first"), "--keys", keys, "--first-form")
        #expect(
            said.contains("1 entries of 1 people") && said.contains("first form") && said.contains("stay sealed"),
            "\(said)")
        #expect(try people(restored) == ["anna"] && restored.isForgotten("bob"))
        // It is no way around the proof that a backup of now has.
        var changed = bytes
        changed[pieces(bytes)[1] + 4] ^= 1
        try Data(changed).write(to: folder.url("broken"))
        let (last, _) = try await other()
        #expect(
            try await last.run("restore", folder.file("broken"), "--keys", keys, "--first-form", code: 4).contains(
                "changed"))
    }

    /// Several databases that write one file, in whatever order: what comes out is the same, and only what was made
    /// before a forgetting is thrown away.
    @Test func inWhateverOrderTheyWriteTheSameComesOut() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            var next = 0
            func name() -> String {
                next += 1
                return "\(next)"
            }
            // Each is a copy of one before, and lives on.
            var databases = [BackupKeys(seals: [.init(owner: FleetStore.fleetOwner, id: name(), key: "")])]
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                var database = databases.randomElement(using: &random) ?? databases[0]
                for _ in 0..<Int.random(in: 0...8, using: &random) {
                    let owner = ["a", "b", "c"].randomElement(using: &random) ?? "a",
                        known = database.forgettings[owner] ?? [:]
                    if known.values.contains(false) {
                        database.forgettings[owner] = known.mapValues { _ in true }
                    } else if Bool.random(using: &random), !database.seals.contains(where: { $0.owner == owner }) {
                        database.seals.append(.init(owner: owner, id: name(), key: "", after: known.keys.sorted()))
                    } else {
                        database.forgettings[owner, default: [:]][name()] = false
                        database.seals.removeAll { $0.owner == owner }
                    }
                }
                databases.append(database)
            }
            func file(_ order: [BackupKeys]) -> BackupKeys? { order.reduce(nil as BackupKeys?) { $1.over($0) } }
            func sorted(_ keys: BackupKeys?) -> [String] { keys?.seals.map(\.id).sorted() ?? [] }
            let one = try #require(file(databases + databases.shuffled(using: &random))),
                other = file(databases.shuffled(using: &random) + databases.shuffled(using: &random))
            #expect(one.forgettings == other?.forgettings && sorted(one) == sorted(other), "seed \(seed)")
            for owner in ["a", "b", "c"] {
                let all = Set(databases.flatMap { $0.forgettings[owner]?.keys.map(\.self) ?? [] }),
                    undone = Set(databases.flatMap { $0.forgettings[owner]?.filter(\.value).keys.map(\.self) ?? [] })
                // A forgetting that nobody undid who knew of it holds; a key stays that was made after all of them.
                #expect(one.forgotten.contains(owner) == !all.isSubset(of: undone), "seed \(seed)")
                let whole = Set(databases.flatMap(\.seals)).filter { $0.owner == owner && all.isSubset(of: $0.after) }
                #expect(
                    Set(one.seals.filter { $0.owner == owner }) == whole
                        && (whole.isEmpty || !one.forgotten.contains(owner)), "seed \(seed)")
            }
            for database in databases {
                #expect(
                    Set(database.outlived(by: one)).isDisjoint(with: one.seals)
                        && sorted(database.over(one)) == sorted(one), "seed \(seed)")
            }
        }
    }

    /// A dump was put back, and somebody forgotten in it as the program said: she came back with the next restore,
    /// since the file said of her that she was known again.
    @Test func whoIsForgottenInADumpThatWasPutBackStaysSo() async throws {
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let dump = try await copied(fleet)
        _ = try await fleet.run("forget", "bob", "--keys", keys)
        _ = try await fleet.run("allow", "one", "anna", "bob")
        try tell(store, "bob", 222)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(
            try await dump.fleet.run("backup", folder.file("c"), "--keys", keys, code: 3).contains(
                "waterh-fleet restore"))
        // As a server does it: it has no file of keys.
        #expect(try dump.store.forget("bob"))
        _ = try await dump.fleet.run("backup", folder.file("c"), "--keys", keys)
        #expect(try said("bob") == [false, true])
        for file in ["b", "c"] {
            let (target, restored) = try await other()
            _ = try await target.run("restore", folder.file(file), "--keys", keys)
            let one = try #require(try restored.visitor("hash-one"))
            #expect(
                try people(restored) == ["anna"]
                    && restored.take(
                        FleetStoreTests.lines([FleetEntryTests.entry(300, person: "bob", key: "x")]), from: one
                    ).taken == 0, "\(file)")
        }
        // And who is allowed there then is known, without any backup being refused.
        _ = try await dump.fleet.run("allow", "one", "anna", "bob")
        try tell(dump.store, "bob", 301)
        _ = try await dump.fleet.run("forget", "nobody-else", "--keys", keys, code: 3)
        _ = try await dump.fleet.run("backup", folder.file("d"), "--keys", keys)
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("d"), "--keys", keys)
        #expect(try people(restored) == ["anna", "bob"])
    }

    /// In the fleet she was forgotten; a copy in which she was forgotten and known again wrote the file, and the fleet
    /// forgot that.
    @Test func aCopyThatMakesSomebodyKnownAgainDoesNotDoSoForTheFleet() async throws {
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let copy = try await copied(fleet)
        _ = try await fleet.run("forget", "bob", "--keys", keys)
        #expect(try copy.store.forget("bob") && copy.store.allow("one", people: ["anna", "bob"]))
        #expect(
            try await copy.fleet.run("backup", folder.file("of-the-copy"), "--keys", keys, code: 3).contains(
                "It is about: bob."))
        // Nor where it writes the file all the same.
        _ = try await copy.fleet.run("forget", "anna", "--keys", keys)
        _ = try await fleet.run("forget", "anna", "--keys", keys)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try restored.isForgotten("bob") && said("bob") == [false, true])
    }

    /// A copy undid a forgetting of the fleet's; whoever forgot once more at the fleet, with the keys, made her known
    /// again there.
    @Test func whoForgetsOnceMoreIsHeardAfterAllThatOthersSay() async throws {
        _ = try await fleet.run("forget", "bob", "--keys", keys)
        let copy = try await copied(fleet)
        _ = try await copy.fleet.run("allow", "one", "bob", "--keys", keys)
        #expect(try said("bob") == [true])
        #expect(
            try await fleet.run("forget", "bob", "--keys", keys)
                == "Forgotten in the backups, too: the keys are written now.\n")
        #expect(try store.isForgotten("bob") && said("bob") == [false, true])
        // A key of before is good no more, and it says so.
        _ = try await copy.fleet.run("backup", folder.file("of-the-copy"), "--keys", keys, code: 3)
    }

    /// Whose name stood at a gateway, or at a carer, was "Forgotten." without that having a name of its own: what a
    /// copy had undone before held, and the key over the audit stayed good.
    @Test func whoIsForgottenAndNamedIsForgottenOnceMore() async throws {
        _ = try FleetStoreTests.gateway(store, "bob")
        _ = try await fleet.run("forget", "bob", "--keys", keys)
        let copy = try await copied(fleet)
        _ = try await copy.fleet.run("allow", "one", "bob", "--keys", keys)
        #expect(try await fleet.run("forget", "bob", "--keys", keys).hasPrefix("Forgotten.\n"))
        #expect(try store.isForgotten("bob") && said("bob") == [false, true])
        // By the audit.
        _ = try await fleet.run("forget", "anna", "--keys", keys)
        _ = try await fleet.run("enrol", "nurse", "--carer", "--person", "anna")
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(try await fleet.run("forget", "anna", "--keys", keys).hasPrefix("Forgotten.\n"))
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(
            try !restored.audit(limit: 99, all: true).contains { $0.what.contains("anna") }
                && restored.isForgotten("anna"))
    }

    /// Of a key whose owner nobody named any more no backup was made again; who was in a newer backup only was nobody.
    @Test func whomNobodyNamesIsInNobodysWayAndWhoIsInTheBackupsOnlyCanBeForgotten() async throws {
        #expect(try store.allow("one", people: ["anna", "bob", "carl"]))
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let copy = try await copied(fleet)
        _ = try await copy.fleet.run("allow", "one", "anna", "bob")
        _ = try await fleet.run("forget", "carl", "--keys", keys)
        _ = try await copy.fleet.run("backup", folder.file("of-the-copy"), "--keys", keys)
        // Dora came after the copy.
        #expect(try store.allow("one", people: nil))
        try tell(store, "dora", 4)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(try await copy.fleet.run("forget", "dora", code: 3).contains("Nobody goes by that name"))
        #expect(
            try await copy.fleet.run("forget", "dora", "--keys", keys)
                == "Forgotten in the backups, too: the keys are written now.\n")
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(restored) == ["anna", "bob"] && restored.isForgotten("dora"))
    }

    /// Who was forgotten and known again while a restore was under way was forgotten anew by it, and the new key thrown
    /// away; and whose credential was taken back meanwhile was let in.
    @Test func whatHappensWhileARestoreIsUnderWayHoldsThereToo() async throws {
        _ = try await fleet.run("enrol", "chief", "--admin")
        // Set aside, and Anna's, though her name is not spelt out in it.
        let one = try #require(try store.visitor("hash-one"))
        #expect(
            try store.take(
                FleetStoreTests.lines(
                    [], poison: [.init(line: #"{"person":"an\u006ea"}"#, reason: "store is missing")]), from: one
            ).parked == 1)
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        // As at its end: it began with these keys.
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("a"), "--keys", keys)
        #expect(try people(restored) == ["anna", "bob"])
        _ = try await fleet.run("forget", "anna", "--keys", keys)
        _ = try await fleet.run("allow", "one", "anna", "bob", "--keys", keys)
        try tell(store, "anna", 7)
        _ = try await fleet.run("forget", "bob", "--keys", keys)
        _ = try await fleet.run("enrol", "chief", "--revoke")
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        let newest = try BackupKeys(file: Array(Data(contentsOf: URL(fileURLWithPath: keys))))
        for _ in 0..<2 {
            try restored.catchUp(
                newest.forgettings, outlived: BackupKeys(restored).outlived(by: newest), revoked: newest.revoked)
        }
        #expect(try people(restored).isEmpty && !restored.isForgotten("anna") && restored.isForgotten("bob"))
        #expect(try restored.connection.run("SELECT line FROM parked").isEmpty)
        #expect(try restored.connection.run("SELECT name FROM gateway WHERE revoked IS NOT NULL") == [["chief"]])
        #expect(try said("anna") == [true] && said("bob") == [false])
        // It throws nobody's key away.
        _ = try await target.run("backup", folder.file("of-the-restored"), "--keys", keys)
        let (again, third) = try await other()
        _ = try await again.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(third) == ["anna"] && said("anna") == [true])
        _ = try await fleet.run("backup", folder.file("c"), "--keys", keys)
    }

    /// Where a restore was ended from outside PostgreSQL wrote the row that it was at into its log.
    @Test func aRestoreThatIsEndedLeavesNobodyInTheLog() async throws {
        let name = "Anna-Secret-\(UUID().uuidString.prefix(8))"
        let one = try #require(try store.visitor("hash-one"))
        #expect(try store.allow("one", people: nil))
        for first in stride(from: Int64(1), through: 8001, by: 4000) {
            _ = try store.take(
                FleetStoreTests.lines(
                    (first..<first + 4000).map { FleetEntryTests.entry($0, person: name, key: "k\($0)") }), from: one)
        }
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let (target, restored) = try await other()
        let backup = try Data(contentsOf: folder.url("a")),
            keyring = try BackupKeys(file: Array(Data(contentsOf: URL(fileURLWithPath: keys))))
        var place = 0
        #expect(throws: FleetFailure.self) {
            _ = try FleetBackup.restore(into: restored, keys: keyring) { count in
                // Behind the first pieces, with rows on their way.
                if place > backup.count / 2 {
                    try FleetConnection(target.words).run(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                        AND pid <> pg_backend_pid()
                        """
                    )
                }
                defer { place += count }
                return Array(backup.dropFirst(place).prefix(count))
            }
        }
        #expect(try await !PostgreSQL.shared.value.running.error.contains(name))
        #expect(try people(FleetStore(FleetConnection(target.words))).isEmpty)
    }

    /// A person who is called like a gateway was let in by enrolling it, and forgotten again by the next backup: the
    /// first drink was answered with 200 and not stored.
    @Test func whoIsCalledLikeAGatewayIsKnownBeforeItTells() async throws {
        _ = try await fleet.run("backup", folder.file("a"), "--keys", keys)
        let copy = try await copied(fleet)
        try tell(store, "carol", 3)
        _ = try await fleet.run("forget", "carol", "--keys", keys)
        _ = try FleetStoreTests.gateway(copy.store, "carol")
        _ = try await copy.fleet.run("backup", folder.file("b"), "--keys", keys)
        let carol = try #require(try copy.store.visitor("hash-carol"))
        #expect(
            try copy.store.take(FleetStoreTests.lines([FleetEntryTests.entry(1, person: nil)]), from: carol).taken == 1)
    }

    /// Her key was deleted while a backup was sealing with it, and thrown away with that.
    @Test func whoIsAllowedWithTheKeysKeepsAGoodKey() async throws {
        _ = try await fleet.run("forget", "bob", "--keys", keys)
        try store.makeSeals()
        let before = try store.seals(of: digest("anna"))
        _ = try await fleet.run("allow", "one", "anna", "--keys", keys)
        #expect(try store.seals(of: digest("anna")) == before && before.count == 1)
        #expect(try store.enrol("nurse", as: .carer, id: "n", token: "hash-nurse", people: ["anna"]))
        #expect(try await fleet.run("allow", "nurse", "bob", "--keys", keys, code: 3).contains("tells of nobody"))
        #expect(try store.visitor("hash-nurse")?.people == ["anna"])
        let (other, _) = try await other()
        _ = try await other.run("enrol", "one")
        let said = try await other.run("allow", "one", "carl", "--keys", keys, code: 3)
        let audit = try await other.run("audit")
        #expect(said.contains("another fleet") && !audit.contains("carl"))
    }

    /// The fleet as pg_dump has it.
    private func copied(_ original: FleetServeTests.Fleet) async throws -> (
        fleet: FleetServeTests.Fleet, store: FleetStore
    ) {
        let server = try await PostgreSQL.shared.value, name = "c\(UUID().uuidString.prefix(8).lowercased())",
            file = folder.file(name)
        func words(_ fleet: String) throws -> String {
            try #require(fleet.split(separator: " ").first { $0.hasPrefix("dbname=") }.map { String($0.dropFirst(7)) })
        }
        for arguments in [
            ["pg_dump", "-h", server.folder, "-U", "fleet", "-Fc", "-f", file, try words(original.words)],
            ["createdb", "-h", server.folder, "-U", "fleet", "-T", "template0", name],
            ["pg_restore", "-h", server.folder, "-U", "fleet", "-d", name, file],
        ] {
            let result = try await Program(path: "/usr/lib/postgresql/15/bin/" + arguments[0]).run(
                Array(arguments.dropFirst()))
            #expect(result.exitCode == 0, "\(result.error)")
        }
        let copy = FleetServeTests.Fleet(whole: server.words(name))
        return (copy, FleetStore(try FleetConnection(copy.words)))
    }

    @Test func whoseCredentialWasTakenBackSinceIsNotLetInAgain() async throws {
        _ = try FleetStoreTests.gateway(store, "thief")
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        _ = try await fleet.run("enrol", "thief", "--revoke")
        _ = try await fleet.run("backup", folder.file("c"), "--keys", keys)
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(
            try restored.visitor("hash-thief")?.isRevoked == true && restored.visitor("hash-one")?.isRevoked == false)
        #expect(try read().revoked.count == 1)
    }

    @Test func theKeysAreTheirOwnersAloneAndTheAuditSaysWhatWasDone() async throws {
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(chmod(keys, 0o644) == 0)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(try FileManager.default.attributesOfItem(atPath: keys)[.posixPermissions] as? Int == 0o600)
        _ = try await fleet.run("rebuild")
        _ = try await fleet.run("parked", "--again")
        for line in ["a backup was made", "all days were added up again", "what was set aside was read again, 0 taken"]
        { #expect(try await fleet.run("audit").contains(": \(line)\n")) }
        let (target, _) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try await target.run("audit").hasSuffix(": a backup was restored\n"))
    }

    /// Whoever was enrolled in the middle of a restore was mixed into it.
    @Test func nobodyIsEnrolledIntoARestore() async throws {
        let (target, restored) = try await other()
        var pieces = 0
        let counts = try restored.copyIn(seals: [], forgettings: [:], revoked: []) {
            pieces += 1
            guard pieces == 1 else { return nil }
            let beside = FleetStore(try FleetConnection(target.words, statementLimit: .milliseconds(300)))
            #expect(throws: FleetFailure.self) { try beside.enrol("other", as: .reader, id: "o", token: "hash-other") }
            return ("gateway", "id, name, role, token", Array("g\tone\treader\thash-one\n".utf8))
        }
        #expect(counts == ["gateway": 1])
        #expect(throws: FleetFailure.self) { try restored.copyIn(seals: [], forgettings: [:], revoked: []) { nil } }
        #expect(try restored.connection.run("SELECT name FROM gateway").map { $0[0] } == ["one"])
    }
}
