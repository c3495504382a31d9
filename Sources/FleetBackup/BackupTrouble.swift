/// Why a backup cannot be made or read: one sentence.
public struct BackupTrouble: Error, Hashable, CustomStringConvertible {
    /// What is wrong.
    public var description: String

    /// It is that the backup is of the first form, and could be taken.
    public var isFirstForm = false

    init(_ description: String, isFirstForm: Bool = false) {
        (self.description, self.isFirstForm) = (description, isFirstForm)
    }
}
