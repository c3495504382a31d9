import TrackerCore

/// What an import answers.
public struct ImportReport: Hashable, Sendable, Encodable {
    /// Drinks that are new.
    public let added: Int
    /// Known already.
    public let known: Int
    /// Samples of 0 ml, which are no drinks.
    public let empty: Int
    /// What of the file was skipped or replaced, a sentence each; `nil`: nothing.
    public let remarks: [String]?
    /// How the day stands now.
    public let state: TrackerSnapshot
}

/// What an export wrote.
public struct ExportReport: Hashable, Sendable, Encodable {
    /// Drinks that were written.
    public let drinks: Int
}

/// What a store, or a backup of it, holds in numbers.
public struct ContentsReport: Hashable, Sendable, Encodable {
    /// Drinks that count.
    public let drinks: Int
    /// Sessions.
    public let sessions: Int
    /// Presets.
    public let presets: Int
    /// Settings that somebody set.
    public let settings: Int
    /// The file in which a restore has kept what it replaced, a backup itself; `nil`: there was nothing, or it was
    /// none.
    public var replaced: String?
}

/// Everything is gone.
public struct PurgeReport: Hashable, Sendable, Encodable {
    /// Always `true`.
    public let purged: Bool
}
