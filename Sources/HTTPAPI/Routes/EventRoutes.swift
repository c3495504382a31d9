import HTTPTypes
import Hummingbird
import NIOCore

/// The stream of what happens: the full state first, then `state`, `notify` and `session` (tracker law Section 10).
enum EventRoutes {
    static func add(to table: RouteTable) {
        table.stream("events") { ask in
            try ask.allowQuery(["fields", "shows", "looks"])
            let fields = ask.query("fields").map { $0.split(separator: ",").map(String.init) }
            if let fields, fields.isEmpty || fields.count > 64 { throw HTTPProblem.wrong("fields", "\"fields\" names 1 to 64 keys of the state, with commas between.") }
            let lastID = ask.request.headers[.lastEventID].flatMap { UInt64($0) }
            let (person, feed, channel, isLocal) = (ask.person, ask.person.feed, ask.visit.channel, ask.visit.isLocal)
            let token = ask.visit.rights.keys[person.name]?.token
            let showsNotifications = try ask.queryIs("shows", "notifications")
            let (looks, request) = (try !ask.queryIs("looks", "no"), ask.request)
            let body = ResponseBody { writer in
                let seesWaterline: @Sendable () -> Bool = { person.sharesWaterline() || isLocal }
                let (id, events) = try await feed.watch(
                    after: lastID, showsNotifications: showsNotifications, seesWaterline: seesWaterline, looks: looks) { channel.close(promise: nil) }
                do {
                    try await writer.write(EventFrame.retry)
                    // A client that hangs up is noticed at once, and not when a write fails: nobody looks any more.
                    try await request.body.consumeWithInboundCloseHandler { _ in
                        for await event in events {
                            // Who is let in no more hears nothing more.
                            guard try token.map({ try person.desk().store.scope(of: $0) != nil }) ?? true else { break }
                            try await writer.write(frame(event, fields, seesWaterline()))
                        }
                    } onInboundClosed: {
                        Task { await feed.leave(id) }
                    }
                } catch {
                    await feed.leave(id)
                    throw error
                }
                await feed.leave(id)
                try await writer.finish(nil)
            }
            return Response(status: .ok, headers: [.contentType: "text/event-stream", .xAccelBuffering: "no"], body: body)
        }
    }

    /// What this caller gets to see of it; nothing at all of what is not its business.
    private static func frame(_ event: StateFeed.Event, _ fields: [String]?, _ seesWaterline: Bool) -> ByteBuffer {
        switch event {
        case .state(let text):
            fields.map { EventFrame.bytes("state", text.picked($0, withWaterline: seesWaterline)) } ?? text.frame(withWaterline: seesWaterline)
        case .notify(let id, let bytes, let isWaterline): isWaterline && !seesWaterline ? ByteBuffer() : EventFrame.bytes("notify", bytes, id: id)
        case .session(let bytes): seesWaterline ? EventFrame.bytes("session", bytes) : ByteBuffer()
        case .ping: EventFrame.ping
        }
    }
}

extension HTTPField.Name {
    /// nginx: hand everything on at once.
    static let xAccelBuffering = Self("X-Accel-Buffering")!
}
