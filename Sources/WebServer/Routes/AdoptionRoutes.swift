import HTTPTypes
import Store
import TrackerCore
import TrackerService

enum AdoptionRoutes {
    static func add(to table: RouteTable) {
        table.get("bottles-in-range", needs: .admin) { call in
            .json(["bottles": try await call.service().status().bottlesInRange ?? []])
        }
        table.action(.post, "bottles-in-range/scan", needs: .admin, recording: .withResponse) { call, _ in
            .json(["bottles": try await call.service().scan()])
        }
        table.action(.post, "bottles-in-range/:bottle/look", needs: .admin, recording: .withResponse) { call, _ in
            .json(try await call.service().readContents(try call.parameter("bottle")))
        }
        table.action(.post, "bottles-in-range/:bottle/hide", needs: .admin, recording: .withResponse) { call, tracker in
            try tracker.store.hideInRange(try call.parameter("bottle"))
            return .json(["hidden": true])
        }
        table.write(.post, "bottles-in-range/:bottle/adopt", needs: .admin, recording: .withResponse) {
            call, tracker, fields in
            let mode = try fields.text("mode").map { text in
                guard let mode = BottleMode(rawValue: text) else {
                    throw WrongInput("wrongMode", "invalid mode '\(text)': expected take-over or share")
                }
                return mode
            }
            let choice = AdoptionChoice(mode: mode, trustsClock: try fields.flag("trustClock") ?? false)
            try fields.finish()
            let address = try call.parameter("bottle").uppercased()
            guard address.wholeMatch(of: /([0-9A-F]{2}:){5}[0-9A-F]{2}/) != nil else {
                throw WrongInput("wrongAddress", "invalid address '\(address)': expected six hex pairs")
            }
            let isNew = try tracker.adopt(address, choice)
            await call.person.service?.pollNow()
            return .json(["adopted": isNew])
        }
    }
}
