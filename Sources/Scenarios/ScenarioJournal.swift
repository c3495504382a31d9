import TrackerCore

/// A journal that can be asked what it holds, so that a world can judge it.
public protocol ScenarioJournal: Journal {
    /// Every record, with its present reading and date.
    var entries: [JournalEntry] { get }
    /// Whether it has these bytes as a record, in some form.
    func holds(_ raw: [UInt8]) -> Bool
    /// From here on it keeps what a broker is to be told; `nil` from one that tells nobody.
    func openOutlet() throws -> (any ScenarioOutlet)?
}
