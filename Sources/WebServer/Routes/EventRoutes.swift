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
        table.get("events", query: ["fields", "shows", "looks", "after"]) { call in
            let subscription = try EventSubscription(call)
            try await call.app.feed.checkStreamLimits(call.caller.token?.id)
            return .events { try await subscription.send(to: &$0) }
        }
    }
}

/// The events that a client has requested and may read.
private final class EventSubscription: Sendable {
    private let call: APICall
    private let lastID: Int64?
    /// The requested keys of the state; `nil` for all.
    private let stateKeys: [String]?
    private let hasSession: Bool
    private let hasNotifications: Bool
    private let showsNotifications: Bool
    private let isVisible: Bool

    init(_ call: APICall) throws {
        self.call = call
        stateKeys = call.query("fields").map { $0.split(separator: ",").map(String.init) }
        if let stateKeys, stateKeys.isEmpty || stateKeys.count > 64 {
            throw WrongInput(
                "fields", "\"fields\" must be 1 to 64 keys of the state, session or notify, separated by commas.")
        }
        // A browser sends the header only when it reconnects. A new page uses the query.
        let last = call.request.headers[.lastEventID] ?? call.query("after")
        // A value that is not a number was never issued as an ID.
        lastID = last.flatMap { $0.isEmpty ? nil : Int64($0) ?? -1 }
        showsNotifications = try call.hasQuery("shows", "notifications")
        isVisible = try !call.hasQuery("looks", "no")
        hasSession = stateKeys?.contains("session") ?? true
        hasNotifications = showsNotifications || stateKeys?.contains("notify") ?? true
    }

    func send(to writer: inout any ResponseBodyWriter) async throws {
        let (app, channel) = (call.app, call.context.channel)
        // The body does not run on the executor of the request.
        let (id, events) = try await withTaskExecutorPreference(BlockingThreads.shared) {
            let tracker = try app.tracker()
            _ = try tracker.store.recordSharing(app.sharesWaterline())
            // Opening the page marks all notifications as read.
            if showsNotifications { try? tracker.markNotificationsRead() }
            let subscriber = StateFeed.Subscriber(
                token: call.caller.token?.id, isVisible: isVisible, showsNotifications: showsNotifications,
                mayReadWaterline: { self.call.mayReadWaterline }, disconnectClient: { channel.close(promise: nil) })
            return try await app.feed.add(subscriber, after: lastID)
        }
        var (sent, sentTag) = (ByteBuffer(), "")
        try await call.send(events, to: &writer, first: EventFrame.retry) {
            await app.feed.remove(id)
        } frame: { event in
            let mayReadWaterline = call.mayReadWaterline
            switch event {
            case .state(let views, let id):
                let state = views.view(withWaterline: mayReadWaterline)
                // A changed tag alone would reveal that something happened in a session.
                guard mayReadWaterline || id != nil || state.tag != sentTag else { return nil }
                sentTag = state.tag
                let bytes = stateKeys.map(state.selecting) ?? state.bytes
                // The selected keys may be equal although the state has changed.
                guard stateKeys == nil || bytes != sent else { return nil }
                sent = bytes
                return id == nil && stateKeys == nil ? state.frame : EventFrame.bytes("state", bytes, id: id)
            case .notify(let event):
                guard hasNotifications, maySend(event) else { return nil }
                return EventFrame.bytes("notify", event.bytes, id: event.position)
            case .gap(let bytes): return hasNotifications ? EventFrame.bytes("gap", bytes) : nil
            case .session(let bytes): return hasSession && mayReadWaterline ? EventFrame.bytes("session", bytes) : nil
            case .ping: return EventFrame.ping
            }
        }
    }

    /// Whether the client may read the notification. Those of a session from the time before Waterline was shared are
    /// never sent.
    private func maySend(_ event: NotificationEvent) -> Bool {
        guard event.isWaterline, !call.caller.isAdministrator else { return true }
        let sharedFrom = try? call.app.tracker().store.recordSharing(call.app.sharesWaterline())
        return sharedFrom.map { event.position > $0 } ?? false
    }
}

extension Response {
    /// A stream of server-sent events.
    static func events(_ send: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/event-stream", .xAccelBuffering: "no"], body: ResponseBody(send))
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
                    guard try caller.token.map({ try app.caller(with: $0.text) != nil }) ?? true else { break }
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
    fileprivate static let xAccelBuffering = Self("X-Accel-Buffering")!
}
