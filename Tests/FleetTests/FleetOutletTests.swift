import Foundation
import Outgoing
import Packing
import Store
import Support
import Synchronization
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetSurface
@testable import FleetWire

/// A gateway's drinks on their way to a fleet, with a real server in its place.
@Suite("Drinks on their way to a fleet")
struct FleetOutletTests {
    let folder: TemporaryFolder
    let store: TrackerStore
    let said = Said()

    init() throws {
        folder = try TemporaryFolder()
        store = try TrackerStore(path: folder.file("w.sqlite"), hostZone: "UTC")
        try Data("wf_s3cret\n".utf8).write(to: folder.url("token"))
    }

    func context() -> WriteContext {
        WriteContext(
            now: Instant(milliseconds: 1_781_524_800_000), zone: .utc, source: "cli",
            makeID: { UUID().uuidString.lowercased() })
    }

    func with(
        _ peer: WebPeer, store: TrackerStore? = nil, home: OutletHome? = nil, plan: FleetPlan? = nil,
        person: String = "anna", isOn: @escaping @Sendable () -> Bool = { true },
        _ body: (FleetOutlet) async throws -> Void
    ) async throws {
        let plan = plan ?? FleetPlan(url: peer.url + "/", tokenFile: folder.file("token"))
        let outlet = FleetOutlet(
            .init(
                store: store ?? self.store, person: person, plan: { isOn() ? plan : nil }, home: { home },
                makeID: { UUID().uuidString }, say: said.add, chance: { 0 },
                limit: .seconds(5)))
        outlet.prepare()
        let running = Task { await outlet.run() }
        try await body(outlet)
        running.cancel()
        await running.value
    }

    final class Said: Sendable {
        let words = Mutex<[FleetOutlet.Word]>([])
        func add(_ word: FleetOutlet.Word) { words.withLock { $0.append(word) } }
    }

    private func told(_ peer: WebPeer, _ count: Int) async throws -> [[FleetEntry]] {
        try await peer.seen(count).map { try FleetLines(Array($0.body.utf8)).entries }
    }

