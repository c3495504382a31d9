import TrackerCore
import TrackerService

enum AdoptionRoutes {
    static func add(to table: RouteTable) {
        table.get("bottles-in-range", needs: .admin) { ask in
            .json(["bottles": try await ask.service().status().bottlesInRange ?? []])
        }
        table.action(.post, "bottles-in-range/scan", needs: .admin, way: .repeatable) { ask, _ in
            .json(["bottles": try await ask.service().scan()])
        }
        table.action(.post, "bottles-in-range/:bottle/look", needs: .admin, way: .repeatable) { ask, _ in
            .json(try await ask.service().lookInside(try ask.part("bottle")))
        }
        table.action(.post, "bottles-in-range/:bottle/hide", needs: .admin, way: .repeatable) { ask, desk in
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
}
