/// A text that equals another one only where their bytes do, and stands in the order of these, as in PostgreSQL. Swift takes two spellings of an accented letter for
/// equal (Unicode's canonical equivalence), and they are two people, or two keys, in a table.
struct ExactText: Hashable, Comparable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }

    /// Each of them once, in their order.
    static func each(_ texts: [String]) -> [String] { Set(texts.map(Self.init)).sorted().map(\.text) }
}