    @Test func thePositionMovesOnlyWhenTheFleetHasCommitted() async throws {
        let peer = try await WebPeer()
        try await peer.answers(
            #"""
            [{"status": 202}, {"status": 503, "headers": {"Retry-After": "1"}, "body": "{\"detail\": \"PostgreSQL \#
            is away.\"}"}, {"status": 200}, {"status": 200}]
            """#
        )
        try await with(peer) { outlet in
            _ = try store.logDrink(ml: 250, context())
            await outlet.poke()
            let first = try await told(peer, 3)
            #expect(
                first[0] == first[1] && first[1] == first[2] && first[0].map(\.drink?.ml) == [250]
                    && first[0].map(\.person) == ["anna"])
            let isDelivered = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isDelivered == true)
            let seen = try await peer.seen()
            #expect(
                seen[0].path == "/v1/entries" && seen[0].headers["authorization"] == "Bearer wf_s3cret"
                    && seen[0].headers["content-type"] == "application/x-ndjson")
            #expect(seen[2].at - seen[1].at >= 0.9, "the fleet said when")
            _ = try store.undo(context())
            await outlet.poke()
            let second = try await told(peer, 4)[3]
            #expect(
                second.map(\.drink?.isDeleted) == [true] && second[0].place > first[0][0].place
                    && second[0].key == first[0][0].key && second[0].store == first[0][0].store)
        }
        #expect(
            said.words.withLock { $0 }.contains {
                if case .trouble(let words) = $0 {
                    words.hasSuffix("answered with status 503: PostgreSQL is away")
                } else {
                    false
                }
            })
        #expect(said.words.withLock { $0 }.contains(.goesOn))
    }

    /// A page of a proxy in maintenance, a hotel's, another program's: whatever answered with status 200 had the
    /// drinks, and the fleet never.
    @Test func whatAnswersOtherwiseThanAFleetHasNothing() async throws {
        let peer = try await WebPeer()
        try await peer.answers(
            #"""
            [{"status": 200, "body": "<html>Down for maintenance</html>"}, {"status": 200, "body": \#
            "{\"taken\":2,\"known\":0,\"parked\":0}"}]
            """#
        )
        try await with(peer) { outlet in
            _ = try store.logDrink(ml: 250, context())
            await outlet.poke()
            let all = try await told(peer, 3)
            try #require(all.count == 3)
            #expect(all[0] == all[2] && all[1] == all[2] && all[2].map(\.drink?.ml) == [250])
            let isDelivered = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isDelivered == true)
        }
        #expect(
            said.words.withLock { $0 }.contains {
                if case .trouble(let words) = $0 { words.contains("not as a fleet does") } else { false }
            })
    }

    /// A fleet that was there before the first drink, and whose first answer got lost, was told for ever that nothing
    /// was told: round and round, without a pause, and nothing of what came then.
    @Test func theVeryFirstAnswerMayGetLost() async throws {
        let peer = try await WebPeer()
        try await with(peer) { outlet in
            // Its answers get lost until it is known what it told.
            try await peer.rule(#"{"close": true}"#)
            let first = try store.logDrink(ml: 250, context()).drink.key
            await outlet.poke()
            _ = try await peer.seen(1)
            // The usual answers behind it are for what comes before the rule is another one.
            try await peer.answers(
                #"[{"status": 409, "body": "{\"generation\": 1, \"keys\": [\"\#(first)\"]}"}, {}, {}, {}]"#)
            try await peer.rule("{}")
            await outlet.poke()
            let isDelivered = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isDelivered == true)
        }
        // What it stands at is never before what it told again.
        let seen = try await peer.seen().filter { $0.path == "/v1/entries" }.map {
            ($0.headers["waterh-told"] ?? "").split(separator: " ").dropFirst().joined(separator: " ")
        }
        #expect(seen.suffix(3) == ["0 0", "1 1", "1 1"] && seen.dropLast(2).allSatisfy { $0 == "0 0" }, "\(seen)")
    }

    /// A fleet that always knows more is a trouble, and not asked again at once for ever.
    @Test func aFleetThatAlwaysKnowsMoreIsLeftAloneForAWhile() async throws {
        let peer = try await WebPeer()
        let key = try store.logDrink(ml: 250, context()).drink.key
        let ahead = (1...9).flatMap {
            [
                "{\"status\": 409, \"body\": \"{\\\"generation\\\": \($0), \\\"keys\\\": [\\\"\(key)\\\"]}\"}",
                "{\"status\": 200}",
            ]
        }
        try await peer.answers("[\(ahead.joined(separator: ", "))]")
        try await with(peer) { outlet in
            _ = try store.logDrink(ml: 1, context())
            await outlet.poke()
            let isKnown = await event { await outlet.isInTrouble ? true : nil }
            #expect(isKnown == true)
        }
        #expect(
            said.words.withLock { $0 }.contains {
                if case .trouble(let words) = $0 { words.contains("status 409") } else { false }
            })
    }

    /// What is told again is cut like what is told, where a proxy takes little at once.
    @Test func whatIsToldAgainIsToldLessAtOnceWhereThatIsTooMuch() async throws {
        let peer = try await WebPeer()
        let keys = try (0..<20).map { try store.logDrink(ml: 100 + $0, context()).drink.key }
        let named = keys.map { "\\\"\($0)\\\"" }.joined(separator: ",")
        try await with(peer) { outlet in
            try await peer.answers(
                """
                [{\"status\": 409, \"body\": \"{\\\"generation\\\": 1, \\\"keys\\\": [\(named)]}\"}, {\"status\": \
                413}, {\"status\": 413}]
                """
            )
            _ = try store.logDrink(ml: 1, context())
            await outlet.poke()
            let isDelivered = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isDelivered == true)
        }
        let all = try await peer.seen().filter { $0.path == "/v1/entries" }.map { seen in
            try FleetLines(
                seen.headers["content-encoding"] == "gzip" ? Gzip.unpack(seen.bytes, limit: 1 << 20) : seen.bytes
            ).entries
        }
        #expect(all.map(\.count) == [1, 20, 20, 15, 5, 1], "\(all.map(\.count))")
        #expect(all.dropFirst(3).prefix(2).flatMap { $0 }.map(\.key) == keys)
    }

    /// A fleet that refused doubts once was asked a hundred times a second for news of the store, until the next drink.
    @Test func whoRefusedDoubtsOnceIsNoTrouble() async throws {
        let peer = try await WebPeer()
        try store.changeSettings([("day.boundaryHour", "6")], context())
        try await peer.answers(#"[{"status": 503}]"#)
        try await with(peer) { outlet in
            await outlet.poke()
            let isKnown = await event { await outlet.isInTrouble ? true : nil }
            #expect(isKnown == true)
            await outlet.poke()
            let isOver = await event { await outlet.isInTrouble ? nil : true }
            #expect(isOver == true)
        }
        #expect(said.words.withLock { $0 }.last == .goesOn)
    }

    /// What a fleet had not got yet was gone with a restore, though the drinks were there: nobody told it ever.
    @Test func whatWaitsForAFleetWaitsBehindARestore() throws {
        _ = try store.openOutlet(FleetOutlet.name) { "one" }
        _ = try store.openOutlet("other") { "two" }
        _ = try store.logDrink(ml: 1, context())
        try store.delivered(
            FleetOutlet.name, through: try #require(store.changes(for: FleetOutlet.name, limit: 9).last).sequence)
        for ml in 2...4 { _ = try store.logDrink(ml: ml, context()) }
        try store.backUp(to: folder.file("backup"))
        _ = try store.logDrink(ml: 5, context())
        let last = try #require(store.changes(for: FleetOutlet.name, limit: 9).last).sequence
        try FileManager.default.createDirectory(at: folder.url("scratch"), withIntermediateDirectories: false)
        try store.restore(from: folder.file("backup"), scratch: folder.file("scratch"))
        let waiting = try store.changes(for: FleetOutlet.name, limit: 9)
        #expect(waiting.map(\.drink?.ml) == [2, 3, 4] && waiting.allSatisfy { $0.sequence > last })
        // To others a restore is no news.
        #expect(try store.waiting(for: "other") == 0)
        // A batch that was on its way meanwhile says nothing of these.
        try store.delivered(FleetOutlet.name, through: last, as: "one")
        #expect(try store.waiting(for: FleetOutlet.name) == 3)
    }

    /// It tells as somebody else, so that the two never overtake each other.
    @Test func aStoreThatWasCopiedIsSomebodyElse() async throws {
        let peer = try await WebPeer()
        func home(_ name: String) -> OutletHome { OutletHome(machine: "m1", path: folder.file(name)) }
        try await with(peer, home: home("w.sqlite")) { outlet in
            _ = try store.logDrink(ml: 100, context())
            await outlet.poke()
            _ = try await told(peer, 1)
            let isDelivered = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isDelivered == true)
        }
        try store.backUp(to: folder.file("copy.sqlite"))
        let copy = try TrackerStore(path: folder.file("copy.sqlite"), hostZone: "UTC")
        try await with(peer, store: copy, home: home("copy.sqlite")) { outlet in
            _ = try copy.logDrink(ml: 200, context())
            await outlet.poke()
            let both = try await told(peer, 2)
            #expect(both[0][0].store != both[1][0].store && both[1].map(\.drink?.ml) == [200])
        }
    }

    /// It is told with what lies in doubt, also where nothing does; four o'clock, which is usual, need not be told.
    @Test func theHourAtWhichDaysBeginIsToldWhereItIsNotTheUsualOne() async throws {
        let peer = try await WebPeer()
        try await with(peer) { outlet in
            _ = try store.logDrink(ml: 250, context())
            await outlet.poke()
            _ = try await told(peer, 1)
            let isDelivered = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isDelivered == true)
            for (hour, number) in [("6", 2), ("0", 3), ("4", 4)] {
                try store.changeSettings([("day.boundaryHour", hour)], context())
                await outlet.poke()
                let seen = try await peer.seen(number)
                #expect(
                    seen[number - 1].path.hasPrefix("/v1/doubts?")
                        && seen[number - 1].path.contains("boundary=\(hour)"), "\(seen.map(\.path))")
            }
        }
        let paths = try await peer.seen().map(\.path)
        #expect(paths.count == 4, "\(paths)")
    }

    /// Another address was another fleet, and was never told when the person's days begin: the mark of what was told
    /// named no fleet. Nor was one that had forgotten it.
    @Test func whatAFleetDoesNotKnowIsToldToItAgain() async throws {
        let first = try await WebPeer(), second = try await WebPeer()
        try store.changeSettings([("day.boundaryHour", "6")], context())
        try await with(first) { outlet in
            await outlet.poke()
            #expect(try await first.seen(1)[0].path.contains("boundary=6"))
            let isNoted = try await event { try store.keptTopics(of: FleetOutlet.name).isEmpty ? nil : true }
            #expect(isNoted == true)
        }
        try await second.answers(
            #"""
            [{"status": 200}, {"status": 200, "body": \#
            "{\"taken\":1,\"known\":0,\"parked\":0,\"asksFor\":[\"doubts\"]}"}, {"status": 200}]
            """#
        )
        try await with(second) { outlet in
            let told = try await second.seen(1)[0]
            #expect(told.path.contains("boundary=6"))
            let mark = try #require(told.headers["waterh-doubts"])
            let isNoted = try await event {
                try store.keptTopics(of: FleetOutlet.name) == ["doubts \(mark)"] ? true : nil
            }
            #expect(isNoted == true)
            _ = try store.logDrink(ml: 250, context())
            await outlet.poke()
            let all = try await second.seen(3)
            #expect(
                all[1].path == "/v1/entries" && all[1].headers["waterh-doubts"] == mark && all[2].path == told.path
                    && all[2].headers["waterh-doubts"] == mark)
            _ = try store.logDrink(ml: 100, context())
            await outlet.poke()
            _ = try await second.seen(4)
        }
        #expect(
            try await second.seen().map { $0.path.prefix(11) } == [
                "/v1/doubts?", "/v1/entries", "/v1/doubts?", "/v1/entries",
            ])
        #expect(try await first.seen().count == 1)
    }

    /// Whose name was changed in waterh.toml was somebody of whom the fleet did not know the hour, and it was not told:
    /// what was told named nobody.
    @Test func whoIsCalledOtherwiseTellsTheHourAgain() async throws {
        let peer = try await WebPeer()
        try store.changeSettings([("day.boundaryHour", "6")], context())
        for (person, number) in [("anna", 1), ("anne", 2), ("anne", 2)] {
            try await with(peer, person: person) { outlet in
                await outlet.poke()
                let told = try await peer.seen(number)[number - 1]
                #expect(told.path.contains("person=\(person)") && told.path.contains("boundary=6"), "\(told.path)")
                let mark = try #require(told.headers["waterh-doubts"])
                let isNoted = try await event {
                    try store.keptTopics(of: FleetOutlet.name) == ["doubts \(mark)"] ? true : nil
                }
                #expect(isNoted == true)
            }
        }
        #expect(try await peer.seen().count == 2)
    }

    @Test(arguments: [("token", ""), ("nothing", nil), (nil, nil)] as [(String?, String?)])
    func withoutACredentialNobodyIsAsked(file: String?, text: String?) async throws {
        let peer = try await WebPeer()
        if let file, let text { try Data(text.utf8).write(to: folder.url(file)) }
        try await with(peer, plan: FleetPlan(url: peer.url, tokenFile: file.map(folder.file))) { outlet in
            _ = try store.logDrink(ml: 100, context())
            await outlet.poke()
            let isKnown = await event { await outlet.isInTrouble ? true : nil }
            #expect(isKnown == true)
        }
        #expect(try await peer.seen().isEmpty && store.waiting(for: FleetOutlet.name) == 1)
        #expect(
            said.words.withLock { $0 }.contains {
                if case .trouble(let words) = $0 { words.contains("credential") } else { false }
            })
    }

    /// A store that was put back in its place counted from there again, and the fleet overlooked its corrections.
    @Test func whatTheFleetWasToldSinceTheBackupIsToldAgainInAnotherGeneration() async throws {
        let peer = try await WebPeer()
        let kept = try store.logDrink(ml: 250, context()).drink.key
        try await peer.answers(
            #"""
            [{"status": 200}, {"status": 409, "body": "{\"generation\": 3, \"keys\": [\"gone\", \"\(kept)\"]}"}, \#
            {"status": 200}, {"status": 200}, {"status": 200}]
            """#
            .replacing(#"\(kept)"#, with: kept))
        try await with(peer) { outlet in
            _ = try store.logDrink(ml: 1, context())
            await outlet.poke()
            _ = try await told(peer, 1)
            let isDelivered = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isDelivered == true)
            _ = try store.logDrink(ml: 2, context())
            await outlet.poke()
            let all = try await told(peer, 5)
            #expect(all[1].map(\.drink?.ml) == [2] && all[1].map(\.generation) == [0])
            // What is there is told as it is; then what waits, both in the generation that the fleet named.
            #expect(
                all[2].map(\.drink?.ml) == [250] && all[2].map(\.generation) == [3] && all[2][0].place < all[3][0].place
            )
            #expect(all[3].map(\.drink?.ml) == [2] && all[3].map(\.generation) == [3])
            let generations = try await peer.seen().map {
                $0.headers["waterh-told"]?.split(separator: " ").dropFirst().first.map(String.init)
            }
            #expect(generations == ["0", "0", "3", "3", nil])
            // What lies in doubt may be other than the fleet knows since, too.
            #expect(try await peer.seen()[4].path.hasPrefix("/v1/doubts?"))
        }
        // It stays so.
        try await with(peer) { outlet in
            _ = try store.logDrink(ml: 3, context())
            await outlet.poke()
            #expect(try await told(peer, 6)[5].map(\.generation) == [3])
        }
    }
}
