import HTTPTypes
import TrackerCore
import TrackerService

enum SessionRoutes {
    static func add(to table: RouteTable) {
        let table = Own(table: table)
        addSession(to: table)
        addEntries(to: table)
        addPresets(to: table)
    }

    /// The routes that other machines can use only if Waterline is shared.
    private struct Own {
        let table: RouteTable

        func get(_ path: String, _ answer: @escaping @Sendable (Ask) async throws -> Answer) {
            table.get(path) { ask in
                try SessionRoutes.check(ask)
                return try await answer(ask)
            }
        }

        func write(
            _ method: HTTPRequest.Method, _ path: String, needs scope: Scope,
            _ act: @escaping @Sendable (Ask, TrackerDesk, inout Fields) async throws -> Answer
        ) {
            table.write(method, path, needs: scope, mayAsk: { try SessionRoutes.check($0) }, act)
        }
    }

    static func check(_ ask: Ask) throws {
        guard ask.seesWaterline else {
            throw HTTPProblem(
                .forbidden, "waterlineNotShared",
                "Waterline is disabled for other machines. Enable it in the configuration.")
        }
    }

    private static func addSession(to table: Own) {
        table.get("session") { ask in
            try ask.allowQuery([])
            guard let session = try ask.person.desk().sessionIfAny() else {
                throw HTTPProblem(.notFound, "noSession", "There is no session yet.")
            }
            return .json(session)
        }
        table.get("sessions") { ask in
            try ask.allowQuery(["limit"])
            return .json(try ask.person.desk().sessions(limit: try ask.wholeQuery("limit", in: 1...1000, otherwise: 5)))
        }
        table.get("sessions/:session") { ask in
            try ask.allowQuery([])
            return .json(try ask.person.desk().session(try ask.part("session")))
        }
        table.write(.post, "session", needs: .log) { _, desk, fields in
            try fields.finish()
            return .json(try desk.startSession())
        }
        table.write(.post, "session/end", needs: .log) { _, desk, fields in
            let at = try fields.text("at") ?? "now"
            try fields.finish()
            guard ["now", "last-log"].contains(at) else {
                throw HTTPProblem.wrong("notAnEnd", "\"at\" must be \"now\" or \"last-log\".")
            }
            return .json(try desk.endSession(atLastLog: at == "last-log"))
        }
        table.write(.post, "session/keep-going", needs: .log) { _, desk, fields in
            try fields.finish()
            return .json(try desk.keepGoing())
        }
        table.write(.post, "session/done", needs: .log) { _, desk, fields in
            try fields.finish()
            return .json(try desk.sealLastSession())
        }
    }

    private static func addEntries(to table: Own) {
        table.write(.post, "session/drink", needs: .log) { _, desk, fields in
            let outcome = try desk.drink(
                preset: try fields.text("preset"), type: try fields.drinkType("type"), sizeOz: try fields.number("oz"),
                abv: try fields.number("abv"),
                estimate: try fields.number("estimate"), at: try fields.moment("at", desk), finishing: fields)
            return .json(outcome, status: .created)
        }
        table.write(.post, "session/water", needs: .log) { _, desk, fields in
            let (oz, ml) = (try fields.number("oz"), try fields.number("ml"))
            let at = try fields.moment("at", desk)
            try fields.finish()
            guard oz == nil || ml == nil else {
                throw HTTPProblem.wrong("twoAmounts", "Give \"oz\" or \"ml\", not both.")
            }
            return .json(try desk.water(oz: oz ?? ml.map { $0 / Ounces.mlPerOunce }, at: at), status: .created)
        }
        table.write(.patch, "session/logs/:entry", needs: .log) { ask, desk, fields in
            let change = EntryChange(
                at: try fields.moment("at", desk), estimate: try fields.number("estimate"), oz: try fields.number("oz"))
            try fields.finish()
            guard change.at != nil || change.estimate != nil || change.oz != nil else {
                throw HTTPProblem.wrong("missingField", "Nothing to change: give \"at\", \"estimate\" or \"oz\".")
            }
            return .json(try desk.edit(try ask.part("entry"), change))
        }
        table.write(.delete, "session/logs/:entry", needs: .log) { ask, desk, fields in
            try fields.finish()
            return .json(try desk.delete(try ask.part("entry")))
        }
    }

    private static func addPresets(to table: Own) {
        table.get("presets") { ask in
            try ask.allowQuery([])
            return .json(try ask.person.desk().presets())
        }
        table.write(.post, "presets", needs: .control) { _, desk, fields in
            guard let name = try fields.text("name") else {
                throw HTTPProblem.wrong("missingField", "\"name\" is missing.")
            }
            let values = try values(&fields)
            return .json(try desk.addPreset(name, values), status: .created)
        }
        table.write(.patch, "presets/:preset", needs: .control) { ask, desk, fields in
            let name = try fields.text("name")
            var without: Set<PresetValues.Part> = []
            if fields.takeNull("oz") { without.insert(.size) }
            if fields.takeNull("abv") { without.insert(.strength) }
            var values = try values(&fields)
            (values.name, values.without) = (name, without)
            guard values != PresetValues() else {
                throw HTTPProblem.wrong(
                    "missingField", "Nothing to change: give \"name\", \"type\", \"oz\", \"abv\" or \"estimate\".")
            }
            return .json(try desk.editPreset(try ask.part("preset"), values))
        }
        table.write(.delete, "presets/:preset", needs: .control) { ask, desk, fields in
            try fields.finish()
            return .json(try desk.deletePreset(try ask.part("preset")))
        }
    }

    private static func values(_ fields: inout Fields) throws -> PresetValues {
        let values = PresetValues(
            type: try fields.drinkType("type"), sizeOz: try fields.number("oz"), abv: try fields.number("abv"),
            estimate: try fields.number("estimate"))
        try fields.finish()
        return values
    }
}

extension TrackerDesk {
    fileprivate func drink(
        preset: String?, type: DrinkType?, sizeOz: Double?, abv: Double?, estimate: Double?, at: Instant?,
        finishing fields: Fields
    ) throws -> LogOutcome {
        try fields.finish()
        return try drink(preset: preset, type: type, sizeOz: sizeOz, abv: abv, estimate: estimate, at: at)
    }
}

extension Fields {
    mutating func drinkType(_ key: String) throws -> DrinkType? {
        guard let text = try text(key) else { return nil }
        guard let type = DrinkType(rawValue: text) else {
            throw HTTPProblem.wrong(
                "notAType", "\"\(key)\" must be one of \(DrinkType.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return type
    }
}
