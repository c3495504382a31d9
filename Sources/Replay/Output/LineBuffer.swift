/// Text on its way out: lines assembled byte by byte in one fixed block, handed on when the block is full.
///
/// A capture of 70 MB can hold millions of drinks. `String` and Foundation's formatters cost a microsecond a field,
/// so the lines of `drinks`, `commands` and `att` are written with these few calls instead. Nothing is allocated per
/// line, and the memory does not grow with the output.
package final class LineBuffer {
    /// Takes a full block. The bytes are only valid during the call.
    package typealias Sink = (UnsafeRawBufferPointer) throws -> Void

    private let block: UnsafeMutablePointer<UInt8>
    private let capacity: Int
    private var count = 0
    /// Bytes of the blocks before this one.
    private var drained = 0
    private let sink: Sink
    /// The first error of the sink; everything after it is dropped. `flush` throws it.
    private var failure: (any Error)?

    /// Whether the sink has failed: more output is of no use.
    package var hasFailed: Bool { failure != nil }

    /// - Parameter capacity: bytes collected before the sink sees them, at least 64.
    package init(capacity: Int = 1 << 17, sink: @escaping Sink) {
        self.capacity = max(64, capacity)
        block = .allocate(capacity: self.capacity)
        self.sink = sink
    }

    deinit { block.deallocate() }

    /// Hands over what is collected. Throws the sink's first error, also one from before.
    package func flush() throws {
        drain()
        if let failure { throw failure }
    }

    /// How many bytes were put so far.
    var position: Int { drained + count }

    /// What was put since a position; `nil` where a part of it was handed on already.
    func bytes(since position: Int) -> [UInt8]? {
        guard position >= drained, position <= self.position else { return nil }
        return Array(UnsafeBufferPointer(start: block + (position - drained), count: self.position - position))
    }

    private func drain() {
        guard count > 0 else { return }
        defer {
            drained += count
            count = 0
        }
        guard failure == nil else { return }
        do {
            try sink(UnsafeRawBufferPointer(start: block, count: count))
        } catch {
            failure = error
        }
    }

    /// Room for `bytes` more, at most `capacity`.
    @inline(__always)
    private func reserve(_ bytes: Int) {
        if capacity - count < bytes { drain() }
    }

    /// One byte, as it is.
    @inline(__always)
    package func put(byte: UInt8) {
        reserve(1)
        block[count] = byte
        count += 1
    }

    /// Text that needs no escaping, known at compile time.
    @inline(__always)
    package func put(_ text: StaticString) {
        put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// UTF-8 as it is.
    package func put(text: String) {
        var text = text
        text.withUTF8 { put(UnsafeRawBufferPointer($0)) }
    }

    /// Bytes, as they are.
    package func put(bytes: [UInt8]) {
        bytes.withUnsafeBytes { put($0) }
    }

    @inline(__always)
    private func put(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        if bytes.count <= capacity - count {
            UnsafeMutableRawPointer(block + count).copyMemory(from: start, byteCount: bytes.count)
            count += bytes.count
            return
        }
        var offset = 0
        while offset < bytes.count {
            if count == capacity { drain() }
            let step = min(capacity - count, bytes.count - offset)
            UnsafeMutableRawPointer(block + count).copyMemory(from: start + offset, byteCount: step)
            count += step
            offset += step
        }
    }

    /// A decimal number without leading zeros.
    package func put(number: Int) {
        if number < 0 { put(byte: UInt8(ascii: "-")) }
        put(magnitude: number.magnitude)
    }

    private func put(magnitude: UInt) {
        reserve(20)
        var digits = 1
        var limit: UInt = 10
        while digits < 20, magnitude >= limit {
            digits += 1
            let (next, overflow) = limit.multipliedReportingOverflow(by: 10)
            if overflow { break }
            limit = next
        }
        var rest = magnitude
        var place = digits
        while place > 0 {
            place -= 1
            block[count + place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count += digits
    }

    /// A decimal number padded with zeros to `width` (at most 20) digits; a longer number is written whole.
    package func put(number: UInt, width: Int) {
        var limit: UInt = 10
        for place in 1..<max(2, min(width, 20)) {
            if number < limit {
                for _ in place..<width { put(byte: UInt8(ascii: "0")) }
                break
            }
            let (next, overflow) = limit.multipliedReportingOverflow(by: 10)
            if overflow { break }
            limit = next
        }
        put(magnitude: number)
    }

    /// Two decimal digits, 0–99.
    @inline(__always)
    package func put(two value: UInt8) {
        reserve(2)
        block[count] = UInt8(ascii: "0") &+ value / 10 % 10
        block[count + 1] = UInt8(ascii: "0") &+ value % 10
        count += 2
    }

    /// Hex digits, lower case, two a byte.
    package func put(hex bytes: RawSpan) {
        let size = bytes.byteCount
        var offset = 0
        while offset < size {
            let step = min(size - offset, capacity / 2)
            let end = offset + step
            reserve(2 * step)
            var place = UnsafeMutableRawPointer(block + count)
            while end - offset >= 8 {
                let eight = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: SIMD8<UInt8>.self)
                place.storeBytes(of: Self.digits(eight), as: SIMD8<UInt16>.self)
                place += 16
                offset += 8
            }
            while offset < end {
                let byte = bytes.byte(offset)
                place.storeBytes(of: Self.digit(byte >> 4), as: UInt8.self)
                place.storeBytes(of: Self.digit(byte & 15), toByteOffset: 1, as: UInt8.self)
                place += 2
                offset += 1
            }
            count += 2 * step
        }
    }

    /// The digits of eight bytes at once, since half of what `att` writes are digits: each byte's two in a lane of 16
    /// bits, the first one at the lower address.
    @inline(__always)
    private static func digits(_ bytes: SIMD8<UInt8>) -> SIMD8<UInt16> {
        let lanes = SIMD8<UInt16>(truncatingIfNeeded: bytes)
        #if _endian(little)
            let nibbles = (lanes &>> 4 | lanes &<< 8) & 0x0F0F
        #else
            let nibbles = (lanes &<< 4 | lanes) & 0x0F0F
        #endif
        // Ten and more: bit 4 is set when six is added.
        let isLetter = (nibbles &+ 0x0606) &>> 4 & 0x0101
        return nibbles &+ 0x3030 &+ isLetter &* UInt16(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
    }

    /// Two digits for each byte, nothing between them.
    package func put(hex bytes: [UInt8]) {
        for byte in bytes { put(hex: byte) }
    }

    /// Two digits.
    @inline(__always)
    package func put(hex byte: UInt8) {
        reserve(2)
        block[count] = Self.digit(byte >> 4)
        block[count + 1] = Self.digit(byte & 15)
        count += 2
    }

    @inline(__always)
    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") &+ nibble : UInt8(ascii: "a") &+ (nibble &- 10)
    }

    /// A JSON string with its quotes; everything that JSON cannot carry bare is escaped.
    package func put(json text: String) {
        put(byte: UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): put("\\\"")
            case UInt8(ascii: "\\"): put("\\\\")
            case 0x0A: put("\\n")
            case 0x0D: put("\\r")
            case 0x09: put("\\t")
            case 0..<0x20:
                put("\\u00")
                put(hex: byte)
            default: put(byte: byte)
            }
        }
        put(byte: UInt8(ascii: "\""))
    }

    /// A JSON string, or `null`.
    package func put(json text: String?) {
        if let text { put(json: text) } else { put("null") }
    }

    /// A JSON number, or `null`.
    package func put(json number: Int?) {
        if let number { put(number: number) } else { put("null") }
    }

    /// `true` or `false`.
    package func put(json flag: Bool) {
        if flag { put("true") } else { put("false") }
    }

    /// Ends the line.
    package func endLine() { put(byte: 0x0A) }
}
