import HTTPTypes
import Store
import TrackerCore
import TrackerService

enum DrinkRoutes {
    static func add(to table: RouteTable) {
        table.write(.post, "drinks", needs: .log) { _, tracker, fields in
            guard let amountText = try fields.scalarText("ml") else {
                throw WrongInput("missingField", "\"ml\" is missing: expected 1 to 2000, \"cup\", \"quick1\" …")
            }
            guard let amount = Amount(amountText) else {
                throw WrongInput(
                    "notAnAmount",
                    "\"\(amountText.prefix(64))\" is not a valid amount: expected 1 to 2000, \"cup\", \"quick1\" …")
            }
            let at = try fields.moment("at", tracker)
            try fields.finish()
            return .json(try tracker.logDrink(amount, at: at), status: .created)
        }
        table.write(.patch, "drinks/:drink", needs: .log) { call, tracker, fields in
            let change = EntryChange(
                ml: try fields.integer("ml"), at: try fields.moment("at", tracker), time: try fields.timeOfDay("time"))
            try fields.finish()
            guard change != EntryChange() else {
                throw WrongInput("missingField", "Nothing to change: give \"ml\", \"at\" or \"time\".")
            }
            guard change.at == nil || change.time == nil else {
                throw WrongInput("twoChoices", "Give \"at\" or \"time\", not both.")
            }
            return .json(try tracker.edit(drink(call, tracker), change))
        }
        table.action(.delete, "drinks/:drink", needs: .log) { call, tracker in
            .json(try tracker.delete(drink(call, tracker)))
        }
        table.write(.post, "undo", needs: .log) { _, tracker, fields in
            let (drink, of) = (try fields.text("drink"), try fields.text("of"))
            try fields.finish()
            if let drink {
                guard of == nil else { throw WrongInput("twoChoices", "Give \"drink\" or \"of\", not both.") }
                return .json(try tracker.undo(ofDrink: drink))
            }
            guard let scope = undoScopes[of ?? "everything"] else {
                throw WrongInput(
                    "notAReach", "\"of\" must be one of \(undoScopes.keys.sorted().joined(separator: ", ")).")
            }
            return .json(try tracker.undo(scope))
        }
        table.write(.post, "snooze", needs: .log) { _, tracker, fields in
            let length = try Snooze(minutes: fields.integer("minutes"), until: fields.text("until"))
            try fields.finish()
            return .json(try tracker.snooze(length))
        }
        table.action(.post, "reset-today", needs: .log) { _, tracker in .json(try tracker.resetToday()) }
        table.get("history", query: ["day", "week", "month"]) { call in
            try call.allowAtMostOne(of: ["day", "week", "month"])
            let tracker = try call.tracker()
            if let day = call.query("day") { return .json(try tracker.day(DayText.day(day, today: tracker.today()))) }
            if let month = call.query("month") { return .json(try tracker.month(of: DayText.month(month))) }
            return .json(try tracker.week(of: DayText.dayOfWeek(call.query("week"), today: tracker.today())))
        }
        table.get("streak") { call in .json(try call.app.tracker().streak()) }
    }

    /// The values of the field `of`: the changes that undo considers.
    private static let undoScopes: [String: UndoScope] = [
        "everything": .everything, "drinks": .drinks, "today": .today, "session": .session,
    ]

    /// A drink's ID in the lists. Entries of a session have a separate path.
    private static func drink(_ call: APICall, _ tracker: TrackerAPI) throws -> String {
        let name = try call.parameter("drink")
        guard try !tracker.store.drinks(named: name).isEmpty else {
            throw Refusal("noSuchDrink", "There is no drink \(name).", category: .notFound)
        }
        return name
    }
}

extension Fields {
    /// A time as the user enters it.
    mutating func moment(_ key: String, _ tracker: TrackerAPI) throws -> Instant? {
        try text(key).map { try tracker.moment($0) }
    }

    mutating func timeOfDay(_ key: String) throws -> TimeOfDay? {
        try text(key).map { text in
            guard let time = TimeOfDay(text) else {
                throw WrongInput(
                    "notATime", "\"\(text.prefix(64))\" is not a valid \"\(key)\": expected a time such as 14:05.")
            }
            return time
        }
    }
}
