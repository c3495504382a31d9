import HTTPTypes
import TrackerCore
import TrackerService

enum SessionRoutes {
    static func add(to table: RouteTable) {
        table.waterline { table in
            addSession(to: table)
            addEntries(to: table)
            addPresets(to: table)
        }
    }

    private static func addSession(to table: RouteTable) {
        table.get("session") { call in
            guard let session = try call.app.tracker().sessionIfAny() else {
                throw HTTPProblem(.notFound, "noSession", "There is no session yet.")
            }
            return .json(session)
        }
        table.get("sessions", query: ["limit"]) { call in
            .json(try call.app.tracker().sessions(limit: try call.intQuery("limit", in: 1...1000, otherwise: 5)))
        }
        table.get("sessions/:session") { call in
            .json(try call.app.tracker().session(try call.parameter("session")))
        }
        table.action(.post, "session", needs: .log) { _, tracker in .json(try tracker.startSession()) }
        table.write(.post, "session/end", needs: .log) { _, tracker, fields in
            let at = try fields.text("at") ?? "now"
            try fields.finish()
            guard ["now", "last-log"].contains(at) else {
                throw WrongInput("notAnEnd", "\"at\" must be \"now\" or \"last-log\".")
            }
            return .json(try tracker.endSession(atLastLog: at == "last-log"))
        }
        table.action(.post, "session/keep-going", needs: .log) { _, tracker in .json(try tracker.keepGoing()) }
        table.action(.post, "session/done", needs: .log) { _, tracker in .json(try tracker.sealLastSession()) }
    }

    private static func addEntries(to table: RouteTable) {
        table.write(.post, "session/drink", needs: .log) { _, tracker, fields in
            let (preset, type) = (try fields.text("preset"), try fields.choice("type", "notAType") as DrinkType?)
            let (oz, abv, estimate) = (try fields.number("oz"), try fields.number("abv"), try fields.number("estimate"))
            let at = try fields.moment("at", tracker)
            try fields.finish()
            let outcome = try tracker.drink(
                preset: preset, type: type, sizeOz: oz, abv: abv, estimate: estimate, at: at)
            return .json(outcome, status: .created)
        }
        table.write(.post, "session/water", needs: .log) { _, tracker, fields in
            let (oz, ml) = (try fields.number("oz"), try fields.number("ml"))
            let at = try fields.moment("at", tracker)
            try fields.finish()
            guard oz == nil || ml == nil else {
                throw WrongInput("twoAmounts", "Give \"oz\" or \"ml\", not both.")
            }
            return .json(try tracker.water(oz: oz ?? ml.map { $0 / Ounces.mlPerOunce }, at: at), status: .created)
        }
        table.write(.patch, "session/logs/:entry", needs: .log) { call, tracker, fields in
            let change = EntryChange(
                at: try fields.moment("at", tracker), estimate: try fields.number("estimate"),
                oz: try fields.number("oz"))
            try fields.finish()
            guard change.at != nil || change.estimate != nil || change.oz != nil else {
                throw WrongInput("missingField", "Nothing to change: give \"at\", \"estimate\" or \"oz\".")
            }
            return .json(try tracker.edit(try call.parameter("entry"), change))
        }
        table.action(.delete, "session/logs/:entry", needs: .log) { call, tracker in
            .json(try tracker.delete(try call.parameter("entry")))
        }
    }

    private static func addPresets(to table: RouteTable) {
        table.get("presets") { call in .json(try call.app.tracker().presets()) }
        table.write(.post, "presets", needs: .control) { _, tracker, fields in
            guard let name = try fields.text("name") else {
                throw WrongInput("missingField", "\"name\" is missing.")
            }
            let values = try values(&fields)
            return .json(try tracker.addPreset(name, values), status: .created)
        }
        table.write(.patch, "presets/:preset", needs: .control) { call, tracker, fields in
            let name = try fields.text("name")
            var without: Set<PresetValues.Part> = []
            if fields.takeNull("oz") { without.insert(.size) }
            if fields.takeNull("abv") { without.insert(.strength) }
            var values = try values(&fields)
            (values.name, values.without) = (name, without)
            guard values != PresetValues() else {
                throw WrongInput(
                    "missingField", "Nothing to change: give \"name\", \"type\", \"oz\", \"abv\" or \"estimate\".")
            }
            return .json(try tracker.editPreset(try call.parameter("preset"), values))
        }
        table.action(.delete, "presets/:preset", needs: .control) { call, tracker in
            .json(try tracker.deletePreset(try call.parameter("preset")))
        }
    }

    private static func values(_ fields: inout Fields) throws -> PresetValues {
        let values = PresetValues(
            type: try fields.choice("type", "notAType"), sizeOz: try fields.number("oz"), abv: try fields.number("abv"),
            estimate: try fields.number("estimate"))
        try fields.finish()
        return values
    }
}
