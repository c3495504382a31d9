import Foundation
import Support
import Testing

/// People whose phones show something, and who are called otherwise, are taken off the list, or purge their day: the
/// real service, with a real server in ntfy's place.
@Suite(.timeLimit(.minutes(5))) struct ServicePocketPeopleTests {
    /// Whether the service runs while it happens, and is told by a signal, or is started again afterwards.
    enum When: String, Sendable, CaseIterable { case running, stopped }

    /// One of the list.
    private struct Listed {
        var name: String
        /// Of the store.
        var file: String
        var topic: String
    }

    /// What stands on the phones now, as `topic/place`: by all that the server was asked for, in its order. As ntfy has
    /// it, a message replaces what has its place.
    private static func phones(_ seen: [WebPeer.Seen]) -> Set<String> {
        seen.reduce(into: []) { shown, one in
            if one.method == "DELETE" {
                shown.remove(String(one.path.dropFirst()))
            } else if let place = place(one) {
                shown.insert(place)
            }
        }
    }

    private static func place(_ told: WebPeer.Seen) -> String? {
        guard told.method == "POST", let topic = told.json["topic"] as? String,
            let place = told.json["sequence_id"] as? String
        else { return nil }
        return "\(topic)/\(place)"
    }

    private final class House: @unchecked Sendable {
        let peer: WebPeer
        let folder: TemporaryFolder
        private let environment: [String: String]
        private(set) var service: RunningProgram?

        init(_ people: [Listed]) async throws {
            (peer, folder) = (try await WebPeer(), try TemporaryFolder())
            environment = [
                "XDG_STATE_HOME": folder.file("state"), "XDG_RUNTIME_DIR": folder.path, "DBUS_SESSION_BUS_ADDRESS": "",
                "TZ": DueNow.zone,
            ]
            try list(people)
            try start()
        }

        func list(_ people: [Listed]) throws {
            for one in people { try Data("tk_\(one.file)\n".utf8).write(to: folder.url("\(one.file).token")) }
            let list = people.map { one in
                """
                [[person]]
                name = "\(one.name)"
                store = "\(store(one.file))"
                [person.ntfy]
                url = "\(peer.url)/\(one.topic)"
                token-file = "\(folder.file("\(one.file).token"))"

                """
            }
            let head = "link = \"unix:\(folder.file("none.sock"))\"\nlisten = \"off\"\nzone = \"\(DueNow.zone)\"\n"
            try Data((head + list.joined()).utf8).write(to: folder.url("waterh.toml"))
        }

        func store(_ file: String) -> String { folder.file("\(file).sqlite") }

        func start() throws {
            service = try Program("waterh-gateway").start(
                ["run", "--config", folder.file("waterh.toml")], environment: environment)
        }

        func stop() async throws {
            service?.send(signal: SIGTERM)
            let end = try await service?.finish(limit: 20)
            #expect(end?.exitCode == 0, "\(end?.error ?? "")")
            service = nil
        }

        /// Something happens while the service runs, or while it does not.
        func meanwhile(_ when: When, _ happens: () async throws -> Void) async throws {
            if when == .stopped { try await stop() }
            try await happens()
            if when == .stopped { try start() } else { service?.send(signal: SIGHUP) }
        }

        @discardableResult
        func tracker(_ arguments: String..., of file: String) async throws -> String {
            let result = try await Program("waterh-tracker").run(
                arguments + ["--store", store(file)], environment: environment)
            #expect(result.exitCode == 0, "\(result.error)")
            return result.output
        }

        /// That store's day is told something new: its goal is reached.
        func reachGoal(_ file: String) async throws { for _ in 0..<2 { try await tracker("log", "2000", of: file) } }

        var words: String { service?.error ?? "" }

        /// Waits until the phones show this and nothing else.
        func shows(_ wanted: Set<String>, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let isSo = try await event(within: 60) {
                ServicePocketPeopleTests.phones(try await peer.seen()) == wanted ? true : nil
            }
            let shown = ServicePocketPeopleTests.phones(try await peer.seen())
            #expect(
                isSo == true, "\(shown.sorted()), and not \(wanted.sorted()): \(words)", sourceLocation: sourceLocation)
        }

        /// What was told, without what was taken back, in its order.
        func told() async throws -> [String] { try await peer.seen().compactMap(ServicePocketPeopleTests.place) }
    }

    @Test(arguments: When.allCases) func anotherNameOfAPersonLeavesNothingUnderTheFormerOne(when: When) async throws {
        let house = try await House([Listed(name: "anna", file: "a", topic: "water-a")])
        try await house.shows(["water-a/anna-hydration-reminder"])
        try await house.meanwhile(when) { try house.list([Listed(name: "nora", file: "a", topic: "water-a")]) }
        try await house.shows([])
        try await house.reachGoal("a")
        try await house.shows(["water-a/nora-hydration-goal-reached"])
        #expect(
            try await house.told() == ["water-a/anna-hydration-reminder", "water-a/nora-hydration-goal-reached"],
            "told once, and under today's name")
        let seen = try await house.peer.seen()
        #expect(seen.allSatisfy { $0.headers["authorization"] == "Bearer tk_a" }, "\(seen.map(\.headers))")
        try await house.stop()
    }

    /// Two who change names: each one's phone hears of the own day only, and shows nothing under the name that is the
    /// other's now; also where both are told at one topic.
    @Test(arguments: When.allCases, [["water-a", "water-b"], ["house", "house"]])
    func whoseNamesChangePlacesAreEachToldTheOwnDay(when: When, topics: [String]) async throws {
        func listed(_ names: [String]) -> [Listed] {
            zip(names, zip(["a", "b"], topics)).map { Listed(name: $0, file: $1.0, topic: $1.1) }
        }
        let house = try await House(listed(["anna", "ben"]))
        try await house.shows(["\(topics[0])/anna-hydration-reminder", "\(topics[1])/ben-hydration-reminder"])
        try await house.meanwhile(when) { try house.list(listed(["ben", "anna"])) }
        try await house.shows([])
        try await house.reachGoal("a")
        try await house.shows(["\(topics[0])/ben-hydration-goal-reached"])
        try await house.reachGoal("b")
        try await house.shows(["\(topics[0])/ben-hydration-goal-reached", "\(topics[1])/anna-hydration-goal-reached"])
        let seen = try await house.peer.seen()
        #expect(
            seen.count == 6,
            "each once told, and the former ones once taken back: \(seen.map { "\($0.method) \($0.path) \($0.body)" })")
        for one in seen where topics[0] != topics[1] {
            let topic = one.json["topic"] as? String ?? String(one.path.split(separator: "/")[0])
            #expect(
                one.headers["authorization"] == "Bearer tk_\(topic.suffix(1))",
                "\(topic): what lets one in at a topic is told to no other")
        }
        try await house.stop()
    }

    /// Who is taken off the list: nothing stays on that phone, the other's stays, and nothing is told there any more.
    @Test(arguments: When.allCases) func whoIsTakenOffTheListLeavesNothingOnThePhone(when: When) async throws {
        let (anna, ben) = (
            Listed(name: "anna", file: "a", topic: "water-a"), Listed(name: "ben", file: "b", topic: "water-b")
        )
        let house = try await House([anna, ben])
        try await house.shows(["water-a/anna-hydration-reminder", "water-b/ben-hydration-reminder"])
        try await house.meanwhile(when) { try house.list([anna]) }
        try await house.shows(["water-a/anna-hydration-reminder"])
        #expect(
            await event {
                house.words.contains("ben is not listed any more, and what a phone showed of that day is taken back")
                    ? true : nil
            } == true, "\(house.words)")
        let taken = try #require(try await house.peer.seen().last { $0.method == "DELETE" })
        #expect(taken.path == "/water-b/ben-hydration-reminder", "\(taken)")
        // What the list said of it is known to who runs, and not to who begins.
        #expect(taken.headers["authorization"] == (when == .running ? "Bearer tk_b" : nil), "\(taken)")
        try await house.reachGoal("b")
        try await house.reachGoal("a")
        try await house.shows(["water-a/anna-hydration-goal-reached"])
        #expect(try await house.told().filter { $0.hasPrefix("water-b/") } == ["water-b/ben-hydration-reminder"])
        try await house.stop()
    }

    /// A day that is purged: what that phone shows of it goes, what it is told of the next one stays, and the other's
    /// phone is left alone.
    @Test(arguments: When.allCases) func whoPurgesLeavesNothingOfThatDayOnThePhone(when: When) async throws {
        let house = try await House([
            Listed(name: "anna", file: "a", topic: "water-a"), Listed(name: "ben", file: "b", topic: "water-b"),
        ])
        try await house.reachGoal("b")
        try await house.shows(["water-a/anna-hydration-reminder", "water-b/ben-hydration-goal-reached"])
        try await house.meanwhile(when) { try await house.tracker("purge", "--yes", of: "b") }
        // The new day begins behind its goal, and is told so.
        try await house.shows(["water-a/anna-hydration-reminder", "water-b/ben-hydration-reminder"])
        #expect(
            try await event(within: 60) {
                try await house.peer.seen().contains {
                    $0.method == "DELETE" && $0.path == "/water-b/ben-hydration-goal-reached"
                } ? true : nil
            } == true)
        try await house.reachGoal("b")
        try await house.shows(["water-a/anna-hydration-reminder", "water-b/ben-hydration-goal-reached"])
        #expect(try await house.told().filter { $0.hasPrefix("water-a/") } == ["water-a/anna-hydration-reminder"])
        try await house.stop()
    }
}
