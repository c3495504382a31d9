import DBus
import Escaping
import TrackerCore

/// A status item's menu on the bus, as hosts draw it (com.canonical.dbusmenu, version 3): one level, whose root is 0.
struct TrayMenu: Sendable {
    static let interface = "com.canonical.dbusmenu"
    static let path = "/MenuBar"
    static let layoutType = "(ia{sv}av)"

    let entries: [TrayEntry]

    /// An underline would be the next letter's key there.
    private static func label(_ text: String) -> String { Escaping.replacing(text, ["_": "__"]) }

    private func properties(_ id: Int) -> [String: DBusValue]? {
        if id == 0 { return ["children-display": .string("submenu")] }
        guard let entry = entries.first(where: { $0.id == id }) else { return nil }
        if entry.isSeparator { return ["type": .string("separator"), "visible": .boolean(true)] }
        return [
            "label": .string(Self.label(entry.label)), "enabled": .boolean(entry.action != nil),
            "visible": .boolean(true),
        ]
    }

    private func node(_ id: Int, depth: Int, _ names: Set<String>) -> DBusValue? {
        guard let all = properties(id) else { return nil }
        let wanted = names.isEmpty ? all : all.filter { names.contains($0.key) }
        let children = id == 0 && depth != 0 ? entries.compactMap { node($0.id, depth: depth - 1, names) } : []
        return DBusValue.structure([
            .int32(Int32(id)), .properties(wanted), .array(.variant, children.map { DBusValue.variant($0) }),
        ])
    }

    /// What hangs below an entry; `nil` where there is none of that number.
    func layout(_ parent: Int, depth: Int, names: [String]) -> DBusValue? { node(parent, depth: depth, Set(names)) }

    /// The properties of these, or of all.
    func group(_ ids: [Int], names: [String]) -> DBusValue {
        let wanted = ids.isEmpty ? [0] + entries.map(\.id) : ids
        let (type, names) = (DBusType.structure([.int32, .dictionary(.string, .variant)]), Set(names))
        var found: [DBusValue] = []
        for id in wanted {
            guard let all = properties(id) else { continue }
            found.append(
                .structure([
                    .int32(Int32(id)), .properties(names.isEmpty ? all : all.filter { names.contains($0.key) }),
                ]))
        }
        return .array(type, found)
    }

    func property(_ id: Int, _ name: String) -> DBusValue? { properties(id)?[name] }

    func isThere(_ id: Int) -> Bool { properties(id) != nil }

    func action(_ id: Int) -> TrayAction? { entries.first { $0.id == id }?.action }
}
