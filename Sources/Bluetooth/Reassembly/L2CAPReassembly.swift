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
    /// The length of the first fragment of the last fragmented frame.
    private(set) var firstLength: Int?
    /// Whether all fragments of this direction, except the last of each frame, have had the same length.
    private(set) var isRegular = true
    /// Whether the frame was dropped and its rest can follow until this direction starts another one.
    private(set) var isAwaited = false

    /// Whether the length of the frame is known but some content is not, so the frame will be dropped.
    private(set) var isSpoiled = false

    var remaining: Int? { isOpen ? needed.map { $0 - buffer.count } : nil }

    mutating func begin(_ fragment: RawSpan) {
        buffer.removeAll(keepingCapacity: true)
        isOpen = true
        isSpoiled = false
        needed = nil
        if let firstLength, firstLength != fragment.byteCount { isRegular = false }
        firstLength = fragment.byteCount
        expectNothing()
        append(fragment)
    }

    /// Records that nothing of the dropped frame follows, because this direction has started another one.
    mutating func expectNothing() { isAwaited = false }

    mutating func appendUnknown(_ length: Int) {
        isSpoiled = true
        buffer.append(contentsOf: repeatElement(0, count: length))
    }

    /// Drops the content of the frame, of which `lacking` bytes follow.
    mutating func spoil(lacking: Int) {
        isSpoiled = true
        let known = (needed ?? 0) - lacking
        buffer.append(contentsOf: repeatElement(0, count: max(0, known - buffer.count)))
        if lacking == 0 { discard() }
    }

    mutating func discard() {
        isOpen = false
        isAwaited = false
        buffer.removeAll(keepingCapacity: true)
    }

    mutating func append(_ fragment: RawSpan) {
        if !buffer.isEmpty, fragment.byteCount != firstLength, remaining != fragment.byteCount { isRegular = false }
        fragment.withUnsafeBytes { buffer.append(contentsOf: $0) }
        if needed == nil, buffer.count >= 2 {
            needed = (Int(buffer[0]) | Int(buffer[1]) << 8) + Self.headerLength
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
        isAwaited = isAwaited || isOpen
        isOpen = false
        buffer.removeAll(keepingCapacity: true)
    }
}
