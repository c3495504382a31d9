/// Why a backup cannot be made or read: one sentence.
public struct BackupTrouble: Error, Hashable, CustomStringConvertible {
    /// What is wrong.
    public var description: String

    init(_ description: String) { self.description = description }
}
