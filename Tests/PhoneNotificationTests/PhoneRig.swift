import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

@testable import Notifications

/// A store, a phone channel, and a real server.
final class PhoneRig: Sendable {
    let store: TrackerStore
    let outlet: NotificationSender
    var sink: NotificationSender { outlet }
    let words = Mutex<[NotificationSender.LogEvent]>([])
    let lead = Mutex<Double>(0)
    let shares = Mutex(false)
    let late = Mutex(0)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(
        _ service: NotificationChannel, _ settings: [(name: String, text: String)], store: TrackerStore? = nil,
        person: String? = nil
    ) throws {
        let store = try store ?? TrackerStore(inMemory: "UTC")
        self.store = store
        let boxed = Boxed()
        outlet = NotificationSender(
            service,
            .init(
                tracker: { PhoneRig.tracker(store, boxed.rig?.lead.withLock { $0 } ?? 0) }, person: person,
                sharesWaterline: { boxed.rig?.shares.withLock { $0 } ?? false },
                say: { word in boxed.rig?.words.withLock { $0.append(word) } }, chance: { 0 }, limit: .seconds(2)))
        boxed.rig = self
        _ = try tracker().set(settings)
    }

    /// A rig with an ntfy topic at the server.
    static func ntfy(_ peer: WebPeer, _ more: [(name: String, text: String)] = [], store: TrackerStore? = nil) throws
        -> PhoneRig
    {
        try PhoneRig(.ntfy, [("ntfy.url", "\(peer.url)/my-water")] + more, store: store)
    }

    private final class Boxed: @unchecked Sendable { weak var rig: PhoneRig? }

    private static func tracker(_ store: TrackerStore, _ lead: Double) -> TrackerAPI {
        let now = Instant(milliseconds: Int64((Date().timeIntervalSince1970 + lead) * 1000))
        return TrackerAPI(
            store, WriteContext(now: now, zone: .utc, source: "pocket", makeID: { UUID().uuidString.lowercased() }))
    }

    func tracker() -> TrackerAPI { Self.tracker(store, lead.withLock { $0 }) }

    func start() {
        let outlet = outlet
        task.withLock { $0 = Task { await outlet.run { self.late.withLock { $0 += 1 } } } }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await outlet.poke()
        await task?.value
    }

    /// Offers it until it is delivered, as the service does: on a busy machine the first response can be late.
    func tells(_ notification: TrackerNotification) async -> Bool {
        await event { await sink.deliver(notification) ? true : nil } == true
    }

    var said: [NotificationSender.LogEvent] { words.withLock { $0 } }
    var troubles: [String] { said.compactMap { if case .trouble(let words) = $0 { words } else { nil } } }

    /// Waits for a matching message.
    func says(_ fits: @Sendable (NotificationSender.LogEvent) -> Bool) async -> Bool {
        await event { said.contains(where: fits) ? true : nil } == true
    }
}

func notice(
    _ number: Int = 1, _ kind: NotificationKind = .pace, _ title: String = "Hydration Reminder",
    _ body: String = "Time to hydrate! You're 100ml behind pace.",
    urgency: NotificationUrgency = .normal, sound: Bool = true, session: String? = nil, discreet: Bool = false
) -> TrackerNotification {
    TrackerNotification(
        kind: kind, notificationId: "\(kind.id)/2026-11-22/\(number)", title: title, body: body, urgency: urgency,
        sound: sound,
        dayKey: LocalDay(year: 2026, month: 11, day: 22)!, sessionID: session, acceptance: .pace(.onTrack),
        isDiscreet: discreet)
}
