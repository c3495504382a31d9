import TrackerCore
import TrackerService

enum AdoptionRoutes {
    static func add(to table: RouteTable) {
        table.get("bottles-in-range", needs: .admin) { ask in
            try ask.allowQuery([])
            return .json(["bottles": try await service(ask).status().bottlesInRange ?? []])
        }
        table.write(.post, "bottles-in-range/scan", needs: .admin, way: .repeatable) { ask, _, fields in
            try fields.finish()
            return .json(["bottles": try await service(ask).scan()])
        }
        table.write(.post, "bottles-in-range/:bottle/look", needs: .admin, way: .repeatable) { ask, _, fields in
            try fields.finish()
            return .json(try await service(ask).lookInside(try ask.part("bottle")))
        }
        table.write(.post, "bottles-in-range/:bottle/hide", needs: .admin, way: .repeatable) { ask, desk, fields in
            try fields.finish()
            try desk.store.hideInRange(try ask.part("bottle"))
            return .json(["hidden": true])
        }
        table.write(.post, "bottles-in-range/:bottle/adopt", needs: .admin, way: .repeatable) { ask, desk, fields in
            let mode = try fields.text("mode").map { text in
                guard let mode = BottleMode(rawValue: text) else {
                    throw HTTPProblem.wrong("wrongMode", "invalid mode '\(text)': expected take-over or share")
                }
                return mode
            }
            let choice = AdoptionChoice(mode: mode, trustsClock: try fields.flag("trustClock") ?? false)
            try fields.finish()
            let address = try ask.part("bottle").uppercased()
            guard address.wholeMatch(of: /([0-9A-F]{2}:){5}[0-9A-F]{2}/) != nil else {
                throw HTTPProblem.wrong("wrongAddress", "invalid address '\(address)': expected six pairs of digits")
            }
            let isNew = try desk.adopt(address, choice)
            await ask.person.service?.pollNow()
            return .json(["adopted": isNew])
        }
    }

    private static func service(_ ask: Ask) throws -> ServiceClient {
        guard let service = ask.person.service else {
            throw HTTPProblem(.conflict, "noService", "This service does not poll a bottle.")
        }
        return service
    }
}
