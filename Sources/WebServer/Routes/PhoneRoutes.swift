import HTTPTypes
import TrackerCore
import TrackerService

/// Routes for a phone's automation (Apple's Shortcuts): amounts to write to its health records (tracker spec 10.11).
enum PhoneRoutes {
    static func add(to table: RouteTable) {
        table.get("shortcuts/drinks", query: ["days"]) { call in
            .json(try call.tracker().drinksForPhone(days: try call.intQuery("days", in: 1...3650, otherwise: 7)))
        }
        table.write(.post, "shortcuts/done", needs: .log) { _, tracker, fields in
            let keys = try fields.texts("keys") ?? []
            try fields.finish()
            return .json(try tracker.recordPhoneDrinks(keys))
        }
    }
}
