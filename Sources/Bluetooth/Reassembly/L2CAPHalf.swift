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
    /// Length of the first fragment, of this frame or of the last that came in several.
    private var firstLength: Int?
    /// All fragments of this direction but the ends of frames have had one length so far: so controllers and hosts cut them.
    private(set) var isRegular = true
    /// The frame was given up, and the rest of it may still come, until this direction begins another one.
    private(set) var isAwaited = false

    /// Bytes that are still to come, where that is known.
    var remaining: Int? { isOpen ? needed.map { $0 - buffer.count } : nil }

    mutating func begin(_ fragment: RawSpan) {
        buffer.removeAll(keepingCapacity: true)
        isOpen = true
        needed = nil
        if let firstLength, firstLength != fragment.byteCount { isRegular = false }
        firstLength = fragment.byteCount
        expectNothing()
        append(fragment)
    }

    /// This direction has begun another frame: nothing of the one that was given up will come.
    mutating func expectNothing() { isAwaited = false }

    /// Whether a fragment of that length can be the next.
    func mayTake(_ length: Int) -> Bool { isOpen && remaining.map { length <= $0 } ?? true }

    /// Whether it is as long as the next one usually is: the end, or one more of the first one's length.
    func expects(_ length: Int) -> Bool {
        guard let remaining, let firstLength else { return false }
        return length == remaining || length == firstLength && length < remaining
    }

    mutating func append(_ fragment: RawSpan) {
        if !buffer.isEmpty, fragment.byteCount != firstLength, remaining != fragment.byteCount { isRegular = false }
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
        isAwaited = isAwaited || isOpen
        isOpen = false
        buffer.removeAll(keepingCapacity: true)
    }
}
