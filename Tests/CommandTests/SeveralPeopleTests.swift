import Foundation
import Support
import Testing

/// Two people, two bottles, one service: real programs. Each one's drinks are in the own store and nowhere else.
@Suite(.serialized) struct SeveralPeopleTests {
    /// Bottles on links of their own, and a list of their owners.
    private struct HouseOfPairs {
        let folder: TemporaryFolder
        let anna: Pair
        let ben: Pair
        let config: String
        let environment: [String: String]

        init() async throws {
            folder = try TemporaryFolder()
            anna = try await Pair(["--address", "A4:C1:38:00:00:01"])
            ben = try await Pair(["--address", "A4:C1:38:00:00:02"])
            config = folder.file("waterh.toml")
            environment = [
                "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "HOME": folder.path,
                "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_STORE": "",
            ]
        }

        func store(_ name: String) -> String { folder.file("\(name).sqlite") }

        func list(_ people: [(name: String, pair: Pair, more: String)]) throws {
            let text = people.map {
                """
                [[person]]\nname = \"\($0.name)\"\nstore = \"\(store($0.name))\"\nlink = \"\($0.pair.socket)\"\n\
                \($0.more)\n
                """
            }.joined()
            try Data(text.utf8).write(to: URL(fileURLWithPath: config))
        }

        func serve() async throws -> (service: RunningProgram, page: String) {
            let service = try Program("waterh-gateway").start(
                ["run", "--config", config, "--listen", "127.0.0.1:0", "--verbose"], environment: environment)
            let page = try #require(
                await event { service.error.firstMatch(of: /page is at (http:\/\/[0-9.:]+\/)/).map { String($0.1) } },
                "\(service.error)")
            return (service, page)
        }

        func gateway(_ arguments: String...) async throws -> Program.Result {
            try await Program("waterh-gateway").run(arguments + ["--config", config], environment: environment)
        }

