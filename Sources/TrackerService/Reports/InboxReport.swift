/// What became of a file that a phone laid down.
package struct InboxReport: Hashable, Sendable, Encodable {
    /// Of the file, without its folder.
    package let name: String
    /// How many of its drinks are new.
    package let added: Int
    /// How many were known.
    package let known: Int
    /// Why nothing was taken from it.
    package let trouble: String?
    /// What of the file was skipped or replaced, a sentence each; `nil`: nothing.
    package let remarks: [String]?

    init(name: String, added: Int = 0, known: Int = 0, trouble: String? = nil, remarks: [String]? = nil) {
        (self.name, self.added, self.known, self.trouble) = (name, added, known, trouble)
        self.remarks = remarks
    }

    /// For a log, and for a person.
    package var words: String {
        trouble.map { "\(name) was not taken in: \($0)" }
            ?? (["\(name): \(added) drink\(added == 1 ? "" : "s") added, \(known) known already."] + (remarks ?? []))
            .joined(separator: " ")
    }
}
