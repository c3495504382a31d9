import Foundation
import Store
import TrackerCore

/// What a person can do with a store, by name: every surface (command line, HTTP, MQTT, D-Bus) calls these methods and
/// only chooses words and transport.
///
/// A desk is made for one request over a store that stays open; that costs next to nothing. It reads no clock and no
/// machine's zone: the surface hands both in. Each method answers with a report, which is the JSON of every surface, or
/// throws a `Problem`. Each method that changes something runs by itself what follows a commit (tracker law B8), so no
/// surface can forget it.
package struct TrackerDesk: Sendable {
    /// The store that everything is done with.
    package let store: TrackerStore
    /// Who does it, and when.
    package var context: WriteContext
    /// Whether a notification would reach somebody: `notifications` in the state.
    package let canNotify: Bool
    /// Whether sessions are this caller's business. Where they are not, entries of a session are no entries, and what
    /// was done to one is not taken back.
    package private(set) var seesWaterline = true
    /// Takes what a person has to know beside an answer, a sentence each.
    let remark: @Sendable (String) -> Void

    /// For one request; `remark` hears what a person should know beside the answer.
    package init(
        _ store: TrackerStore, _ context: WriteContext, canNotify: Bool = false,
        remark: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.store = store
        self.context = context
        self.canNotify = canNotify
        self.remark = remark
    }

    /// A desk in the zone that is in force by the store's settings.
    /// - Parameters:
    ///   - isAsked: whether somebody asked for that moment, as `WriteContext.isAsked`.
    ///   - source: the surface, as `WriteContext.source`.
    package init(
        _ store: TrackerStore, now: Instant, isAsked: Bool = false, zone: ZoneChoice, source: String,
        canNotify: Bool = false,
        makeID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() },
        remark: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        let zone = zone.inForce(try store.settings())
        self.init(
            store, WriteContext(now: now, zone: zone, source: source, isAsked: isAsked, makeID: makeID),
            canNotify: canNotify, remark: remark)
    }

    /// The time of the request.
    package var now: Instant { context.now }
    /// The zone of its days.
    package var zone: Zone { context.zone }

    /// The day that runs now.
    package func today() throws -> LocalDay {
        DayCalendar(zone: zone, boundaryHour: try store.settings().boundaryHour).day(of: now)
    }

    /// How the day stands, as far as it is the caller's business.
    package func state() throws -> TrackerSnapshot {
        let state = try store.look(context, canNotify: canNotify).snapshot
        return seesWaterline ? state : state.withoutWaterline
    }

    /// A time as a person types it: `14:00`, `2026-06-15T14:00`, or with an offset.
    package func moment(_ text: String) throws -> Instant { try Moment.parse(text, now: now, zone: zone) }

    /// One JSON object with keys in a stable order: the same text on every surface.
    package static func json(_ report: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }

    /// What follows a commit (tracker law B8). The desk's own methods call it; whoever writes to the store around them
    /// (a poll, a pass of sync, the settling of an offer) calls it afterwards. The commit stands, whatever happens
    /// here.
    package func afterCommit() {
        guard (try? store.hasChanged()) ?? true else { return }
        store.afterCommit(context).forEach(remark)
    }

    /// Runs a change with its answer, and then what follows every commit. Every method here that writes goes through
    /// this.
    func change<Report>(_ body: () throws -> Report) throws -> Report {
        let report = try body()
        afterCommit()
        return report
    }
}

extension TrackerDesk {
    /// The same desk, whose first write is made for this errand and only once.
    package func running(_ errand: Errand) -> TrackerDesk {
        TrackerDesk(store.running(errand), context, canNotify: canNotify, remark: remark).seeing(
            waterline: seesWaterline)
    }

    /// The same desk for what was said by that surface, as `WriteContext.source`.
    package func by(_ surface: String) -> TrackerDesk {
        var context = context
        context.source = surface
        return TrackerDesk(store, context, canNotify: canNotify, remark: remark).seeing(waterline: seesWaterline)
    }

    /// The same desk for somebody whose business sessions are, or are not.
    package func seeing(waterline: Bool) -> TrackerDesk {
        var desk = self
        desk.seesWaterline = waterline
        return desk
    }

    /// - Throws: `Refusal` (`waterlineNotShared`) where sessions are none of the caller's business.
    func needWaterline() throws {
        guard !seesWaterline else { return }
        throw Refusal(
            "waterlineNotShared",
            "Waterline is not shown beyond the machine it runs on. The configuration can switch that on.")
    }
}