        func total(_ name: String) async throws -> Int? {
            let result = try await Program("waterh-tracker").run(
                ["status", "--json", "--person", name, "--config", config], environment: environment)
            return (try? JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any])?[
                "dailyTotalMl"] as? Int
        }

        func curl(_ url: String, _ arguments: [String] = []) async throws -> Program.Result {
            try await Program(path: "/usr/bin/curl").run(
                ["-sS", "--max-time", "20", "-w", "\n%{http_code}", url] + arguments)
        }
    }

    @Test func eachOnesDrinksAreInTheOwnStoreOnly() async throws {
        let house = try await HouseOfPairs()
        try house.list([("anna", house.anna, "goal = 2200\nbottles = [\"A4:C1:38:00:00:01\"]"), ("ben", house.ben, "")])
        try await house.anna.sip(110)
        try await house.ben.sip(220)
        let (service, page) = try await house.serve()
        #expect(try await event { try await house.total("anna") == 110 ? true : nil } == true, "\(service.error)")
        #expect(try await event { try await house.total("ben") == 220 ? true : nil } == true, "\(service.error)")
        // The drink counts before the poll is told of.
        #expect(
            await event {
                service.error.contains("person=ben") && service.error.contains("adopt ADDRESS") ? true : nil
            } == true, "\(service.error)")
        // Whose it is follows from the path, and a poll is asked for by name.
        for (name, ml) in [("anna", 110), ("ben", 220)] {
            let state = try await house.curl(page + "api/v1/people/\(name)/state").output
            #expect(
                state.contains("\"dailyTotalMl\":\(ml),")
                    && state.contains("\"dailyGoalMl\":\(name == "anna" ? 2200 : 2500),"), "\(state)")
        }
        try await house.ben.sip(30)
        #expect(try await house.gateway("nudge", "--person", "ben").exitCode == 0)
        #expect(try await event { try await house.total("ben") == 250 ? true : nil } == true)
        // The drink counts before the poll has ended, and only then its figures do.
        let isCounted: Bool? = try await event {
            let metrics = try await house.curl(page + "metrics").output
            return metrics.contains("waterh_records_new_total{person=\"anna\"} 1")
                && metrics.contains("waterh_records_new_total{person=\"ben\"} 2") ? true : nil
        }
        let metrics = try await house.curl(page + "metrics").output
        #expect(isCounted == true, "\(metrics)")
        #expect(try await house.curl(page + "readyz").output.hasPrefix("ready"))

        // A way in is one person's: of whom it was asked for.
        let pairing = try await house.gateway("pair", "--person", "ben", "--json")
        let code = try #require(
            pairing.output.firstMatch(of: /"code":"(\d{8})"/).map { String($0.1) }, "\(pairing.error)")
        let paired = try await house.curl(
            page + "api/v1/pair",
            ["-H", "Content-Type: application/json", "-d", "{\"code\":\"\(code)\",\"token\":true}"]
        ).output
        let token = try #require(paired.firstMatch(of: /"token":"(wt_[0-9a-f]+)"/).map { String($0.1) }, "\(paired)")
        for (name, status) in [("anna", "403"), ("ben", "200")] {
            let reply = try await house.curl(
                page + "api/v1/people/\(name)/state", ["-H", "Authorization: Bearer \(token)"])
            #expect(reply.lines.last.map(String.init) == status)
        }
        service.send(signal: SIGTERM)
        let result = try await service.finish(limit: 20)
        #expect(result.exitCode == 0 && !result.error.contains("error: "), "\(result.error)")
    }

    /// SIGHUP adds a third with a bottle of her own, and lets go who is not listed any more: store closed, socket gone,
    /// bottle free.
    @Test func peopleComeAndGo() async throws {
        let house = try await HouseOfPairs()
        let eve = try await Pair(["--address", "A4:C1:38:00:00:03"])
        try house.list([("anna", house.anna, ""), ("ben", house.ben, "")])
        try await house.ben.sip(220)
        let (service, page) = try await house.serve()
        #expect(try await event { try await house.total("ben") == 220 ? true : nil } == true, "\(service.error)")
        func open(_ name: String) throws -> Bool {
            let folder = "/proc/\(service.processIdentifier)/fd"
            let files = FileManager.default
            return try files.contentsOfDirectory(atPath: folder).contains {
                (try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?.hasPrefix(house.store(name)) == true
            }
        }
        #expect(try open("ben"))
        try await eve.sip(330)
        try house.list([("anna", house.anna, ""), ("ben", house.ben, ""), ("eve", eve, "")])
        service.send(signal: SIGHUP)
        #expect(try await event { try await house.total("eve") == 330 ? true : nil } == true, "\(service.error)")
        // Ben goes, while somebody looks at his day.
        let looking = try Program(path: "/usr/bin/curl").start([
            "-sSN", "--max-time", "60", page + "api/v1/people/ben/events",
        ])
        _ = try await looking.line { $0.hasPrefix("event: state") }
        try house.list([("anna", house.anna, ""), ("eve", eve, "")])
        service.send(signal: SIGHUP)
        #expect(await event { looking.isRunning ? nil : true } == true, "his pages end")
        #expect(try await event { try open("ben") ? nil : true } == true, "his store is closed")
        #expect(try await house.curl(page + "api/v1/people/ben/state").lines.last == "404")
        #expect(try await house.gateway("nudge", "--store", house.store("ben")).exitCode == 1)
        try await house.ben.sip(40)
        let free = try await Program("waterh-gateway").run(
            ["poll", "--link", house.ben.socket, "--store", house.store("ben")], environment: house.environment)
        #expect(free.exitCode == 0, "his bottle is free: \(free.error)")
        // The others go on, and a list that is wrong changes nothing.
        try house.list([("anna", house.anna, ""), ("anna", eve, "")])
        service.send(signal: SIGHUP)
        #expect(
            await event { service.error.contains("two people of the name anna") ? true : nil } == true,
            "\(service.error)")
        try house.list([("anna", house.anna, ""), ("eve", eve, "")])
        try await eve.sip(1)
        #expect(try await house.gateway("nudge", "--store", house.store("eve")).exitCode == 0)
        #expect(try await event { try await house.total("eve") == 331 ? true : nil } == true, "\(service.error)")
        service.send(signal: SIGTERM)
        #expect(try await service.finish(limit: 20).exitCode == 0)
    }

    /// The shipped unit's environment and a list of people: the list wins, and it is said. A flag that says otherwise
    /// is refused.
    @Test func theListWinsOverTheEnvironmentsStore() async throws {
        let house = try await HouseOfPairs()
        try house.list([("anna", house.anna, ""), ("ben", house.ben, "")])
        try await house.anna.sip(110)
        try await house.ben.sip(220)
        var environment = house.environment
        environment["WATERH_STORE"] = house.store("waterh")
        let refused = try await Program("waterh-gateway").run(
            ["run", "--store", house.store("anna"), "--config", house.config, "--listen", "off"],
            environment: house.environment)
        #expect(refused.exitCode == 2 && refused.error.contains("--person (anna, ben)"), "\(refused.error)")
        let service = try Program("waterh-gateway").start(
            ["run", "--config", house.config, "--listen", "off"], environment: environment)
        for (name, ml) in [("anna", 110), ("ben", 220)] {
            // With the service's own environment, and with an ordinary one.
            for environment in [environment, house.environment] {
                let isThere = try await event {
                    let status = try await Program("waterh-tracker").run(
                        ["status", "--json", "--person", name, "--config", house.config], environment: environment)
                    return status.output.contains("\"dailyTotalMl\":\(ml),") ? true : nil
                }
                #expect(isThere == true, "\(service.error)")
            }
        }
        service.send(signal: SIGHUP)
        service.send(signal: SIGTERM)
        let said = try await service.finish(limit: 20).error
        #expect(said.ranges(of: "WATERH_STORE (").count == 1 && said.contains("waterh.sqlite) is not used"), "\(said)")
        #expect(!FileManager.default.fileExists(atPath: house.store("waterh")))
    }

    /// One line of the list is gone for a moment: her bottle is adopted by nobody, and is hers when she is back,
    /// wherever she stands.
    @Test func whoIsTakenOffTheListKeepsTheBottle() async throws {
        let house = try await HouseOfPairs()
        // One bottle, both on its link.
        let (hers, his) = ((name: "anna", pair: house.anna, more: ""), (name: "ben", pair: house.anna, more: ""))
        try house.list([hers])
        try await house.anna.sip(150)
        let (service, page) = try await house.serve()
        #expect(try await event { try await house.total("anna") == 150 ? true : nil } == true, "\(service.error)")
        try house.list([his])
        service.send(signal: SIGHUP)
        #expect(
            await event {
                service.error.contains("anna is not listed any more, and A4:C1:38:00:00:01 stays") ? true : nil
            } == true, "\(service.error)")
        try await house.anna.sip(3)
        #expect(
            try await event { try await house.curl(page + "api/v1/people/ben/state").lines.last == "200" ? true : nil }
                == true)
        #expect(try await house.gateway("nudge", "--person", "ben").exitCode == 0)
        #expect(await event { service.error.contains("it is anna's") ? true : nil } == true, "\(service.error)")
        try house.list([his, hers])
        service.send(signal: SIGHUP)
        #expect(try await event { try await house.total("anna") == 153 ? true : nil } == true, "\(service.error)")
        #expect(try await house.total("ben") == 0)
        service.send(signal: SIGTERM)
        #expect(try await service.finish(limit: 20).exitCode == 0)
    }

    /// A bottle that is another's is neither drained, told anything, nor adopted: not by name, not by an empty store,
    /// not by the service.
    @Test func anothersBottleStaysAnothers() async throws {
        let house = try await HouseOfPairs()
        // Anna is at the link of Ben's bottle.
        try house.list([("anna", house.ben, ""), ("ben", house.anna, "bottles = [\"a4:c1:38:00:00:02\"]")])
        try await house.ben.sip(220)
        for words in [["poll"], ["poll", "--bottle", "A4:C1:38:00:00:02"], ["send", "flash"]] {
            let refused = try await Program("waterh-gateway").run(
                words + ["--person", "anna", "--config", house.config], environment: house.environment)
            #expect(refused.exitCode == 3 && refused.error.contains("it is ben's"), "\(words): \(refused.error)")
        }
        let adopted = try await house.gateway("adopt", "A4:C1:38:00:00:02", "--person", "anna")
        #expect(adopted.exitCode == 3 && adopted.error.contains("is ben's"), "\(adopted.error)")
        let (service, _) = try await house.serve()
        #expect(await event { service.error.contains("it is ben's") ? true : nil } == true, "\(service.error)")
        service.send(signal: SIGTERM)
        _ = try await service.finish(limit: 20)
        #expect(try await house.total("anna") == 0)
        let bens = try await Program("waterh-gateway").run(
            ["poll", "--json", "--person", "ben", "--link", house.ben.socket, "--config", house.config],
            environment: house.environment)
        #expect(bens.exitCode == 0 && bens.output.contains("\"new\":1"), "\(bens.error)")
    }

    /// The environment names one link for all, whatever stands at each: who waits there for a first bottle is a rival,
    /// served here or not.
    @Test func aNeighbourUnderTheEnvironmentsLinkWaitsForTheSameBottle() async throws {
        let house = try await HouseOfPairs()
        try house.list([("anna", house.anna, ""), ("ben", house.ben, "")])
        try await house.anna.sip(110)
        var environment = house.environment
        environment["WATERH_LINK"] = house.anna.socket
        let service = try Program("waterh-gateway").start(
            ["run", "--person", "anna", "--config", house.config, "--listen", "off"], environment: environment)
        #expect(
            await event {
                service.error.contains("anna has no bottle yet, and neither has ben: none is polled") ? true : nil
            } == true, "\(service.error)")
        // What it says of its link it may say before it listens to anybody.
        let nudged = await event {
            (try? await house.gateway("nudge", "--person", "anna")).flatMap { $0.exitCode == 0 ? $0 : nil }
        }
        #expect(nudged != nil, "\(service.error)")
        service.send(signal: SIGTERM)
        let said = try await service.finish(limit: 20).error
        #expect(!said.contains("own bottle from now on"), "\(said)")
        #expect(
            try await house.total("anna") == 0, "the bottle is not emptied into a store that nobody said it belongs to")
    }
}
