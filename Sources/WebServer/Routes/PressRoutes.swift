import Hummingbird
import TrackerCore
import TrackerService

/// The route for the buttons of phone notifications. The key in a notification permits only its buttons, so that the
/// notification server does not get a token.
enum PressRoutes {
    static func add(to table: RouteTable) {
        table.open(.post, "press") { call in
            let (body, person) = (try await call.body(), call.person)
            // The key of a notification is the credential of this route.
            guard var fields = try? Fields(body), let key = try? fields.text("key"), key.utf8.count == 64 else {
                throw HTTPProblem.notSignedIn
            }
            let action = try fields.action()
            try fields.finish()
            let tracker = try person.tracker().withAccess(waterline: person.sharesWaterline())
            guard let done = try tracker.press(action, withKey: key) else { throw unknownNotification }
            await person.storeChanged()
            return .json(["done": done])
        }
    }

    private static let unknownNotification = HTTPProblem(
        .gone, "noSuchNotification", "This notification no longer exists. Nothing was changed.")
}
