import HTTPTypes
import Hummingbird
import NIOCore

/// The event stream: the full state first, then missed notifications, then `state`, `notify` and `session` (tracker
/// spec Section 10).
enum EventRoutes {
    static func add(to table: RouteTable) {
        table.stream("events", query: ["fields", "shows", "looks", "after"]) { ask in
            let fields = ask.query("fields").map { $0.split(separator: ",").map(String.init) }
            if let fields, fields.isEmpty || fields.count > 64 {
                throw HTTPProblem.wrong(
                    "fields", "\"fields\" must be 1 to 64 keys of the state, session or notify, separated by commas.")
            }
            // A browser sends the header only when it reconnects. A new page uses the query.
            let last = ask.request.headers[.lastEventID] ?? ask.query("after")
            // A value that is not a number was never issued as an ID.
            let lastID = last.flatMap { $0.isEmpty ? nil : Int64($0) ?? -1 }
            let (person, feed, channel, isOwner) = (
                ask.person, ask.person.feed, ask.visit.channel, ask.visit.caller.isAdministrator
            )
            let token = ask.visit.caller.token
            let showsNotifications = try ask.queryIs("shows", "notifications")
            let parts =
                fields.map {
                    Parts(
                        state: $0, hasSession: $0.contains("session"),
                        hasNotifications: showsNotifications || $0.contains("notify"))
                } ?? Parts()
            let (looks, request) = (try !ask.queryIs("looks", "no"), ask.request)
            try await feed.checkPlace(token?.id)
            let body = ResponseBody { writer in
                let seesWaterline: @Sendable () -> Bool = { person.sharesWaterline() || isOwner }
                // Session notifications from before a session was shared are never sent.
                let sees: @Sendable (Notice) -> Bool = { notice in
                    guard notice.isWaterline, !isOwner else { return true }
                    guard let from = try? person.desk().store.noteSharing(person.sharesWaterline()) else {
                        return false
                    }
                    return notice.place > from
                }
                _ = try person.desk().store.noteSharing(person.sharesWaterline())
                let (id, events) = try await feed.watch(
                    after: lastID, token: token?.id, showsNotifications: showsNotifications,
                    seesWaterline: seesWaterline, looks: looks
                ) { channel.close(promise: nil) }
                do {
                    try await writer.write(EventFrame.retry)
                    // Detects a disconnect at once, not only at a failed write.
                    try await request.body.consumeWithInboundCloseHandler { _ in
                        var (said, saidTag) = (ByteBuffer(), "")
                        for await event in events {
                            // A revoked token receives no further events.
                            guard try token.map({ try person.desk().use(token: $0.text) != nil }) ?? true else { break }
                            if case .notify(let notice) = event, !sees(notice) { continue }
                            let seesSessions = seesWaterline()
                            if case .state(let text, let id) = event {
                                let tag = text.tag(withWaterline: seesSessions)
                                // A changed tag alone would reveal that something happened in a session.
                                guard seesSessions || id != nil || tag != saidTag else { continue }
                                saidTag = tag
                            }
                            let frame = frame(event, parts, seesSessions)
                            guard frame.readableBytes > 0 else { continue }
                            // The selected keys may be equal although the state has changed.
                            if let wanted = parts.state, case .state(let text, _) = event {
                                let picked = text.picked(wanted, withWaterline: seesSessions)
                                guard picked != said else { continue }
                                said = picked
                            }
                            try await writer.write(frame)
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
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .xAccelBuffering: "no"], body: body)
        }
    }

    /// The requested parts of the stream; all if none is named.
    private struct Parts {
        /// The requested keys of the state; `nil` for all.
        var state: [String]?
        var hasSession = true
        var hasNotifications = true
    }

    /// The event for this caller; empty if the caller has no access or has not requested it.
    private static func frame(_ event: StateFeed.Event, _ parts: Parts, _ seesWaterline: Bool) -> ByteBuffer {
        switch event {
        case .state(let text, nil):
            parts.state.map { EventFrame.bytes("state", text.picked($0, withWaterline: seesWaterline)) }
                ?? text.frame(withWaterline: seesWaterline)
        case .state(let text, let id?):
            EventFrame.bytes(
                "state",
                parts.state.map { text.picked($0, withWaterline: seesWaterline) }
                    ?? text.bytes(withWaterline: seesWaterline), id: id)
        case .notify(let notice):
            parts.hasNotifications ? EventFrame.bytes("notify", notice.bytes, id: notice.place) : ByteBuffer()
        case .gap(let bytes): parts.hasNotifications ? EventFrame.bytes("gap", bytes) : ByteBuffer()
        case .session(let bytes): parts.hasSession && seesWaterline ? EventFrame.bytes("session", bytes) : ByteBuffer()
        case .ping: EventFrame.ping
        }
    }
}

extension HTTPField.Name {
    /// The header by which nginx disables response buffering.
    static let xAccelBuffering = Self("X-Accel-Buffering")!
}
