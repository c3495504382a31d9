import Store
import TrackerCore

/// How a store itself is, for whoever looks after it.
package struct UpkeepReport: Sendable {
    /// Rows by table, in the order of the schema.
    package let rows: [(table: String, rows: Int)]
    /// What SQLite finds damaged, a sentence each; empty: nothing.
    package let damage: [String]
    /// How many records of each kind the journal holds.
    package let journal: JournalCounts
    /// Why records wait for a date, and how many wait for that.
    package let doubts: [JournalReport.Doubt]
    /// Pieces of bytes that are no record.
    package let junkReceived: Int
    /// How many of them are no longer kept.
    package let junkNotKept: Int
    /// Stored settings that no rule takes any more.
    package let refused: [SettingRefusal]
    /// Changes that wait for the sync server.
    package let outbox: Outbox
    /// What stands between the store and that server.
    package let sync: SyncReport
    /// Places that are told of the day and could not be, as it was when a service tried last.
    package let troubles: [OutletTrouble]
    /// Address and port of the page, by the settings.
    package let listen: String
    /// Bottles that the store has met.
    package let bottles: [KnownBottle]
}
