/// The incomplete L2CAP frame of one direction of a connection.
///
///     frame = length(2, LE) channel(2, LE) payload(length)       Core 5.4, Vol 3 Part A, 3.1
///
/// The first fragment can be shorter than the header of four bytes.
struct L2CAPReassembly {
    static let headerLength = 4

    /// The received bytes of the frame. The next frame reuses the memory.
    private(set) var buffer: [UInt8] = []
    private(set) var isOpen = false
    /// The length of the whole frame with its header; `nil` until the length field is complete.
    private(set) var needed: Int?
    /// Whether fragments of a dropped frame can still follow: this direction has not started another frame.
    private(set) var expectsFragments = false

    mutating func begin(_ fragment: RawSpan) {
        buffer.removeAll(keepingCapacity: true)
        isOpen = true
        needed = nil
        expectNoMoreFragments()
        append(fragment)
    }

    /// Records that nothing of the dropped frame follows, because this direction has started another one.
    mutating func expectNoMoreFragments() { expectsFragments = false }

    mutating func append(_ fragment: RawSpan) {
        fragment.withUnsafeBytes { buffer.append(contentsOf: $0) }
        if needed == nil, buffer.count >= 2 {
            needed = Int(buffer.uint16(at: 0)) + Self.headerLength
        }
    }

    var isComplete: Bool { needed.map { buffer.count >= $0 } ?? false }

    /// Removes and returns the complete frame. Return its memory with `recycle`.
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
        expectsFragments = expectsFragments || isOpen
        isOpen = false
        buffer.removeAll(keepingCapacity: true)
    }
}
