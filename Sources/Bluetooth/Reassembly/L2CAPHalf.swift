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
    private(set) var firstLength: Int?
    /// All fragments of this direction but the ends of frames have had one length so far: so controllers and hosts cut
    /// them.
    private(set) var isRegular = true
    /// The frame was given up, and the rest of it may still come, until this direction begins another one.
    private(set) var isAwaited = false

    /// It is known how long the frame is, and not all of what is in it: nothing comes out of it.
    private(set) var isSpoiled = false

    /// Bytes that are still to come, where that is known.
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

    /// This direction has begun another frame: nothing of the one that was given up will come.
    mutating func expectNothing() { isAwaited = false }

    /// A fragment belongs to it of which the capture did not keep all.
    mutating func appendUnknown(_ length: Int) {
        isSpoiled = true
        buffer.append(contentsOf: repeatElement(0, count: length))
    }

    /// What came meanwhile is not known, only how much: so many bytes are still to come, and nothing of another frame
    /// before them.
    mutating func spoil(lacking: Int) {
        isSpoiled = true
        let known = (needed ?? 0) - lacking
        buffer.append(contentsOf: repeatElement(0, count: max(0, known - buffer.count)))
        if lacking == 0 { discard() }
    }

    /// The frame is over: nothing of it will come.
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
