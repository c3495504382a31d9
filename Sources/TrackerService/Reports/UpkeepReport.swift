import Store
import TrackerCore

/// How a store itself is, for whoever looks after it.
public struct UpkeepReport: Sendable {
    /// Rows by table, in the order of the schema.
    public let rows: [(table: String, rows: Int)]
    /// What SQLite finds damaged, a sentence each; empty: nothing.
    public let damage: [String]
    /// How many records of each kind the journal holds.
    public let journal: JournalCounts
    /// Why records wait for a date, and how many wait for that.
    public let doubts: [JournalReport.Doubt]
    /// Pieces of bytes that are no record.
    public let junkReceived: Int
    /// How many of them are no longer kept.
    public let junkNotKept: Int
    /// Rows that another hand wrote, or the disk damaged: they count nowhere.
    public let unreadable: [UnreadableRow]
    /// Stored settings that no rule takes any more.
    public let refused: [SettingRefusal]
    /// Changes that wait for the sync server.
    public let outbox: Outbox
    /// What stands between the store and that server.
    public let sync: SyncReport
    /// Places that are told of the day and could not be, as it was when a service tried last.
    public let troubles: [OutletTrouble]
    /// Address and port of the page, by the settings.
    public let listen: String
    /// Bottles that the store has met.
    public let bottles: [KnownBottle]
}
