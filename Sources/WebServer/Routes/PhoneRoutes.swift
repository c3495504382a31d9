import HTTPTypes
import Hummingbird
import TrackerCore
import TrackerService

/// Routes for a phone: the buttons of its notifications, and its automation (Apple's Shortcuts), which writes amounts
/// to its health records (tracker spec 10.11).
enum PhoneRoutes {
    static func add(to table: RouteTable) {
        // The key in a notification permits only its buttons, so that the notification server does not get a token.
        table.unauthenticated(.post, "press") { call in
            let (body, app) = (try await call.body(), call.app)
            guard var fields = try? Fields(body), let key = try? fields.text("key"), key.utf8.count == 64 else {
                throw HTTPProblem.notSignedIn
            }
            let action = try fields.action()
            try fields.finish()
            let tracker = try app.tracker().withAccess(waterline: app.sharesWaterline())
            guard let done = try tracker.press(action, withKey: key) else { throw unknownNotification }
            await app.storeChanged()
            return .json(["done": done])
        }
        table.get("shortcuts/drinks", query: ["days"]) { call in
            .json(try call.tracker().drinksForPhone(days: try call.intQuery("days", in: 1...3650, otherwise: 7)))
        }
        table.write(.post, "shortcuts/done", needs: .log) { _, tracker, fields in
            let keys = try fields.texts("keys") ?? []
            try fields.finish()
            return .json(try tracker.recordPhoneDrinks(keys))
        }
    }

    private static let unknownNotification = HTTPProblem(
        .gone, "noSuchNotification", "This notification no longer exists. Nothing was changed.")
}
