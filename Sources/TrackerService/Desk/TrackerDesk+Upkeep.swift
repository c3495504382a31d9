import Store
import TrackerCore

extension TrackerDesk {
    /// The store's file.
    package var path: String { store.path }

    /// How the store itself is. Changes nothing.
    package func upkeep() throws -> UpkeepReport {
        let (settings, refused) = try store.settingsAndRefused()
        let junk = try store.quarantineCounts()
        return UpkeepReport(
            rows: try store.rowCounts(), damage: try store.integrityProblems(), journal: try store.journalCounts(),
            doubts: try store.doubts().map { JournalReport.Doubt(reason: $0.reason, count: $0.count) },
            junkReceived: junk.received, junkNotKept: junk.evicted,
            refused: refused, outbox: try store.outbox(),
            sync: try store.syncReport().report,
            troubles: try outletTroubles(), listen: settings.service.httpListen, bottles: try store.bottles())
    }

    /// Places that are told of the day and could not be, as it was when a service tried last.
    package func outletTroubles() throws -> [OutletTrouble] { try store.outletTroubles() }

    /// How much brokers keep of what is not here any more: it is taken back by whoever publishes the day.
    package func leftBehind() throws -> Int { try store.leavings().reduce(0) { $0 + $1.topics.count } }

    /// Whether there is anything that a restore would replace.
    package func isUsed() throws -> Bool { try store.isUsed() }

    /// Whether anybody has begun here; nobody before that is behind a goal that nobody has set.
    package func hasBegun() throws -> Bool { try store.hasBegun() }

    /// The position of the last change of a drink: where a reader of changes goes on.
    package func lastChange() throws -> Int64 { try store.lastDrinkPlace() }

    /// Whether a reader of changes may go on behind this position.
    package func isChange(_ position: Int64) throws -> Bool { try store.isDrinkPlace(position) }
}
