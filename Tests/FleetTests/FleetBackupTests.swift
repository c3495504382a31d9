import Foundation
import Support
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

/// The built `waterh-fleet` backs up, restores, and rehearses both.
@Suite(
    "A fleet's backup",
    .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetBackupTests {
    private let fleet: FleetServeTests.Fleet
    private let store: FleetStore
    private let folder: TemporaryFolder

    init() async throws {
        fleet = try await FleetServeTests.Fleet()
        store = FleetStore(try FleetConnection(fleet.words))
        folder = try TemporaryFolder()
        // Two gateways, people with drinks, doubts, lines set aside, a carer; one whom a gateway wants to tell of and
        // may not; one who may be told of and never was.
        let one = try FleetStoreTests.gateway(store, "one"), two = try FleetStoreTests.gateway(store, "two")
        let entries = (1...40).map {
            FleetEntryTests.entry(
                Int64($0), person: $0 % 2 == 0 ? "anna" : "bob \\t",
                key: "A4:C1:38:01:02:03|2026-02-02T22:21:\($0 + 10)|\($0)", ml: $0, day: 20_486 + $0 % 3,
                isDeleted: $0 == 7)
        }
        #expect(
            try store.take(
                FleetStoreTests.lines(
                    entries, poison: [.init(line: #"{"person":"anna"}"#, reason: "store is missing")]), from: one
            ).taken == 40)
        #expect(
            try store.take(FleetStoreTests.lines([FleetEntryTests.entry(1, ml: 999, changed: 9)]), from: two).taken == 1
        )
        try store.take(
            [
                FleetDoubt(
                    bottle: "A4:C1:38:01:02:03", raw: "1A020216151500100000016100", wall: nil, ml: 16,
                    reason: "hostClock", received: Instant(milliseconds: 1))
            ], of: "anna", in: "s1", from: one, boundary: 5)
        #expect(
            try store.allow("one", people: ["anna", "zoe"])
                && store.enrol("nurse", as: .carer, id: "n", token: "hash-nurse", people: ["bob \\t", "anna"]))
        #expect(throws: FleetBatch.NotAllowed.self) {
            try store.take(FleetStoreTests.lines([FleetEntryTests.entry(1, person: "carl")]), from: one)
        }
    }

    private func other() async throws -> FleetServeTests.Fleet { try await FleetServeTests.Fleet() }

    /// The audit says besides that it was backed up there, and restored here.
    private func restoredAs(_ original: [FleetStore.Content], _ copy: FleetStore) throws -> Bool {
        func isAudit(_ content: FleetStore.Content) -> Bool { content.name == "lines of the audit" }
        let back = try copy.contents()
        return original.filter { !isAudit($0) } == back.filter { !isAudit($0) }
            && original.first(where: isAudit)?.rows == back.first(where: isAudit)?.rows
    }

    /// Dumps held everything of who was forgotten, for as long as anybody kept them.
    @Test func whoIsForgottenIsInNoBackupAnyMore() async throws {
        let (first, keys) = (folder.file("first"), folder.file("keys"))
        #expect(
            try await fleet.run("backup", first, "--keys", keys).hasSuffix(
                " rows, among them 41 entries of 2 people.\n"))
        let oldKeys = folder.file("old-keys")
        try FileManager.default.copyItem(atPath: keys, toPath: oldKeys)
        let bytes = try Data(contentsOf: folder.url("first"))
        for word in ["anna", "bob", "A4:C1", "hash-one", "ward"] {
            #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word) can be read in it")
        }
        for file in ["first", "keys"] {
            #expect(
                try FileManager.default.attributesOfItem(atPath: folder.file(file))[.posixPermissions] as? Int == 0o600)
        }

        // With the keys of then everything is there.
        let before = try store.contents()
        let whole = try await other()
        _ = try await whole.run("restore", first, "--keys", oldKeys)
        let copy = FleetStore(try FleetConnection(whole.words))
        #expect(try restoredAs(before, copy) && copy.wrongDays() == 0 && copy.days(of: "anna")?.count == 3)
        #expect(try copy.visitor("hash-nurse")?.sees("anna") == true)

        #expect(try await fleet.run("forget", "anna", "--keys", keys).hasPrefix("Forgotten.\n"))
        #expect(
            try await fleet.run("forget", "bob \\t", "--keys", first, code: 4).contains("no file of a fleet's keys"))
        let later = try await other()
        let said = try await later.run("restore", first, "--keys", keys)
        #expect(
            said.contains("20 entries of 1 people") && said.contains(" rows stay sealed: their key was thrown away"),
            "\(said)")
        #expect(try await fleet.run("backup", folder.file("second"), "--keys", keys).contains("20 entries of 1 people"))
        let rest = FleetStore(try FleetConnection(later.words))
        let tables = try rest.connection.run(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'entry\\_%'"
        ).compactMap { $0[0] }
        #expect(tables.count > 11)
        for table in tables {
            #expect(
                try rest.connection.run("SELECT 1 FROM \(table) AS t WHERE position('anna' IN t::text) > 0").isEmpty,
                "\(table)")
        }
        #expect(
            try rest.days(of: "bob \\t")?.map { "\($0.day) \($0.ml)" }
                == store.days(of: "bob \\t")?.map { "\($0.day) \($0.ml)" } && rest.wrongDays() == 0)
        // Whom the first backup did not know as forgotten is not brought back by a gateway, either.
        let two = try #require(try rest.visitor("hash-two"))
        #expect(
            try rest.take(FleetStoreTests.lines([FleetEntryTests.entry(9)]), from: two).taken == 0
                && rest.days(of: "anna") == nil)
        #expect(try rest.visitor("hash-nurse")?.people == ["bob \\t"])
        // Nor is she in what is backed up from there.
        _ = try await later.run("backup", folder.file("third"), "--keys", keys)
        #expect(try rest.seals().count == store.seals().count)
    }

    /// A server of before there were keys forgets somebody, while newer ones run beside it.
    @Test func anOlderServerThrowsTheKeyAwayToo() throws {
        try store.makeSeals()
        let anna = try #require(try store.connection.run("SELECT \(FleetStore.digest("'anna'"))").first?.first ?? nil)
        // Anna, bob, carl, zoe, the fleet's own, and that of the audit.
        #expect(try store.seals().count == 6 && store.seals(of: anna).count == 1)
        try store.connection.run("INSERT INTO forgotten (digest) VALUES ($1) ON CONFLICT DO NOTHING", [anna])
        #expect(
            try Set(store.seals().map(\.owner)).isDisjoint(with: [anna, FleetStore.memoryOwner])
                && store.seals().count == 4)
        // And a backup that is under way makes her none.
        try store.makeSeals(for: anna)
        try store.makeSeals()
        #expect(try store.seals(of: anna).isEmpty && store.seals().count == 5)
    }

    @Test func aBackupThatIsCutOrChangedIsRefusedAsAWhole() async throws {
        let (file, keys) = (folder.file("b"), folder.file("keys"))
        _ = try await fleet.run("backup", file, "--keys", keys)
        let whole = [UInt8](try Data(contentsOf: folder.url("b")))
        let target = try await other()
        var changed = whole
        changed[whole.count - 5] ^= 1
        var swapped = whole
        swapped[40] ^= 1
        for (bytes, words) in [
            (Array(whole.prefix(10)), "is cut"), (Array(whole.prefix(whole.count / 2)), "is cut"),
            (Array(whole.dropLast(1)), "is cut"), (changed, "changed"), (swapped, "changed"),
            (Array("no backup, but more than thirty-eight bytes\n".utf8), "no backup of a fleet"),
        ] {
            try Data(bytes).write(to: folder.url("broken"))
            let said = try await target.run("restore", folder.file("broken"), "--keys", keys, code: 4)
            #expect(said.contains(words), "\(said)")
        }
        #expect(try await target.run("restore", file, "--keys", file, code: 4).contains("no file of a fleet's keys"))
        #expect(
            try await target.run("restore", folder.file("nowhere"), "--keys", keys, code: 4).contains("cannot be read"))
        #expect(try FleetStore(FleetConnection(target.words)).isUnused(), "nothing of it is there")
        #expect(try await fleet.run("restore", file, "--keys", keys, code: 3).contains("is in use"))
        #expect(
            try await target.run("backup", folder.file("c"), "--keys", keys, code: 3).contains(
                "the keys of another fleet"))
        #expect(try await fleet.run("backup", file, "--keys", file, code: 2).contains("another file"))
        _ = try await target.run("restore", file, "--keys", keys)
        let restored = FleetStore(try FleetConnection(target.words))
        #expect(try restoredAs(store.contents(), restored))
    }

    @Test(arguments: [[], ["--dump"]]) func aRehearsalComparesEverythingAndLeavesNothing(manner: [String]) async throws
    {
        func rehearse(code: Int32) async throws -> (output: String, error: String) {
            let
                rehearsal = try Program("waterh-fleet").start(
                    ["rehearse-restore", "--folder", folder.path] + manner, environment: fleet.environment),
                path = folder.path
            // Its folder is called as its database.
            let place = try await eventAside(within: 60) {
                try FileManager.default.contentsOfDirectory(atPath: path).first
            }
            let result = try await rehearsal.finish()
            #expect(
                try store.connection.run(
                    "SELECT 1 FROM pg_database WHERE datname = 'fleet_rehearsal_' || right($1, 8)", [place]
                ).isEmpty && place?.hasPrefix("waterh-fleet-restore-") == true)
            #expect(result.exitCode == code, "\(result.output)\(result.error)")
            return (result.output, result.error)
        }
        let good = try await rehearse(code: 0).output
        for line in [
            "The same, entries by identity: 41.", "The same, days with their sums: 6.", "The same, people: 2.",
            "The same, gateways and others with a credential: 3.",
            "All days that were added up are those of their entries.", "What was restored is what there was.",
        ] {
            #expect(good.contains(line + "\n"), "\(line): \(good)")
        }
        // The judge is awake: a row that no backup takes along, and a day that was added up wrongly.
        try store.refresh()
        if manner.isEmpty {
            try store.connection.run("INSERT INTO forgotten (digest) VALUES (\(FleetStore.digest("'bob \\t'")))")
        } else {
            try store.connection.run("UPDATE day_roll SET ml = ml + 1 WHERE person = 'anna' AND day = '2026-02-02'")
        }
        let bad = try await rehearse(code: 1)
        #expect(
            bad.output.contains(
                manner.isEmpty
                    ? "DIFFERENT, entries by identity: 41 in the original, 21 restored."
                    : "DIFFERENT, 1 days are added up otherwise"), "\(bad)")
        #expect(bad.error.contains("is not what there was"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
