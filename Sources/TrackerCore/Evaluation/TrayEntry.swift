/// A line of a status item's menu.
public struct TrayEntry: Hashable, Sendable, Codable {
    /// By which a click names it; the same as long as the line means the same.
    public var id: Int
    /// Empty for a line between groups.
    public var label: String
    /// What a click does; `nil` for words alone.
    public var action: TrayAction?

    init(_ id: Int, _ label: String, _ action: TrayAction? = nil) {
        (self.id, self.label, self.action) = (id, label, action)
    }

    static func separator(_ id: Int) -> TrayEntry { TrayEntry(id, "") }

    /// A line between groups.
    public var isSeparator: Bool { label.isEmpty }
}
