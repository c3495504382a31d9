import Store
import Synchronization
import TrackerCore

/// A place before a person's eyes that may be away: a desktop. What others told meanwhile it shows when it is back, in
/// their order, as long as it is still so; what was answered since, what a later one replaces, and what is over would
/// only be in the way: that is noted as missed (tracker law C).
///
/// Between two looks at most one of a kind is worth showing, so a long absence ends with a few banners and not with a
/// flood.
package final class LateSink: NotificationSink {
    private let place: any NotificationSink
    private let desk: @Sendable () async throws -> TrackerDesk
    private let wasShown: @Sendable (TrackerNotification) async -> Bool
    private let say: @Sendable (String) -> Void
    private let turns = Turns()
    /// What was noted as missed, and when, by the machine's clock: where that is set back behind it, it was no time to
    /// judge by.
    private let judged = Mutex<[(place: Int64, at: Instant)]>([])
    private static let judgedLimit = 400
    /// A clock that is set back by so much was wrong, seconds. Less is everyday's.
    private static let setBack: Double = 60

    /// - Parameters:
    ///   - place: that shows.
    ///   - desk: a desk of the moment.
    ///   - wasShown: whether the place has shown it already: who showed it may have died before it could say so.
    ///   - say: a line for the log, for each that is missed.
    package init(
        _ place: any NotificationSink, desk: @escaping @Sendable () async throws -> TrackerDesk,
        wasShown: @escaping @Sendable (TrackerNotification) async -> Bool = { _ in false },
        say: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.place, self.desk, self.wasShown, self.say) = (place, desk, wasShown, say)
    }

    /// Of the place.
    package var name: String { place.name }
    /// Of the place.
    package var limit: Duration { place.limit }

    /// Nothing while the user has switched desktop notifications off: what others are told until then is not shown
    /// afterwards.
    package func canShow() async -> Bool {
        guard await isOn() else { return false }
        return await place.canShow()
    }

    private func isOn() async -> Bool {
        guard let store = try? await desk().store, (try? store.settings())?.desktopNotifications == false else {
            return true
        }
        try? store.stopsHearing(name)
        return false
    }

    package func close(id: String) async { await place.close(id: id) }

    package func recorded() async { await place.recorded() }

    package func catchUp() async { _ = await turns.take { await self.bring() } }

    /// What came before goes before. Only what is urgent does not wait for it, where a person is not to be disturbed.
    package func deliver(_ notification: TrackerNotification) async -> Bool {
        await turns.take { [self] in
            let isComplete = await bring(before: notification)
            guard isComplete || notification.urgency == .critical, await place.deliver(notification) else {
                return false
            }
            if !isComplete { await giveUp(before: notification) }
            return true
        }
    }

    /// - Parameter next: what is about to be shown takes the place of what is of its kind.
    /// - Returns: whether nothing is left.
    private func bring(before next: TrackerNotification? = nil) async -> Bool {
        guard await canShow(), let desk = try? await desk(), let through = try? desk.store.toldThrough(name),
            let told = try? judgedTooEarly(desk) + desk.store.told(after: through)
        else { return false }
        guard let last = told.last else { return true }
        do {
            let stillTrue = StillTrue(try desk.store.facts(desk.context), now: desk.now)
            var done: [ToldNotification] = []
            var missed: [Int64: MissedReason] = [:]
            for one in told {
                done.append(one)
                guard !one.sinks.contains(name) else { continue }
                let isReplaced =
                    next?.kind.id == one.decision.kind.id
                    || told.contains {
                        $0.place > one.place && $0.decision.kind.id == one.decision.kind.id
                            && !isAhead($0.decision.decidedAt, desk)
                    }
                if let reason = isReplaced ? .replaced : stillTrue.reasonToMiss(one.decision) {
                    missed[one.place] = await wasShown(one.decision) ? nil : reason
                } else {
                    guard await place.deliver(one.decision) else {
                        done.removeLast()
                        try note(done, missed, desk, through: done.last?.place ?? through)
                        return false
                    }
                    // At once: who dies now must not show it again.
                    try note(done, missed, desk, through: one.place)
                    (done, missed) = ([], [:])
                }
            }
            try note(done, missed, desk, through: last.place)
            return true
        } catch {
            return false
        }
    }

    /// What was noted as missed while the clock was ahead of what it says now: it is looked at again.
    private func judgedTooEarly(_ desk: TrackerDesk) throws -> [ToldNotification] {
        let places = Set(judged.withLock { $0 }.filter { isAhead($0.at, desk) }.map(\.place))
        guard let first = places.min(), let last = places.max() else { return [] }
        try desk.store.forgetMissed(places.sorted(), name)
        judged.withLock { $0.removeAll { places.contains($0.place) } }
        return try desk.store.told(after: first - 1, through: last).filter { places.contains($0.place) }
    }

    private func isAhead(_ instant: Instant?, _ desk: TrackerDesk) -> Bool {
        instant.map { desk.now.seconds(to: $0) > Self.setBack } ?? false
    }

    private func note(
        _ done: [ToldNotification], _ missed: [Int64: MissedReason], _ desk: TrackerDesk, through place: Int64
    ) throws {
        let changed = done.filter { missed[$0.place] != nil || !$0.sinks.contains(name) }
        guard !done.isEmpty else { return }
        try desk.store.hasHeard(changed, name, missed: missed, through: place)
        judged.withLock { judged in
            judged += missed.keys.sorted().map { ($0, desk.now) }
            judged.removeFirst(max(0, judged.count - Self.judgedLimit))
        }
        for one in changed {
            if let reason = missed[one.place] {
                say(
                    """
                    Not shown any more: \(one.decision.kind.id) (\(one.decision.notificationId)), told while the \
                    desktop was away: \(reason.rawValue).
                    """
                )
            }
        }
    }

    /// What was not let through before something urgent does not come after it.
    private func giveUp(before notification: TrackerNotification) async {
        guard let desk = try? await desk(), let through = try? desk.store.toldThrough(name),
            let told = try? desk.store.told(after: through)
        else { return }
        let waiting = told.filter { $0.place < notification.place && !$0.sinks.contains(name) }
        try? note(
            waiting, Dictionary(waiting.map { ($0.place, .overtaken) }, uniquingKeysWith: { $1 }), desk,
            through: notification.place - 1)
    }
}
