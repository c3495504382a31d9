import Foundation
import Support
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

/// What is remembered beyond drinks: how far stores are known, what lies in doubt, who is forgotten, who may look.
@Suite(
    "What a fleet remembers and forgets",
    .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetMemoryTests {
    private let store: FleetStore

    init() async throws { store = FleetStore(try FleetConnection(try await PostgreSQL.database())) }

    private func ml(_ person: String = "anna") throws -> Int {
        try store.days(of: person)?.reduce(0) { $0 + $1.ml } ?? 0
    }

    /// A store that was put back from a backup counted its changes from there again, and corrections were overlooked.
    @Test func aStoreThatWasPutBackTellsOnInAnotherGeneration() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        func tell(_ entries: [FleetEntry], after place: Int64, _ generation: Int = 0) throws -> FleetBatch {
            try store.take(
                FleetStoreTests.lines(entries), from: gateway,
                standing: .init(store: "s1", generation: generation, place: place))
        }
        #expect(
            try tell(
                [FleetEntryTests.entry(1, key: "a", ml: 100), FleetEntryTests.entry(2, key: "b", ml: 200)], after: 0
            ).taken == 2)
        #expect(
            try tell(
                [FleetEntryTests.entry(3, key: "a", ml: 150, changed: 2), FleetEntryTests.entry(4, key: "c", ml: 400)],
                after: 2
            ).taken == 2)
        // The backup is of after the second: it counts from there again.
        var again = FleetEntryTests.entry(3, key: "b", ml: 250, changed: 3)
        let repeats = #expect(throws: FleetBatch.Repeats.self) { try tell([again], after: 2) }
        #expect(repeats?.ahead.generation == 1 && repeats?.ahead.keys == ["c", "a"])
        #expect(try ml() == 750, "nothing of it was stored")
        again.generation = 1
        var back = FleetEntryTests.entry(2, key: "a", ml: 100)
        back.generation = 1
        #expect(try tell([back], after: 2, 1).taken == 1)
        #expect(try tell([again], after: 2, 1).taken == 1)
        // What the store does not know any more stays; what it does counts as it is there.
        #expect(try ml() == 100 + 250 + 400)
        // What comes late from before the backup was put back changes nothing.
        #expect(
            try store.take(
                FleetStoreTests.lines([FleetEntryTests.entry(9, key: "a", ml: 999, changed: 9)]), from: gateway
            ).taken == 0)
        #expect(try ml() == 750)
        // Put back a second time it is yet another one, and a store of another name is known no further than it says.
        #expect(#expect(throws: FleetBatch.Repeats.self) { try tell([again], after: 2) }?.ahead.generation == 2)
        #expect(
            try store.take(
                FleetStoreTests.lines([FleetEntryTests.entry(1, store: "s2", key: "d")]), from: gateway,
                standing: .init(store: "s2", generation: 0, place: 0)
            ).taken == 1)
    }

    @Test func whatLiesInDoubtIsKnownUntilItIsSettled() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        let doubts = (1...3).map {
            FleetDoubt(
                bottle: "A4:C1:38:01:02:03", raw: "1A02021615150010000001610\($0)",
                wall: $0 == 1 ? nil : "2026-02-02T22:21:15", ml: 16, reason: "hostClock",
                received: Instant(milliseconds: Int64($0)))
        }
        try store.take(doubts, of: "anna", in: "s1", from: gateway)
        try store.take(Array(doubts[..<1]), of: "anna", in: "s2", from: gateway)
        #expect(try store.overview(now: Instant(milliseconds: 0)).people.map { [$0.name: $0.doubts] } == [["anna": 3]])
        #expect(try store.doubts(of: "anna") == doubts.reversed() && ml() == 0)
        try store.take(Array(doubts[1..<2]), of: "anna", in: "s1", from: gateway)
        #expect(try store.doubts(of: "anna") == [doubts[1], doubts[0]])
        for other in ["s1", "s2"] { try store.take([], of: "anna", in: other, from: gateway) }
        #expect(try store.overview(now: Instant(milliseconds: 0)).people.map(\.doubts) == [0])
        #expect(try store.allow("one", people: []))
        #expect(throws: FleetBatch.NotAllowed.self) { try store.take(doubts, of: "anna", in: "s1", from: gateway) }
    }

    @Test func whoIsForgottenIsNowhereAndDoesNotComeBackByItself() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        let mine = FleetEntryTests.entry(1, key: "A4:C1:38:01:02:03|2026-02-02T22:21:15|16"),
            other = FleetEntryTests.entry(2, person: "bob", key: "b", ml: 7)
        func tell() throws -> FleetBatch {
            try store.take(
                FleetStoreTests.lines(
                    [mine, other], poison: [.init(line: #"{"person":"anna"}"#, reason: "it is no JSON")]), from: gateway
            )
        }
        #expect(try tell().taken == 2)
        try store.take(
            [
                FleetDoubt(
                    bottle: "B", raw: "1A020216151500100000016100", wall: nil, ml: 16, reason: "hostClock",
                    received: Instant(milliseconds: 1))
            ], of: "anna", in: "s1", from: gateway)
        #expect(try store.allow("one", people: ["anna", "bob"]) && ml() == 16)
        #expect(try store.forget("anna", by: "root") && !store.forget("nobody"))
        // No table holds the name any more, in no column.
        let tables = try store.connection.run(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'entry\\_%'"
        ).compactMap { $0[0] }
        #expect(tables.count > 10)
        for table in tables {
            #expect(
                try store.connection.run("SELECT 1 FROM \(table) AS t WHERE position('anna' IN t::text) > 0").isEmpty,
                "\(table)")
        }
        #expect(try store.days(of: "anna") == nil && ml("bob") == 7)
        #expect(try store.audit(limit: 10).last.map { "\($0.who): \($0.what)" } == "root: a person was forgotten")
        #expect(try store.allow("one", people: nil))
        #expect(try tell().taken == 0 && store.days(of: "anna") == nil)
        // Somebody wants it so again.
        #expect(try store.allow("one", people: ["anna", "bob"]))
        #expect(try tell().taken == 1 && ml() == 16)
    }

    /// The name came back as that of somebody of whom a gateway may not tell, onto the overview; and the gateway waited
    /// for good.
    @Test func whomAGatewayTellsOfAfterwardsIsPassedOverAndNotNamed() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        #expect(try store.allow("one", people: ["anna"]))
        #expect(try store.take(FleetStoreTests.lines([FleetEntryTests.entry()]), from: gateway).taken == 1)
        #expect(try store.forget("anna"))
        let again = try store.take(FleetStoreTests.lines([FleetEntryTests.entry()]), from: gateway)
        #expect(again.taken == 0 && again.known == 1)
        try store.take([], of: "anna", in: "s1", from: gateway)
        #expect(try store.overview(now: Instant(milliseconds: 0)).gateways.map(\.wants) == [nil])
        #expect(throws: FleetBatch.NotAllowed.self) {
            try store.take(FleetStoreTests.lines([FleetEntryTests.entry(person: "bob")]), from: gateway)
        }
    }

    /// Of somebody called "to" everything went that held these two letters: the audit of all others, and what their
    /// gateways had set aside.
    @Test func whoHasAShortNameIsForgottenAndNobodyElse() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        #expect(try store.allow("one", people: ["to", "tom", "a.b"]))
        let batch = [
            FleetEntryTests.entry(1, person: "to"), FleetEntryTests.entry(2, person: "tom"),
            FleetEntryTests.entry(3, person: "a.b"),
        ]
        let poison = ["tom", "to", "axb"].map {
            FleetLines.Poison(line: #"{"person":"\#($0)"}"#, reason: "store is missing")
        }
        #expect(try store.take(FleetStoreTests.lines(batch, poison: poison), from: gateway).taken == 3)
        let nurse = FleetVisitor(id: "n", name: "nurse", role: .carer, isRevoked: false)
        for person in ["tom", "to"] { try store.noteLook(nurse, at: person) }
        for person in ["to", "a.b"] { #expect(try store.forget(person, by: "root")) }
        let gone = "(a person was forgotten)"
        let known = try store.audit(limit: 20, all: true).map { "\($0.who): \($0.what)" }
        for line in [
            "nurse: looked at tom", "nurse: looked at \(gone)", "one: told 3 of \(gone), \(gone), tom",
            "fleet: one was enrolled, to tell of anybody",
            "fleet: one may tell of the one who is called so, \(gone), \(gone), tom",
        ] {
            #expect(known.contains(line), "\(line): \(known)")
        }
        #expect(
            try store.connection.run("SELECT line FROM parked ORDER BY line") == [
                [#"{"person":"axb"}"#], [#"{"person":"tom"}"#],
            ])
        #expect(try store.days(of: "tom")?.count == 1 && store.days(of: "to") == nil)
    }

    @Test func aCarerSeesWhomItCaresForAndABatchAndALookAreNoted() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        _ = try store.take(
            FleetStoreTests.lines([FleetEntryTests.entry(1), FleetEntryTests.entry(2, person: "bob", key: "b")]),
            from: gateway)
        #expect(try store.enrol("nurse", as: .carer, id: "n", token: "hash-nurse", people: ["bob"]))
        let nurse = try #require(try store.visitor("hash-nurse"))
        #expect(nurse.sees("bob") && !nurse.sees("anna") && !gateway.sees("bob"))
        let seen = try store.overview(now: Instant(milliseconds: 0), for: nurse)
        #expect(seen.people.map(\.name) == ["bob"] && seen.gateways.isEmpty && seen.bottles.isEmpty)
        try store.noteLook(nurse, at: "bob")
        #expect(try store.allow("nurse", people: ["anna"]) && store.visitor("hash-nurse")?.sees("anna") == true)
        #expect(
            try store.audit(limit: 9).map(\.what) == [
                "one was enrolled, to tell of anybody", "nurse was enrolled, to care for bob", "nurse cares for anna",
            ])
        let all = try store.audit(limit: 9, all: true).map { "\($0.who): \($0.what)" }
        #expect(all.contains("one: told 2 of anna, bob") && all.contains("nurse: looked at bob"), "\(all)")
        try store.connection.run("UPDATE audit SET at = now() - interval '91 days'")
        try store.tidy()
        #expect(try store.audit(limit: 9, all: true).count == 3)
    }

    /// Who cared for anybody saw gateways, which are no carer's business, and who told doubts was noted nowhere.
    @Test func aCarerOfAnybodySeesNoGatewaysAndDoubtsAreNoted() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        _ = try store.take(FleetStoreTests.lines([FleetEntryTests.entry(1)]), from: gateway)
        #expect(try store.enrol("nurse", as: .carer, id: "n", token: "hash-nurse"))
        let nurse = try #require(try store.visitor("hash-nurse"))
        let seen = try store.overview(now: Instant(milliseconds: 0), for: nurse)
        #expect(seen.people.map(\.name) == ["anna"] && seen.bottles.map(\.gateway) == [nil] && seen.gateways.isEmpty)
        let doubt = FleetDoubt(
            bottle: "b", raw: "1A020216151500100000016100", wall: nil, ml: 16, reason: "hostClock",
            received: Instant(milliseconds: 1))
        try store.take([doubt], of: "anna", in: "s1", from: gateway)
        // Nothing changed, and somebody who is not known is not named.
        try store.take([], of: "nobody", in: "s1", from: gateway)
        for doubts in [[doubt], []] { try store.take(doubts, of: "to", in: "s1", from: gateway) }
        #expect(
            try store.audit(limit: 9, all: true).suffix(3).map { "\($0.who): \($0.what)" }.sorted() == [
                "one: told 0 doubts of to", "one: told 1 doubts of anna", "one: told 1 doubts of to",
            ])
        #expect(try store.forget("to") && store.forget("anna"))
        let known = try store.audit(limit: 9, all: true).map(\.what)
        #expect(
            known.contains("told 1 doubts of (a person was forgotten)") && !known.contains { $0.contains("anna") },
            "\(known)")
        try store.take([doubt], of: "anna", in: "s1", from: gateway)
        #expect(try !store.audit(limit: 9, all: true).contains { $0.what.contains("anna") })
    }

    /// After a name was forgotten and allowed again, and in a fleet that was put back, the hour at which the person's
    /// days begin was unknown until somebody changed it.
    @Test func aFleetThatLostDoubtsAndTheHourAsksForThem() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        var place: Int64 = 0
        func asks(_ mark: String?) throws -> Bool {
            place += 1
            let standing = FleetStanding(store: "s1", generation: 0, place: place - 1)
            return try store.take(
                FleetStoreTests.lines([FleetEntryTests.entry(place, key: "k\(place)")]), from: gateway,
                standing: standing, doubts: mark
            ).lacksDoubts
        }
        #expect(try !asks(nil) && asks("m1"))
        try store.take([], of: "anna", in: "s1", from: gateway, boundary: 6, mark: "m1")
        #expect(try !asks("m1") && asks("m2"))
        // A store of before it told any: put back from a backup, it would say nothing, and the hour of then would stay.
        #expect(try asks(nil))
        #expect(try store.forget("anna"))
        // Nobody is asked of whom nothing is kept.
        #expect(try !asks("m1"))
        try store.take([], of: "anna", in: "s1", from: gateway, boundary: 6, mark: "m1")
        #expect(try store.allow("one", people: ["anna"]) && asks("m1"))
        try store.take([], of: "anna", in: "s1", from: gateway, boundary: 6, mark: "m1")
        #expect(try !asks("m1") && store.connection.run("SELECT boundary FROM person") == [["6"]])
        // A gateway of before says no mark: what it told is not what a later one believes.
        try store.take([], of: "anna", in: "s1", from: gateway, boundary: 5)
        #expect(try asks("m1"))
        // A store that told nothing but doubts is known no further than that.
        try store.take([], of: "anna", in: "s2", from: gateway, boundary: 5, mark: "m")
        let first = try store.take(
            FleetStoreTests.lines([FleetEntryTests.entry(1, store: "s2", key: "x")]), from: gateway,
            standing: .init(store: "s2", generation: 0, place: 0), doubts: "m")
        #expect(first.taken == 1 && !first.lacksDoubts)
    }

    /// Lines without a person, with a name that JSON writes otherwise, and what came afterwards stayed, with bottle,
    /// amount and moment.
    @Test func whatWasSetAsideOfWhoIsForgottenGoesHoweverItNamesThem() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        _ = try store.take(
            FleetStoreTests.lines([
                FleetEntryTests.entry(1, person: "An\"na"), FleetEntryTests.entry(2, person: "Zo\u{EB}"),
                FleetEntryTests.entry(3, person: nil),
            ]), from: gateway)
        let told = [
            #"{"person":"An\"na","ml":1}"#, #"{"person":"An\u0022na","ml":2,"#, #"{"person":"Zo\u00eb","ml":3}"#,
            #"{"ml":4,"key":"A4:C1:38:01:02:03|2026-02-02T22:21:15|4"}"#, "{", #"{"person":"bob","ml":5}"#,
        ]
        let lines = try FleetLines(Array(told.joined(separator: "\n").utf8))
        #expect(lines.poison.count == 6 && lines.entries.isEmpty)
        #expect(try store.take(lines, from: gateway).parked == 6)
        // And as a server of before this keeps it.
        try store.connection.run(
            """
            INSERT INTO parked (gateway, digest, line, reason) VALUES ('id-one', 'x', $1, 'r'), ('id-one', 'y', \
            '{\"ml\":6}', 'r')
            """,
            [#"{"person":"An\u0022na","ml":7}"#])
        for (person, left) in [("An\"na", 5), ("Zo\u{EB}", 4), ("one", 1)] {
            #expect(try store.forget(person))
            let lines = try store.parkedLines(limit: 20)
            #expect(lines.count == left, "\(person): \(lines)")
        }
        let again = try store.take(lines, from: gateway)
        #expect(again.parked == 1 && again.known == 5 && again.taken == 0)
        #expect(try store.parkedLines(limit: 20).map(\.line) == [told[5]])
    }

    /// A byte that is no text became a sign, and the sign an entry: of a person whom nobody knows, and of a second
    /// drink. And a gateway that was silent for days had just been seen.
    @Test func whatWasAlteredWhenItWasSetAsideIsNeverTaken() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        func bytes(_ entry: FleetEntry, _ old: String = "", _ new: [UInt8] = []) throws -> [UInt8] {
            let line = try FleetLines.bytes([entry])
            guard !old.isEmpty, let place = line.firstRange(of: Array(old.utf8)) else { return line }
            return line[..<place.lowerBound] + new + line[place.upperBound...]
        }
        let altered =
            try bytes(FleetEntryTests.entry(1, person: "Zo*", key: "a"), "*", [0xFF])
            + bytes(FleetEntryTests.entry(2, key: "b*"), "*", [0x7F])
            + bytes(FleetEntryTests.entry(3, key: "c"), "\n", [0xFE, 10])
            + bytes(FleetEntryTests.entry(4, key: "d"), "\n", Array(repeating: 32, count: 4096) + [1, 10])
        let lines = try FleetLines(altered)
        #expect(lines.poison.count == 4 && lines.poison.allSatisfy { !$0.isWhole })
        #expect(try store.take(lines, from: gateway).parked == 4)
        // As an older program kept it: it says nothing of that, and one that was kept with its end only is whole.
        let whole = String(decoding: try bytes(FleetEntryTests.entry(6, key: "f", ml: 40)).dropLast(), as: UTF8.self)
        for (digest, line) in [
            ("x", whole + "\u{FFFD}"),
            ("y", String(decoding: try bytes(FleetEntryTests.entry(5, key: "e\u{FFFD}")).dropLast(), as: UTF8.self)),
        ] {
            try store.connection.run(
                "INSERT INTO parked (gateway, digest, line, reason) VALUES ('id-one', $1, $2, 'it is no JSON')",
                [digest, line])
        }
        try store.connection.run("UPDATE gateway SET last_seen = now() - interval '3 days'")
        let again = try store.takeParkedAgain()
        #expect(again.taken == 1 && again.left == 5, "\(again)")
        #expect(try ml() == 40 && store.overview(now: Instant(milliseconds: 0)).people.count == 1)
        #expect(try store.connection.run("SELECT last_seen < now() - interval '2 days' FROM gateway") == [["t"]])
        #expect(try store.allow("one", people: []) && store.takeParkedAgain().left == 5)
        #expect(
            try store.connection.run("SELECT last_seen < now() - interval '2 days', wants FROM gateway") == [
                ["t", nil]
            ])
    }

    /// Whoever enrolled a gateway for somebody who was forgotten was told nothing, and their drinks were swallowed with
    /// 200.
    @Test func whoIsEnrolledToTellOfSomebodyForgottenMakesThemKnownAgain() throws {
        let one = try FleetStoreTests.gateway(store, "one")
        _ = try store.take(
            FleetStoreTests.lines([
                FleetEntryTests.entry(1), FleetEntryTests.entry(2, person: "dora", key: "d"),
                FleetEntryTests.entry(3, person: "bob", key: "b"),
            ]), from: one)
        for person in ["anna", "dora", "bob"] { #expect(try store.forget(person)) }
        #expect(try store.forgotten(among: ["carol", "dora", "anna"]) == ["anna", "dora"])
        #expect(
            try store.enrol("nurse", as: .carer, id: "n", token: "t", people: ["anna"])
                && !store.enrol("one", as: .gateway, id: "x", token: "y", people: ["anna"]))
        #expect(try store.forgotten(among: ["anna", "dora"]) == ["anna", "dora"])
        #expect(try store.enrol("dora", as: .gateway, id: "id-dora", token: "hash-dora", people: ["anna"]))
        let dora = try #require(try store.visitor("hash-dora"))
        #expect(
            try store.take(
                FleetStoreTests.lines([FleetEntryTests.entry(1, person: nil), FleetEntryTests.entry(2, key: "a")]),
                from: dora
            ).taken == 2)
        #expect(try store.forgotten(among: ["anna", "bob", "dora"]) == ["bob"])
    }

    /// "Nobody goes by that name", and the lines stayed.
    @Test func whoIsNamedOnlyInWhatWasSetAsideCanBeForgotten() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        func park(_ person: String, _ line: String) throws -> Int {
            var poison = FleetLines.Poison(line: line, reason: "store is missing")
            poison.person = person
            return try store.take(FleetStoreTests.lines([], poison: [poison]), from: gateway).parked
        }
        #expect(try park("carl", #"{"person":"carl"}"#) == 1 && park("dora", #"{"person":"dora"}"#) == 1)
        #expect(try store.forget("carl") && !store.forget("carl") && !store.forget("nobody"))
        #expect(
            try store.parkedLines(limit: 9).map(\.line) == [#"{"person":"dora"}"#]
                && park("carl", #"{"person":"carl","key":1}"#) == 0)
        // A program of before it was kept whose they are goes on beside this one, and does not ask who is forgotten.
        try store.connection.run(
            "INSERT INTO parked (gateway, digest, line, reason) VALUES ('id-one', 'd', $1, 'store is missing')",
            [#"{"person":"carl","key":2}"#])
        #expect(try store.forget("dora") && store.parkedLines(limit: 9).isEmpty)
    }

    /// A person who is called by a number, or by a word that stands in every line, took everybody's lines along.
    @Test(arguments: ["1", "key", "store", "anna"]) func whoHasAShortNameTakesNobodysLinesAlong(name: String) throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        func poison(_ line: String, _ person: String?) -> FleetLines.Poison {
            var poison = FleetLines.Poison(line: line, reason: "key is missing, store 1")
            poison.person = person
            return poison
        }
        let others = [
            #"{"version": 1,"person":"bob","store":"s1","day":1}"#, #"{"version": 1,"person" : "carl","key":"k|1|1"}"#,
            #"{"version": 1, broken"#,
        ]
        let theirs = [
            #"{"version": 1,"person":"\#(name)"}"#, #"broken, {"person" :  "\#(name)""#, #"{"who": "\#(name)", broken"#,
        ]
        let all = zip(others, ["bob", "carl", nil]).map(poison) + zip(theirs, [name, nil, nil]).map(poison)
        #expect(
            try store.take(FleetStoreTests.lines([FleetEntryTests.entry(1, person: name)], poison: all), from: gateway)
                .parked == 6)
        #expect(try store.forget(name))
        #expect(try Set(store.parkedLines(limit: 9).map(\.line)) == Set(others))
    }

    /// Named twice, named and never told of, looked at or wanted while being forgotten: the name stayed for good.
    @Test func noNameStaysInTheAudit() throws {
        _ = try FleetStoreTests.gateway(store, "one")
        #expect(
            try store.allow("one", people: ["anna", "anna", "bob", "anna"]) && store.allow("one", people: ["bob"])
                && store.allow("one", people: []))
        #expect(
            try store.enrol("nurse", as: .carer, id: "n", token: "hash-nurse", people: ["carl", "carl"])
                && store.allow("nurse", people: ["dora"]))
        for name in ["anna", "bob", "carl"] {
            #expect(try store.forget(name), "\(name)")
            #expect(try !store.forget(name), "\(name)")
            #expect(try !store.audit(limit: 99, all: true).contains { $0.what.contains(name) }, "\(name)")
        }
        let one = try #require(try store.visitor("hash-one")), nurse = try #require(try store.visitor("hash-nurse"))
        try store.noteLook(nurse, at: "anna")
        #expect(throws: FleetBatch.NotAllowed.self) {
            try store.take(FleetStoreTests.lines([FleetEntryTests.entry(1, person: "fritz")]), from: one)
        }
        #expect(
            try !store.audit(limit: 99, all: true).contains { $0.what.contains("anna") }
                && store.audit(limit: 99, all: true).contains { $0.what.contains("dora") })
        #expect(try store.allow("one", people: nil) && store.forget("fritz") == false)
        // Nor where somebody is called as nobody is.
        #expect(
            try store.allow("nurse", people: nil)
                && store.take(FleetStoreTests.lines([FleetEntryTests.entry(1, person: "anybody")]), from: one).taken
                    == 1
                && store.forget("anybody"))
        #expect(try store.audit(limit: 99).contains { $0.what == "one may tell of anybody" })
    }

    /// Who was looked at, or wanted by a gateway that may not tell of her, while she was being forgotten was named
    /// behind that.
    @Test func whoIsLookedAtOrWantedWhileBeingForgottenIsNotNamed() async throws {
        let one = try FleetStoreTests.gateway(store, "one")
        _ = try store.take(FleetStoreTests.lines([FleetEntryTests.entry(1)]), from: one)
        #expect(try store.allow("one", people: []) && store.enrol("desk", as: .reader, id: "d", token: "hash-desk"))
        let desk = try #require(try store.visitor("hash-desk")),
            database = try await PostgreSQL.shared.value.words(
                #require(try store.connection.run("SELECT current_database()").first?.first ?? nil))
        let other = try FleetConnection(database)
        try other.script(
            """
            BEGIN; SELECT pg_advisory_xact_lock(\(FleetStore.batchLock)); INSERT INTO forgotten (digest) VALUES \
            (\(FleetStore.digest("'anna'")))
            """
        )
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        Thread.detachNewThread {
            end.yield((try? FleetStore(FleetConnection(database)).noteLook(desk, at: "anna")) != nil)
        }
        let isWaiting = try await eventAside {
            try FleetConnection(database).run(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()"
            ).isEmpty ? nil : true
        }
        #expect(isWaiting == true)
        try other.script("COMMIT")
        #expect(await ends.first { _ in true } == true)
        #expect(try !store.audit(limit: 99, all: true).contains { $0.what == "looked at anna" })
    }

    /// Who was allowed, enrolled for or learnt of while somebody forgot her was forgotten and named at once; so was who
    /// came with a batch while the keys were learnt of.
    @Test(arguments: [true, false]) func whoAllowsOrLearnsWaitsForWhoeverForgetsAndForBatches(isForgetting: Bool)
        async throws
    {
        _ = try FleetStoreTests.gateway(store, "one")
        let
            database = try await PostgreSQL.shared.value.words(
                #require(try store.connection.run("SELECT current_database()").first?.first ?? nil)),
            owner = try store.owner("bob")
        let actions: [@Sendable (FleetStore) throws -> Void] =
            isForgetting
            ? [
                { _ = try $0.allow("one", people: ["anna"]) },
                { _ = try $0.enrol("two", as: .gateway, id: "id-two", token: "hash-two", people: ["anna"]) },
                { _ = try $0.forgetOnceMore("anna") },
            ]
            : [{ try $0.learn([owner: ["e": false]]) }, { _ = try $0.forgetOnceMore("anna") }]
        for action in actions {
            let holder = try FleetConnection(database)
            try holder.script(
                "BEGIN; SELECT pg_advisory_xact_lock\(isForgetting ? "" : "_shared")(\(FleetStore.batchLock))")
            let (ends, end) = AsyncStream.makeStream(of: Result<Void, any Error>.self)
            Thread.detachNewThread { end.yield(Result { try action(FleetStore(FleetConnection(database))) }) }
            let isWaiting = try await eventAside {
                try FleetConnection(database).run(
                    "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()"
                ).isEmpty ? nil : true
            }
            #expect(isWaiting == true)
            try holder.script("COMMIT")
            try await #require(ends.first { _ in true }).get()
        }
        #expect(try store.isForgotten("bob") == !isForgetting)
    }

    /// Whose name was changed in a gateway's file left doubts behind that nobody settled any more.
    @Test func whoIsCalledOtherwiseLeavesNoDoubtsBehind() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        let doubt = FleetDoubt(
            bottle: "b", raw: "1A020216151500100000016100", wall: nil, ml: 16, reason: "hostClock",
            received: Instant(milliseconds: 1))
        for name in ["s1", "s2"] { try store.take([doubt], of: "anna", in: name, from: gateway, mark: "m") }
        try store.take([doubt], of: "anne", in: "s1", from: gateway, mark: "n")
        #expect(
            try store.connection.run("SELECT person, store FROM doubt ORDER BY 1, 2") == [
                ["anna", "s2"], ["anne", "s1"],
            ])
    }

    /// A server that was stopped within a batch, and somebody who forgot, or learnt who is forgotten elsewhere: all
    /// other gateways waited behind the latter, for 19 s.
    @Test(arguments: [true, false]) func whoForgetsOrLearnsWhileABatchHangsKeepsNobodyOut(isForgetting: Bool)
        async throws
    {
        let gateway = try FleetStoreTests.gateway(store, "one")
        _ = try store.take(FleetStoreTests.lines([FleetEntryTests.entry(1)]), from: gateway)
        let words = try #require(try store.connection.run("SELECT current_database()").first?.first ?? nil)
        let database = try await PostgreSQL.shared.value.words(words)
        let other = try FleetConnection(database)
        try other.script("BEGIN; SELECT pg_advisory_xact_lock_shared(\(FleetStore.batchLock))")
        // On a thread of its own: other tests keep the pool's waiting.
        let (ends, end) = AsyncStream.makeStream(of: Result<Bool, any Error>.self)
        let elsewhere = try store.owner("carl")
        Thread.detachNewThread {
            end.yield(
                Result {
                    let store = FleetStore(try FleetConnection(database))
                    if isForgetting { return try store.forget("anna", within: .seconds(300)) }
                    try store.learn([elsewhere: ["e": false]], within: .seconds(300))
                    return try store.isForgotten("carl")
                })
        }
        let isWaiting = try await eventAside {
            try FleetConnection(database).run(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()"
            ).isEmpty ? nil : true
        }
        #expect(isWaiting == true)
        let before = ContinuousClock.now
        for place in 2...4 {
            #expect(
                try store.take(
                    FleetStoreTests.lines([FleetEntryTests.entry(Int64(place), person: "bob", key: "b\(place)")]),
                    from: gateway
                ).taken == 1)
        }
        #expect(ContinuousClock.now - before < .seconds(10))
        try other.script("COMMIT")
        let ended = await ends.first { _ in true }
        #expect(try ended?.get() == true && (store.days(of: "anna") == nil) == isForgetting)
    }

    /// Of two spellings of a name the doubts of one stood at both, and who watched heard of one of them.
    @Test func doubtsAndDaysOfTwoSpellingsOfANameAreTwoPeoples() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        let (one, two) = ("Zo\u{EB}", "Zoe\u{308}")
        _ = try store.take(
            FleetStoreTests.lines([FleetEntryTests.entry(1, person: one), FleetEntryTests.entry(2, person: two)]),
            from: gateway)
        for (person, count) in [(one, 1), (two, 3)] {
            try store.take(
                (1...count).map {
                    FleetDoubt(
                        bottle: "b", raw: "1A02021615150010000001610\($0)", wall: nil, ml: 16, reason: "hostClock",
                        received: Instant(milliseconds: 1))
                }, of: person, in: "s\(count)", from: gateway)
        }
        try store.connection.script("LISTEN \(FleetStore.channel)")
        #expect(try store.refresh().people.count == 2)
        #expect(
            try store.overview(now: Instant(milliseconds: 0)).people.map {
                $0.name.utf8.elementsEqual(one.utf8) ? $0.doubts : 10 * $0.doubts
            }.sorted() == [1, 30])
        let said = try store.connection.notifications(within: .seconds(10)).flatMap { $0.split(separator: "\n") }
        #expect(said.count == 2 && Set(said.map { Array($0.utf8) }) == [Array(one.utf8), Array(two.utf8)])
    }

    /// What a newer program understands was set aside for good.
    @Test func whatWasSetAsideIsShownAndTakenAgain() throws {
        let gateway = try FleetStoreTests.gateway(store, "one"), other = try FleetStoreTests.gateway(store, "two")
        var refused = FleetEntryTests.entry(3, key: "c")
        refused.drink?.ml = -5
        func line(_ entry: FleetEntry) throws -> String {
            String(decoding: try FleetLines.bytes([entry]).dropLast(), as: UTF8.self)
        }
        // As an older program kept it, with the end of the line.
        let poison = [
            FleetLines.Poison(line: try line(FleetEntryTests.entry(1, ml: 40)) + "\n", reason: "it is no JSON"),
            .init(line: try line(FleetEntryTests.entry(2, person: "bob", key: "b", ml: 50)), reason: "of another type"),
            .init(line: "{", reason: "it is no JSON"),
        ]
        _ = try store.take(FleetStoreTests.lines([refused], poison: poison), from: gateway)
        _ = try store.take(
            FleetStoreTests.lines(
                [], poison: [.init(line: try line(FleetEntryTests.entry(7, key: "z", ml: 1)), reason: "x")]),
            from: other)
        #expect(try store.allow("one", people: ["anna"]) && store.revoke("two"))
        let lines = try store.parkedLines(limit: 10)
        #expect(lines.count == 5 && lines.filter { $0.gateway == "two" }.map(\.reason) == ["x"])
        #expect(try store.parkedLines(of: "one", limit: 10).count == 4 && store.parkedLines(limit: 2).count == 2)
        let again = try store.takeParkedAgain()
        #expect(again.taken == 1 && again.known == 0 && again.left == 4 && again.refused.count == 2, "\(again)")
        #expect(try ml() == 40 && ml("bob") == 0 && store.parkedLines(limit: 10).count == 4)
        #expect(try store.allow("one", people: ["anna", "bob"]))
        #expect(try store.takeParkedAgain(of: "one").taken == 1 && ml("bob") == 50)
        let left = try store.parkedLines(of: "one", limit: 10).map(\.line)
        #expect(
            left.count == 2 && left.contains("{") && left.contains { $0.hasSuffix("}") && $0.contains(#""ml":-5"#) },
            "\(left)")
    }

    /// A server of before the days were added up knows nothing of them, and stores side by side with newer ones.
    @Test func whatAnOlderServerStoresIsAddedUpToo() throws {
        let gateway = try FleetStoreTests.gateway(store, "one")
        _ = try store.take(FleetStoreTests.lines([FleetEntryTests.entry(1, ml: 100)]), from: gateway)
        #expect(try ml() == 100)
        try store.connection.run(
            """
            INSERT INTO entry (person, key, gateway, store, place, at, zone, day, ml, deleted, changed) VALUES \
            ('anna', 'x', 'id-one', 's1', 2, 1, 'UTC', '2026-02-03', 50, false, 1)
            """)
        #expect(try ml() == 150)
        try store.connection.run("UPDATE entry SET day = '2026-02-04', ml = 60 WHERE key = 'x'")
        #expect(try store.days(of: "anna")?.map { "\($0.day) \($0.ml)" } == ["2026-02-02 100", "2026-02-04 60"])
        try store.connection.run("DELETE FROM entry WHERE key = 'x'")
        #expect(try ml() == 100 && store.figures().staleDays == 0)
    }
}
