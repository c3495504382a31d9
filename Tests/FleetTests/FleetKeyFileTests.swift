import Foundation
import Support
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

/// The file of the keys of a fleet's backups, as the built `waterh-fleet` writes and reads it: nothing goes out of a backup that nobody had forgotten, and whoever was
/// forgotten does not come back.
@Suite("A fleet's file of keys", .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
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
        #expect(try store.take(FleetStoreTests.lines([FleetEntryTests.entry(place, person: person, key: "A4:C1:38:01:02:03|2026-02-02T22:21:\(place + 10)|\(place)")]), from: one).taken == 1)
    }

    private func other() async throws -> (fleet: FleetServeTests.Fleet, store: FleetStore) {
        let other = try await FleetServeTests.Fleet()
        return (other, FleetStore(try FleetConnection(other.words)))
    }

    private struct Keys: Codable {
        var version: Int
        var seals: [FleetStore.Seal]
        var forgotten: [String], thrown: [String], revoked: [String]
    }

    private func read() throws -> Keys { try JSONDecoder().decode(Keys.self, from: Data(contentsOf: URL(fileURLWithPath: keys))) }

    private func digest(_ name: String) throws -> String { try #require(try store.connection.run("SELECT \(FleetStore.digest("$1"))", [name])[0][0]) }

    private func people(_ store: FleetStore) throws -> [String] { try store.connection.run("SELECT DISTINCT person FROM entry ORDER BY 1").compactMap { $0[0] } }

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
        let named = pieces(whole).filter { place in whole[place + 4..<place + 20].map { String(format: "%02x", $0) }.joined() == id }
        #expect(named.count > 1)
        let (target, copy) = try await other()
        for place in named {
            var changed = whole
            changed[place + 4] ^= 1
            try Data(changed).write(to: folder.url("changed"))
            #expect(try await target.run("restore", folder.file("changed"), "--keys", keys, code: 4).contains("changed"))
        }
        // Bytes behind the end.
        try Data(whole + [0]).write(to: folder.url("changed"))
        #expect(try await target.run("restore", folder.file("changed"), "--keys", keys, code: 4).contains("behind its end"))
        // The name of her key changed in the keys.
        var text = try String(contentsOfFile: keys, encoding: .utf8)
        text.replace(id, with: (id.hasPrefix("0") ? "1" : "0") + id.dropFirst())
        try Data(text.utf8).write(to: folder.url("changed-keys"))
        #expect(try await target.run("restore", folder.file("b"), "--keys", folder.file("changed-keys"), code: 4).contains("Name the newest one"))
        // Keys of before carol came.
        try tell(store, "carol", 3)
        _ = try await fleet.run("backup", folder.file("c"), "--keys", keys)
        #expect(try await target.run("restore", folder.file("c"), "--keys", folder.file("old-keys"), code: 4).contains("1 of the keys that the backup was sealed with are missing"))
        #expect(try copy.isUnused())
        // And of the form that could not tell, in words.
        try Data(Array("Waterh fleet backup 1\n".utf8) + whole.dropFirst(22)).write(to: folder.url("changed"))
        #expect(try await target.run("restore", folder.file("changed"), "--keys", keys, code: 4).contains("older program"))
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
        #expect(try await fleet.run("forget", "bob", "--keys", keys) == "Forgotten.\n")
        #expect(try await copy.run("backup", folder.file("of-the-copy"), "--keys", keys, code: 3).contains("bob"))
        #expect(try await copy.run("forget", "bob", "--keys", keys) == "Forgotten.\n")
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
        for other in ["d2/x", "link", "d1/../d2/x"] { #expect(try await fleet.run("backup", folder.file("d1/x"), "--keys", folder.file(other), code: 2).contains("another file"), "\(other)") }
        #expect(try await fleet.run("backup", folder.file("d1/x.lock"), "--keys", folder.file("d2/x"), code: 2).contains("another file"))
        _ = try await fleet.run("backup", folder.file("d1/y"), "--keys", folder.file("link"))
        // And where both are there already.
        try FileManager.default.linkItem(atPath: folder.file("d1/x"), toPath: folder.file("hard"))
        #expect(try await fleet.run("backup", folder.file("hard"), "--keys", folder.file("link"), code: 2).contains("another file"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("d1")).sorted() == ["x", "x.lock", "y"])
    }

    /// A backup that had read the keys before somebody was forgotten wrote them after that.
    @Test func whoWritesTheKeysHoldsTheirLock() async throws {
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        let lock = open(keys + ".lock", O_RDWR)
        #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        let backup = try Program("waterh-fleet").start(["backup", folder.file("c"), "--keys", keys], environment: fleet.environment)
        let path = URL(fileURLWithPath: keys + ".lock").resolvingSymlinksInPath().path
        // It has all rows, and the lock's file open: it waits for it.
        let waits = await event(within: 30) {
            ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(backup.processIdentifier)/fd")) ?? [])
                .contains { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(backup.processIdentifier)/fd/\($0)")) == path } ? true : nil
        }
        #expect(waits == true && backup.isRunning)
        #expect(try store.forget("bob"))
        close(lock)
        #expect(try await backup.finish().exitCode == 0)
        #expect(try read().seals.map(\.owner).contains(digest("bob")) == false)
        #expect(try read().forgotten == [digest("bob")] && read().thrown.count == 2)
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
        #expect(said.contains("bob is forgotten here, but the keys are not written") && said.contains("once more"), "\(said)")
        #expect(try people(store) == ["anna"] && read().seals.map(\.owner).contains(digest("bob")))
        #expect(try await fleet.run("forget", "bob", code: 3).contains("Nobody goes by that name"))
        try FileManager.default.removeItem(atPath: keys + ".lock")
        #expect(try await fleet.run("forget", "bob", "--keys", keys) == "Forgotten before; the keys are written now.\n")
        #expect(try !read().seals.map(\.owner).contains(digest("bob")))
        #expect(try await fleet.run("forget", "nobody", "--keys", keys, code: 3).contains("Nobody goes by that name"))
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(restored) == ["anna"])
    }

    /// Where nobody had backed up before, the file had no keys, and every later backup was refused as another fleet's.
    @Test func theFirstToWriteTheKeysMayBeWhoForgets() async throws {
        #expect(try await fleet.run("forget", "anna", "--keys", keys) == "Forgotten.\n")
        #expect(try read().seals.contains { $0.owner == FleetStore.fleetOwner })
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        // Nor is a file that was written so another fleet's.
        try Data(#"{"forgotten":[],"seals":[],"version":1}"#.utf8).write(to: URL(fileURLWithPath: keys))
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        let (target, restored) = try await other()
        #expect(try await target.run("backup", folder.file("c"), "--keys", keys, code: 3).contains("the keys of another fleet"))
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try people(restored) == ["bob"])
    }

    /// An older backup knew her as forgotten: what gateways told of her was passed over, and they took it for stored.
    @Test func whoIsAllowedAgainIsKnownWhereAnOlderBackupIsRestored() async throws {
        #expect(try await fleet.run("forget", "anna", "--keys", keys) == "Forgotten.\n")
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        _ = try await fleet.run("allow", "one", "anna")
        _ = try await fleet.run("backup", folder.file("c"), "--keys", keys)
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try !restored.isForgotten("anna"))
        #expect(try restored.connection.run("UPDATE gateway SET people = NULL WHERE name = 'one' RETURNING 1").count == 1)
        try tell(restored, "anna", 9)
        #expect(try people(restored) == ["anna", "bob"])
    }

    @Test func whoseCredentialWasTakenBackSinceIsNotLetInAgain() async throws {
        _ = try FleetStoreTests.gateway(store, "thief")
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        _ = try await fleet.run("enrol", "thief", "--revoke")
        _ = try await fleet.run("backup", folder.file("c"), "--keys", keys)
        let (target, restored) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try restored.visitor("hash-thief")?.isRevoked == true && restored.visitor("hash-one")?.isRevoked == false)
        #expect(try read().revoked.count == 1)
    }

    @Test func theKeysAreTheirOwnersAloneAndTheAuditSaysWhatWasDone() async throws {
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(chmod(keys, 0o644) == 0)
        _ = try await fleet.run("backup", folder.file("b"), "--keys", keys)
        #expect(try FileManager.default.attributesOfItem(atPath: keys)[.posixPermissions] as? Int == 0o600)
        _ = try await fleet.run("rebuild")
        _ = try await fleet.run("parked", "--again")
        for line in ["a backup was made", "all days were added up again", "what was set aside was read again, 0 taken"] { #expect(try await fleet.run("audit").contains(": \(line)\n")) }
        let (target, _) = try await other()
        _ = try await target.run("restore", folder.file("b"), "--keys", keys)
        #expect(try await target.run("audit").hasSuffix(": a backup was restored\n"))
    }

    /// Whoever was enrolled in the middle of a restore was mixed into it.
    @Test func nobodyIsEnrolledIntoARestore() async throws {
        let (target, restored) = try await other()
        var pieces = 0
        let counts = try restored.copyIn(seals: [], forgotten: [], revoked: []) {
            pieces += 1
            guard pieces == 1 else { return nil }
            let beside = FleetStore(try FleetConnection(target.words, statementLimit: .milliseconds(300)))
            #expect(throws: FleetFailure.self) { try beside.enrol("other", as: .reader, id: "o", token: "hash-other") }
            return ("gateway", "id, name, role, token", Array("g\tone\treader\thash-one\n".utf8))
        }
        #expect(counts == ["gateway": 1])
        #expect(throws: FleetFailure.self) { try restored.copyIn(seals: [], forgotten: [], revoked: []) { nil } }
        #expect(try restored.connection.run("SELECT name FROM gateway").map { $0[0] } == ["one"])
    }
}
