import HTTPTypes
import NIOCore
import TrackerCore
import TrackerService

enum BottleRoutes {
    static func add(to table: RouteTable) {
        table.action(.post, "poll", needs: .log, way: .repeatable) { ask, _ in
            await (try ask.service()).pollNow()
            return .json(["asked": true], status: .accepted)
        }
        table.get("polls") { ask in .json(["polls": await ask.person.service?.recentPolls() ?? []]) }
        // Administrators only, because a kept poll has the traffic and the names of other devices.
        table.get("polls/kept", needs: .admin) { ask in .json(["kept": try ask.person.desk().keptPolls()]) }
        table.get("polls/kept/:poll", needs: .admin) { ask in
            let id = try ask.part("poll")
            let capture = try ask.person.desk().capture(ofKeptPoll: id)
            return Answer(
                type: "application/octet-stream", bytes: ByteBuffer(bytes: capture),
                headers: [
                    .contentDisposition: "attachment; filename=\"poll-\(id).btsnoop\"", .cacheControl: "no-store",
                ])
        }
        table.write(.post, "bottle/commands", needs: .control, way: .outside) { ask, _, fields in
            guard let command = try fields.text("command") else {
                throw HTTPProblem.wrong("missingField", "\"command\" is missing.")
            }
            let arguments = try fields.texts("arguments") ?? []
            try fields.finish()
            guard arguments.count <= 16 else {
                throw HTTPProblem.wrong("tooMany", "A command can have at most 16 arguments.")
            }
            return .json(["answer": try await ask.service().send([command] + arguments)])
        }
        table.get("bottles") { ask in .json(["bottles": try ask.person.desk().bottles()]) }
        table.get("bottles/:bottle/settings") { ask in
            .json(try ask.person.desk().settings(ofBottle: try ask.part("bottle")))
        }
        table.write(.patch, "bottles/:bottle/settings", needs: .control) { ask, desk, fields in
            let changes = try fields.all().sorted { $0.key < $1.key }.map {
                (name: $0.key, text: try SettingRoutes.textIfAny($0.value, of: $0.key))
            }
            guard !changes.isEmpty else {
                throw HTTPProblem.wrong("missingField", "Name at least one setting with its value.")
            }
            return .json(try desk.set(changes, ofBottle: try ask.part("bottle")))
        }
        table.get("journal", query: ["limit"]) { ask in
            return .json(
                try ask.person.desk().journal(limit: try ask.wholeQuery("limit", in: 1...10_000, otherwise: 100)))
        }
        table.get("journal/:record") { ask in .json(try ask.person.desk().record(try ask.part("record"))) }
        table.action(.post, "journal/resolve", needs: .control) { _, desk in .json(try desk.resolveJournal()) }
        table.write(.patch, "journal/:record", needs: .control) { ask, desk, fields in
            guard let at = try fields.moment("at", desk) else {
                throw HTTPProblem.wrong("missingField", "\"at\" is missing: the time of the drink.")
            }
            try fields.finish()
            return .json(try desk.dateRecord(try ask.part("record"), at: at))
        }
    }
}
