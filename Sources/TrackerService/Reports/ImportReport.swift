import TrackerCore

/// What an import answers.
package struct ImportReport: Hashable, Sendable, Encodable {
    /// Drinks that are new.
    package let added: Int
    /// Known already.
    package let known: Int
    /// Samples of 0 ml, which are no drinks.
    package let empty: Int
    /// What of the file was skipped or replaced, a sentence each; `nil`: nothing.
    package let remarks: [String]?
    /// How the day stands now.
    package let state: TrackerSnapshot
}

/// What an export wrote.
package struct ExportReport: Hashable, Sendable, Encodable {
    /// Drinks that were written.
    package let drinks: Int
}

/// What a store, or a backup of it, holds in numbers.
package struct ContentsReport: Hashable, Sendable, Encodable {
    /// Drinks that count.
    package let drinks: Int
    /// Sessions.
    package let sessions: Int
    /// Presets.
    package let presets: Int
    /// Settings that somebody set.
    package let settings: Int
    /// The file in which a restore has kept what it replaced, a backup itself; `nil`: there was nothing, or it was
    /// none.
    package var replaced: String?
}

/// Everything is gone.
package struct PurgeReport: Hashable, Sendable, Encodable {
    /// Always `true`.
    package let purged: Bool
}
