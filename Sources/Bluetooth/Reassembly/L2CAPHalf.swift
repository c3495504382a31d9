/// One direction's unfinished L2CAP frame of a connection.
///
///     frame = length(2, LE) channel(2, LE) payload(length)       Core 5.4, Vol 3 Part A, 3.1
///
/// The first fragment can be shorter than the four bytes of its own header.
struct L2CAPHalf {
    static let headerLength = 4

    /// What has come so far; the memory is kept from frame to frame.
    private(set) var buffer: [UInt8] = []
    private(set) var isOpen = false
    /// Length of the whole frame with its header; `nil` until the length field is complete.
    private(set) var needed: Int?

    /// Bytes that are still to come, where that is known.
    var remaining: Int? { isOpen ? needed.map { $0 - buffer.count } : nil }

    mutating func begin(_ fragment: RawSpan) {
        buffer.removeAll(keepingCapacity: true)
        isOpen = true
        needed = nil
        append(fragment)
    }

    mutating func append(_ fragment: RawSpan) {
        fragment.withUnsafeBytes { buffer.append(contentsOf: $0) }
        if needed == nil, buffer.count >= 2 {
            needed = (Int(buffer[0]) | Int(buffer[1]) << 8) + Self.headerLength
        }
    }

    var isComplete: Bool { needed.map { buffer.count >= $0 } ?? false }

    /// Takes the finished frame out; give the memory back with `recycle`.
    mutating func take() -> [UInt8] {
        isOpen = false
        var taken: [UInt8] = []
        swap(&taken, &buffer)
        return taken
    }

    mutating func recycle(_ memory: consuming [UInt8]) {
        buffer = memory
        buffer.removeAll(keepingCapacity: true)
    }

    mutating func abandon() {
        isOpen = false
        buffer.removeAll(keepingCapacity: true)
    }
}
