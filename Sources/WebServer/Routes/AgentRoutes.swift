import HTTPTypes
import Hummingbird
import NIOCore
import TrackerCore
import TrackerService

/// Routes for a program in the user's session that shows and confirms notifications of a service without a session.
enum AgentRoutes {
    static func add(to table: RouteTable) {
        table.get("agent", needs: .log) { call in
            try call.requireLocalProgram()
            let (app, channel) = (call.app, call.context.channel)
            guard let sink = app.agents else {
                throw HTTPProblem.notFound("This service does not use desktop agents.")
            }
            return .events { writer in
                let attached = await sink.attach(page: app.page()) { channel.close(promise: nil) }
                guard let (agent, frames) = attached else { return try await writer.finish(nil) }
                // An agent is available now: deliver the notifications that had no channel.
                await app.storeChanged()
                let pings = Task {
                    while (try? await Task.sleep(for: StateFeed.pingEvery)) != nil { await sink.ping() }
                }
                defer { pings.cancel() }
                try await call.send(frames, to: &writer, atEnd: { await sink.detach(agent) }, frame: { $0 })
            }
        }
        table.write(.post, "agent/shown", needs: .log) { call, _, fields in
            try call.requireLocalProgram()
            let (agent, id) = (try fields.required("agent"), try fields.required("id"))
            let isShown = try fields.flag("shown") ?? true
            try fields.finish()
            await call.app.agents?.answer(agent, id, isShown: isShown)
            return .json(["shown": isShown])
        }
        table.write(.post, "agent/press", needs: .log) { call, tracker, fields in
            try call.requireLocalProgram()
            // A delayed button press contains the time of the press.
            let (action, key) = (try fields.action(), try fields.required("key"))
            let at = try fields.moment("at", tracker)
            try fields.finish()
            guard key.utf8.count <= 256 else { throw WrongInput("tooLong", "\"key\" has more than 256 bytes.") }
            return .json(["done": try tracker.press(action, key: key, at: at)])
        }
    }
}

extension APICall {
    /// Allows only programs on this machine, because a confirmed notification counts as shown.
    fileprivate func requireLocalProgram() throws {
        guard caller.isLocal else {
            throw HTTPProblem(
                .forbidden, "notThisMachine", "Only programs on the service's machine may show notifications.")
        }
    }
}

extension Fields {
    /// The action of a notification's button.
    mutating func action() throws -> NotificationAction {
        guard let action = NotificationAction(rawValue: try text("action") ?? "") else {
            throw WrongInput(
                "noSuchAction",
                "\"action\" must be one of \(NotificationAction.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return action
    }

    fileprivate mutating func required(_ key: String) throws -> String {
        guard let text = try text(key), !text.isEmpty else {
            throw WrongInput("missingField", "\"\(key)\" is missing.")
        }
        return text
    }
}
