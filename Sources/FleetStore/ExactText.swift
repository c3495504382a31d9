import Glibc

/// A text that equals another one only where their bytes do, and stands in the order of these, as in PostgreSQL. Swift
/// takes two spellings of an accented letter for equal (Unicode's canonical equivalence), and they are two people, or
/// two keys, in a table.
struct ExactText: Hashable, Comparable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.count == right.text.utf8.count && left.order(beside: right) == 0
    }

    static func < (left: Self, right: Self) -> Bool { left.order(beside: right) < 0 }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(text.utf8.count)
    }

    /// Less than 0 where it stands before the other one, 0 where both are the same. A batch is put in order by three of
    /// these, and with a loop over bytes that took longer than PostgreSQL took to store it.
    func order(beside other: Self) -> Int {
        let found = text.utf8.withContiguousStorageIfAvailable { left in
            other.text.utf8.withContiguousStorageIfAvailable { right in Self.order(left, right) }
        }
        if let found, let order = found { return order }
        var (left, right) = (text, other.text)
        return left.withUTF8 { left in right.withUTF8 { right in Self.order(left, right) } }
    }

    private static func order(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
        let common = min(left.count, right.count)
        guard common > 0, let first = left.baseAddress, let second = right.baseAddress else {
            return left.count - right.count
        }
        let order = memcmp(first, second, common)
        return order == 0 ? left.count - right.count : Int(order)
    }

    /// Each of them once, in their order.
    static func each(_ texts: [String]) -> [String] { Set(texts.map(Self.init)).sorted().map(\.text) }
}
