import Foundation
import Utilities
import Store
import Synchronization
import TrackerCore
import TrackerService

/// The broker as a place where notifications are shown: what it has confirmed, and somebody listens to, counts as told
/// (tracker law B7, K-B15). What others were told while it was away goes out before anything new, in the same order and
/// words.
///
/// What was sent and is not confirmed yet may still arrive: it is not sent again in the same connection, however often
/// it is asked for. A connection that ends without a confirmation leaves nobody who could tell, and the next one sends
/// it again.
package final class MQTTSink: NotificationSink {
    /// Always `mqtt`.
    package let name = "mqtt"
    /// How long a confirmation may take.
    package let limit: Duration

    /// What there is to speak to right now.
    struct Connection: Sendable {
        var session: MQTTSession
        var topics: Topics
        var desk: @Sendable () throws -> TrackerDesk
        var sharesWaterline: @Sendable () -> Bool
        /// Called when the broker confirms what nobody waited for any more: it counts at the next look.
        var confirmedLate: @Sendable () async -> Void = {}
    }

    private struct Held {
        var connection: Connection?
        /// Counts connections.
        var number = 0
        /// What was sent in this connection, and what became of it, oldest first.
        var sent: [(what: Announcement, answer: Task<Bool, Never>)] = []
        /// What somebody has heard in this connection, oldest first.
        var heard: [String] = []
        /// Nobody listened: until then nothing of before is offered again.
        var restsUntil: ContinuousClock.Instant?
        var backoff = MQTTSink.rests
    }

    /// So much that was sent is remembered. Far less is ever asked for again.
    private static let memory = 64
    /// So many of before are under way at once.
    private static let batch = 20
    /// How long nothing of before is offered after nobody listened.
    private static let rests = Backoff(first: .milliseconds(500), longest: .seconds(300))
    private let held = Mutex(Held())
    private let turns = Turns()

    /// With the usual limit of six seconds.
    package convenience init() { self.init(limit: .seconds(6)) }

    /// - Parameter limit: so long somebody waits for the broker.
    init(limit: Duration) { self.limit = limit }

    func connect(_ new: Connection?) { held.withLock { $0 = Held(connection: new, number: $0.number + 1) } }

    package func canShow() async -> Bool { held.withLock { $0.connection.map { $0.session.failure == nil } ?? false } }

    package func deliver(_ notification: TrackerNotification) async -> Bool {
        let what = notification.announcement
        let answer: Task<Bool, Never>? = held.withLock { held in
            guard let connection = held.connection, connection.session.failure == nil else { return nil }
            guard !notification.kind.isWaterline || connection.sharesWaterline() else { return nil }
            if let known = held.sent.first(where: { $0.what == what }) { return known.answer }
            let (limit, number) = (limit, held.number)
            let answer = turns.begin {
                let began = ContinuousClock.now
                var isHeard = false
                if await self.bring(connection, number) { isHeard = await Self.send([notification], connection) }
                // What nobody hears is not told: it comes again, here or on another surface.
                if isHeard { self.note([notification], number) } else { self.forget(what) }
                if isHeard, ContinuousClock.now - began > limit { await connection.confirmedLate() }
                return isHeard
            }
            held.sent.append((what, answer))
            if held.sent.count > Self.memory { held.sent.removeFirst() }
            return answer
        }
        return await answer?.value ?? false
    }

    /// Says what others were told while this one was away. After a while in which nobody listened, or at once.
    /// - Parameter atOnce: somebody may have begun to listen.
    func catchUp(atOnce: Bool) async {
        let found: (Connection, Int)? = held.withLock { held in
            if atOnce { (held.restsUntil, held.backoff) = (nil, Self.rests) }
            guard let connection = held.connection, held.restsUntil.map({ $0 <= .now }) ?? true else { return nil }
            return (connection, held.number)
        }
        guard let (connection, number) = found else { return }
        _ = await turns.take { await self.bring(connection, number) }
    }

    // MARK: - Parts

    /// - Returns: whether nothing is left that the broker, and somebody there, has not got.
    private func bring(_ connection: Connection, _ number: Int) async -> Bool {
        guard let desk = try? connection.desk(), let through = try? desk.store.toldThrough(name),
            let told = try? desk.store.told(after: through)
        else { return false }
        guard let last = told.last else { return true }
        let sharedFrom = try? desk.store.noteSharing(connection.sharesWaterline())
        let waiting = told.filter { one in
            // What was told of a session while that was nobody's business stays so.
            guard !one.sinks.contains(name),
                one.decision.sessionID == nil || sharedFrom.map({ one.place > $0 }) ?? false
            else { return false }
            // The line of a session that is over says nothing any more.
            return !one.decision.kind.isResident
                || (try? desk.store.activeSession(at: desk.now))?.session.id == one.decision.sessionID
        }
        var rest = waiting[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Self.batch))
            let known = held.withLock { held in Set(part.map(\.decision.notificationId)).intersection(held.heard) }
            let unsaid = part.map(\.decision).filter { !known.contains($0.notificationId) }
            guard held.withLock({ $0.number == number }) else { return false }
            if !unsaid.isEmpty {
                guard await Self.send(unsaid, connection) else {
                    self.rest(number)
                    return false
                }
                note(unsaid, number)
            }
            // Only what the broker has confirmed is behind us.
            guard (try? desk.store.hasHeard(part, name, through: part[part.count - 1].place)) != nil else {
                return false
            }
            rest = rest.dropFirst(Self.batch)
        }
        guard waiting.last?.place != last.place else { return true }
        return (try? desk.store.hasHeard([], name, through: last.place)) != nil
    }

    private func rest(_ number: Int) {
        held.withLock { held in
            guard held.number == number else { return }
            held.restsUntil = .now + held.backoff.next(chance: 1)
        }
    }

    private func note(_ notifications: [TrackerNotification], _ number: Int) {
        held.withLock { held in
            guard held.number == number else { return }
            held.heard = Array((held.heard + notifications.map(\.notificationId)).suffix(Self.memory))
            (held.restsUntil, held.backoff) = (nil, Self.rests)
        }
    }

    /// In this order.
    /// - Returns: whether the broker has all of them, and somebody listens.
    private static func send(_ notifications: [TrackerNotification], _ connection: Connection) async -> Bool {
        guard let desk = try? connection.desk(), let snapshot = try? desk.state() else { return false }
        let messages = notifications.compactMap { notification in
            (try? TrackerDesk.json(NotifyPayload(notification: notification, snapshot: snapshot, now: desk.now))).map {
                MQTTMessage(connection.topics.notify, $0)
            }
        }
        guard messages.count == notifications.count else { return false }
        return (try? await connection.session.publish(messages)) ?? false
    }

    private func forget(_ what: Announcement) { held.withLock { $0.sent.removeAll { $0.what == what } } }
}
