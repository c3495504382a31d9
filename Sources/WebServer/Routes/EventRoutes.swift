import HTTPTypes
import Hummingbird
import NIOCore
import Store
import TrackerCore
import TrackerService

/// The event stream: the full state first, then missed notifications, then `state`, `notify` and `session` (tracker
/// spec Section 10).
enum EventRoutes {
    static func add(to table: RouteTable) {
        table.stream("events", query: ["fields", "shows", "looks", "after"]) { call in
            let fields = call.query("fields").map { $0.split(separator: ",").map(String.init) }
            if let fields, fields.isEmpty || fields.count > 64 {
                throw WrongInput(
                    "fields", "\"fields\" must be 1 to 64 keys of the state, session or notify, separated by commas.")
            }
            // A browser sends the header only when it reconnects. A new page uses the query.
            let last = call.request.headers[.lastEventID] ?? call.query("after")
            // A value that is not a number was never issued as an ID.
            let lastID = last.flatMap { $0.isEmpty ? nil : Int64($0) ?? -1 }
            let (person, feed, channel, isOwner) = (
                call.person, call.person.feed, call.context.channel, call.caller.isAdministrator
            )
            let token = call.caller.token
            let showsNotifications = try call.hasQuery("shows", "notifications")
            let parts =
                fields.map {
                    Parts(
                        state: $0, hasSession: $0.contains("session"),
                        hasNotifications: showsNotifications || $0.contains("notify"))
                } ?? Parts()
            let isVisible = try !call.hasQuery("looks", "no")
            try await feed.checkStreamLimits(token?.id)
            let body = ResponseBody { writer in
                let mayReadWaterline: @Sendable () -> Bool = { person.sharesWaterline() || isOwner }
                // Notifications of a session from the time before Waterline was shared are never sent.
                let maySend: @Sendable (Notice) -> Bool = { notice in
                    guard notice.isWaterline, !isOwner else { return true }
                    guard let from = try? person.tracker().store.recordSharing(person.sharesWaterline()) else {
                        return false
                    }
                    return notice.position > from
                }
                // The body does not run on the executor of the request.
                let (id, events) = try await withTaskExecutorPreference(BlockingThreads.shared) {
                    _ = try person.tracker().store.recordSharing(person.sharesWaterline())
                    // Opening the page marks all notifications as read.
                    if showsNotifications { try? person.tracker().markNotificationsRead() }
                    return try await feed.watch(
                        after: lastID, token: token?.id, showsNotifications: showsNotifications,
                        mayReadWaterline: mayReadWaterline, isVisible: isVisible
                    ) { channel.close(promise: nil) }
                }
                var (sent, sentTag) = (ByteBuffer(), "")
                try await call.send(events, to: &writer, first: EventFrame.retry) {
                    await feed.stopWatching(id)
                } frame: { event in
                    if case .notify(let notice) = event, !maySend(notice) { return nil }
                    let mayReadSessions = mayReadWaterline()
                    guard case .state(let text, let id) = event else { return frame(event, parts, mayReadSessions) }
                    let state = text.view(withWaterline: mayReadSessions)
                    // A changed tag alone would reveal that something happened in a session.
                    guard mayReadSessions || id != nil || state.tag != sentTag else { return nil }
                    sentTag = state.tag
                    let bytes = parts.state.map(state.selecting) ?? state.bytes
                    // The selected keys may be equal although the state has changed.
                    guard parts.state == nil || bytes != sent else { return nil }
                    sent = bytes
                    return id == nil && parts.state == nil ? state.frame : EventFrame.bytes("state", bytes, id: id)
                }
            }
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .xAccelBuffering: "no"], body: body)
        }
    }

    /// The parts of the stream that the client has requested; all by default.
    private struct Parts {
        /// The requested keys of the state; `nil` for all.
        var state: [String]?
        var hasSession = true
        var hasNotifications = true
    }

    /// The frame of an event other than a state; `nil` if the caller has no access to it or has not requested it.
    private static func frame(_ event: StateFeed.Event, _ parts: Parts, _ mayReadWaterline: Bool) -> ByteBuffer? {
        switch event {
        case .state: nil
        case .notify(let notice):
            parts.hasNotifications ? EventFrame.bytes("notify", notice.bytes, id: notice.position) : nil
        case .gap(let bytes): parts.hasNotifications ? EventFrame.bytes("gap", bytes) : nil
        case .session(let bytes): parts.hasSession && mayReadWaterline ? EventFrame.bytes("session", bytes) : nil
        case .ping: EventFrame.ping
        }
    }
}

extension APICall {
    /// Writes events until they end, the client disconnects, or its token is revoked.
    /// - Parameters:
    ///   - end: called at the end, possibly more than once.
    ///   - frame: converts an event to bytes; `nil` for an event that this client must not get.
    func send<Event: Sendable>(
        _ events: AsyncStream<Event>, to writer: inout any ResponseBodyWriter, first: ByteBuffer? = nil,
        atEnd end: @escaping @Sendable () async -> Void, frame: (Event) throws -> ByteBuffer?
    ) async throws {
        do {
            if let first { try await writer.write(first) }
            // Detects a disconnect at once, not only at a failed write.
            try await request.body.consumeWithInboundCloseHandler { _ in
                for await event in events {
                    guard try caller.token.map({ try person.caller(with: $0.text) != nil }) ?? true
                    else { break }
                    if let frame = try frame(event) { try await writer.write(frame) }
                }
            } onInboundClosed: {
                Task { await end() }
            }
        } catch {
            await end()
            throw error
        }
        await end()
        try await writer.finish(nil)
    }
}

extension HTTPField.Name {
    /// The header by which nginx disables response buffering.
    static let xAccelBuffering = Self("X-Accel-Buffering")!
}
