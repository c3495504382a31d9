import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@testable import Notifications

/// A store, a phone channel, and a real server.
final class PhoneRig: Sendable {
    let store: TrackerStore
    let sender: NotificationSender
    var sink: NotificationSender { sender }
    private let log = LogLines()
    /// The offset of the clock in seconds.
    let skew = Mutex<Double>(0)
    let shares = Mutex(false)
    /// The number of messages that were accepted after their delivery had stopped waiting.
    let lateCount = Mutex(0)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(
        _ service: NotificationChannel, _ settings: [(name: String, text: String)], store: TrackerStore? = nil,
        instance: String? = nil
    ) throws {
        let store = try store ?? TrackerStore(inMemory: "UTC")
        self.store = store
        let boxed = Boxed()
        let context = PublisherContext(
            store, tracker: { PhoneRig.tracker(store, boxed.rig?.skew.withLock { $0 } ?? 0) },
            settings: { try store.settings().service }, sharesWaterline: { boxed.rig?.shares.withLock { $0 } ?? false },
            watch: nil, log: log.logger, randomFraction: { 0 })
        sender = NotificationSender(service, context, instance: instance, limit: .seconds(2))
        boxed.rig = self
        _ = try tracker().set(settings)
    }

    /// A rig with an ntfy topic at the server.
    static func ntfy(_ peer: WebPeer, _ more: [(name: String, text: String)] = [], store: TrackerStore? = nil) throws
        -> PhoneRig
    {
        try PhoneRig(.ntfy, [("ntfy.url", "\(peer.url)/my-water")] + more, store: store)
    }

    /// A new server and a started rig with an ntfy topic there.
    /// - Parameters:
    ///   - rule: the server's rule for its responses.
    ///   - once: whether the rule is for the first request only.
    static func started(_ settings: [(name: String, text: String)] = [], rule: String? = nil, once: Bool = false)
        async throws -> (WebPeer, PhoneRig)
    {
        let peer = try await WebPeer()
        if let rule { try peer.rule(rule, once: once) }
        let rig = try ntfy(peer, settings)
        rig.start()
        return (peer, rig)
    }

    private final class Boxed: @unchecked Sendable { weak var rig: PhoneRig? }

    private static func tracker(_ store: TrackerStore, _ skew: Double) -> TrackerAPI {
        TrackerAPI(store, .test(at: Instant.current.advanced(seconds: skew), source: "notification"))
    }

    func tracker() -> TrackerAPI { Self.tracker(store, skew.withLock { $0 }) }

    func start() {
        let sender = sender
        task.withLock { $0 = Task { await sender.run { self.lateCount.withLock { $0 += 1 } } } }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await sender.checkNow()
        await task?.value
    }

    /// Offers the notification until it is delivered, as the service does. A response can be late on a busy machine.
    func delivers(_ notification: TrackerNotification) async -> Bool {
        await eventually { await sink.deliver(notification) }
    }

    var events: [String] { log.all }
    /// The reports of failures.
    var problems: [String] { events.filter { $0.hasSuffix(" It is retried automatically.") } }
    /// The reports of dropped notifications.
    var dropped: [String] { events.filter { $0.hasPrefix("ntfy: ") && !problems.contains($0) } }

    /// Waits for the report of a failure with this text.
    func fails(_ text: String) async -> Bool { await eventually { problems.contains { $0.contains(text) } } }

    /// Waits for a message with this text.
    func logs(_ text: String) async -> Bool { await eventually { events.contains { $0.contains(text) } } }
}

func notice(
    _ number: Int = 1, _ kind: NotificationKind = .pace, _ title: String = "Hydration Reminder",
    _ body: String = "Time to hydrate! You're 100ml behind pace.",
    urgency: NotificationUrgency = .normal, sound: Bool = true, session: String? = nil, discreet: Bool = false
) -> TrackerNotification {
    TrackerNotification(
        kind: kind, notificationId: "\(kind.id)/2026-11-22/\(number)", title: title, body: body, urgency: urgency,
        sound: sound, dayKey: LocalDay(year: 2026, month: 11, day: 22)!, sessionID: session,
        acceptance: .pace(.onTrack), isDiscreet: discreet)
}
