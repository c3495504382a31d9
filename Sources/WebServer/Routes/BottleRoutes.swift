import HTTPTypes
import Hummingbird
import NIOCore
import Store
import TrackerCore
import TrackerService

enum BottleRoutes {
    static func add(to table: RouteTable) {
        table.action(.post, "poll", needs: .log, recording: .withResponse) { call, _ in
            await (try call.service()).pollNow()
            return .json(["asked": true], status: .accepted)
        }
        table.get("polls") { call in .json(["polls": await call.app.service?.recentPolls() ?? []]) }
        // Administrators only, because a kept poll has the traffic and the names of other devices.
        table.get("polls/kept", needs: .admin) { call in .json(["kept": try call.app.tracker().failedPolls()]) }
        table.get("polls/kept/:poll", needs: .admin) { call in
            let id = try call.parameter("poll")
            let capture = try call.app.tracker().capture(ofKeptPoll: id)
            return Response(
                status: .ok,
                headers: [
                    .contentType: "application/octet-stream", .cacheControl: "no-store",
                    .contentDisposition: "attachment; filename=\"poll-\(id).btsnoop\"",
                ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: capture)))
        }
        table.write(.post, "bottle/commands", needs: .control, recording: .beforeAction) { call, _, fields in
            guard let command = try fields.text("command") else {
                throw WrongInput("missingField", "\"command\" is missing.")
            }
            let arguments = try fields.texts("arguments") ?? []
            try fields.finish()
            guard arguments.count <= 16 else {
                throw WrongInput("tooMany", "A command can have at most 16 arguments.")
            }
            return .json(["answer": try await call.service().send([command] + arguments)])
        }
        table.get("bottles") { call in .json(["bottles": try call.app.tracker().store.bottles()]) }
        table.get("bottles/:bottle/settings") { call in
            .json(try call.app.tracker().settings(ofBottle: try call.parameter("bottle")))
        }
        table.write(.patch, "bottles/:bottle/settings", needs: .control) { call, tracker, fields in
            // `null` removes a bottle's own value.
            let changes = fields.all().sorted { $0.key < $1.key }.map {
                (name: $0.key, text: $0.value == .null ? nil : $0.value.text)
            }
            guard !changes.isEmpty else {
                throw WrongInput("missingField", "Name at least one setting with its value.")
            }
            return .json(try tracker.set(changes, ofBottle: try call.parameter("bottle")))
        }
        table.get("journal", query: ["limit"]) { call in
            return .json(
                try call.app.tracker().journal(limit: try call.intQuery("limit", in: 1...10_000, otherwise: 100)))
        }
        table.get("journal/:record") { call in .json(try call.app.tracker().record(try call.parameter("record"))) }
        table.action(.post, "journal/resolve", needs: .control) { _, tracker in .json(try tracker.resolveJournal()) }
        table.write(.patch, "journal/:record", needs: .control) { call, tracker, fields in
            guard let at = try fields.moment("at", tracker) else {
                throw WrongInput("missingField", "\"at\" is missing: the time of the drink.")
            }
            try fields.finish()
            return .json(try tracker.dateRecord(try call.parameter("record"), at: at))
        }
        addAdoption(to: table)
    }

    /// Routes for a service without an adopted bottle.
    private static func addAdoption(to table: RouteTable) {
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
            await call.app.service?.pollNow()
            return .json(["adopted": isNew])
        }
    }
}
