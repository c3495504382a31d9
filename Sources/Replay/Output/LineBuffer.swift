/// An output buffer of fixed size with fast formatting functions, which passes its content to a sink when it is full.
///
/// `drinks`, `commands` and `att` use it, because a capture of 70 MB can have millions of drinks. `String` and
/// Foundation's formatters would cost a microsecond per field. It allocates no memory per line.
package final class LineBuffer {
    /// Receives a full block. The bytes are only valid during the call.
    package typealias Sink = (UnsafeRawBufferPointer) throws -> Void

    private let block: UnsafeMutablePointer<UInt8>
    private let capacity: Int
    private var count = 0
    /// The number of bytes in earlier blocks.
    private var drained = 0
    private let sink: Sink
    /// The first error of the sink. All later output is dropped, and `flush` throws it.
    private var failure: (any Error)?

    /// Whether the sink has failed, so that further output has no effect.
    package var hasFailed: Bool { failure != nil }

    /// - Parameter capacity: the size of the block in bytes, at least 64.
    package init(capacity: Int = 1 << 17, sink: @escaping Sink) {
        self.capacity = max(64, capacity)
        block = .allocate(capacity: self.capacity)
        self.sink = sink
    }

    deinit { block.deallocate() }

    /// Passes the buffered bytes to the sink. Throws the sink's first error, even if it occurred earlier.
    package func flush() throws {
        drain()
        if let failure { throw failure }
    }

    /// The number of bytes written to the buffer so far.
    var position: Int { drained + count }

    /// The bytes put since a position; `nil` if some were already passed to the sink.
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

    /// Makes room for `bytes` further bytes, at most `capacity`.
    @inline(__always)
    private func reserve(_ bytes: Int) {
        if capacity - count < bytes { drain() }
    }

    @inline(__always)
    package func put(byte: UInt8) {
        reserve(1)
        block[count] = byte
        count += 1
    }

    /// Puts a literal as it is, without JSON escapes.
    @inline(__always)
    package func put(_ text: StaticString) {
        put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package func put(text: String) {
        var text = text
        text.withUTF8 { put(UnsafeRawBufferPointer($0)) }
    }

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

    package func put(number: Int) {
        if number < 0 { put(byte: UInt8(ascii: "-")) }
        put(number: number.magnitude, width: 1)
    }

    /// Puts a decimal number padded with zeros to `width` (at most 20) digits; a longer number is written whole.
    package func put(number: UInt, width: Int) {
        reserve(20)
        var digits = 1
        var limit: UInt = 10
        while digits < 20, number >= limit {
            digits += 1
            // The limit overflows only after the 20th digit, the last one.
            limit &*= 10
        }
        digits = max(digits, min(width, 20))
        var (rest, index) = (number, count + digits)
        repeat {
            index -= 1
            block[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while index > count
        count += digits
    }

    /// Puts two decimal digits of a number from 0 to 99.
    @inline(__always)
    package func put(two value: UInt8) {
        reserve(2)
        block[count] = UInt8(ascii: "0") &+ value / 10 % 10
        block[count + 1] = UInt8(ascii: "0") &+ value % 10
        count += 2
    }

    /// Puts hex digits in lower case, two per byte.
    package func put(hex bytes: RawSpan) {
        let size = bytes.byteCount
        var offset = 0
        while offset < size {
            let step = min(size - offset, capacity / 2)
            let end = offset + step
            reserve(2 * step)
            var target = UnsafeMutableRawPointer(block + count)
            while end - offset >= 8 {
                let eight = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: SIMD8<UInt8>.self)
                target.storeBytes(of: Self.digits(eight), as: SIMD8<UInt16>.self)
                target += 16
                offset += 8
            }
            while offset < end {
                let byte = bytes.byte(offset)
                target.storeBytes(of: Self.digit(byte >> 4), as: UInt8.self)
                target.storeBytes(of: Self.digit(byte & 15), toByteOffset: 1, as: UInt8.self)
                target += 2
                offset += 1
            }
            count += 2 * step
        }
    }

    /// Converts eight bytes at once, because half of the output of `att` is hex digits. Each 16-bit lane has the two
    /// digits of a byte, the high one at the lower address.
    @inline(__always)
    private static func digits(_ bytes: SIMD8<UInt8>) -> SIMD8<UInt16> {
        let lanes = SIMD8<UInt16>(truncatingIfNeeded: bytes)
        #if _endian(little)
            let nibbles = (lanes &>> 4 | lanes &<< 8) & 0x0F0F
        #else
            let nibbles = (lanes &<< 4 | lanes) & 0x0F0F
        #endif
        // After the addition of six, bit 4 is set for values of ten and more, which are letters.
        let isLetter = (nibbles &+ 0x0606) &>> 4 & 0x0101
        return nibbles &+ 0x3030 &+ isLetter &* UInt16(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
    }

    package func put(hex bytes: [UInt8]) {
        for byte in bytes { put(hex: byte) }
    }

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

    /// Puts a JSON string with quotes and escapes.
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

    package func put(json text: String?) {
        if let text { put(json: text) } else { put("null") }
    }

    package func put(json number: Int?) {
        if let number { put(number: number) } else { put("null") }
    }

    package func put(json flag: Bool) {
        if flag { put("true") } else { put("false") }
    }

    package func endLine() { put(byte: 0x0A) }
}
