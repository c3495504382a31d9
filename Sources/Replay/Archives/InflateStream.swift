import CArchive
import Glibc

/// Unpacks gzip or zlib data in blocks. For truncated or damaged data, returns all bytes before the error.
///
/// Used instead of libarchive, which ignores gzip's checksum and drops the last block of a truncated file.
final class InflateStream {
    enum Format { case gzip, zlib }

    /// The reason why the stream ended too early, or `nil`.
    private(set) var failure: String?
    private(set) var hasOutput = false
    private let format: Format
    /// Fills a buffer with the next packed bytes; returns 0 at their end.
    private let refill: (UnsafeMutableRawBufferPointer) -> Int
    // On the heap, because zlib stores the address of the stream.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let packed = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)
    private let plain = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)
    private var hasInputEnded = false
    private var isFinished = false

    /// - Parameter descriptor: at the start of the file. It must stay open while this object exists.
    convenience init(_ format: Format, _ descriptor: CInt) {
        self.init(format) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                return max(0, count)
            }
        }
    }

    /// - Parameter bytes: must exist as long as this object.
    convenience init(_ format: Format, _ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        self.init(format) { buffer in
            let piece = rest.prefix(buffer.count)
            buffer.copyBytes(from: piece)
            rest = rest.dropFirst(piece.count)
            return piece.count
        }
    }

    private init(_ format: Format, refill: @escaping (UnsafeMutableRawBufferPointer) -> Int) {
        (self.format, self.refill) = (format, refill)
        stream.initialize(to: z_stream())
        let window: CInt = format == .gzip ? 31 : 15
        if inflateInit2_(stream, window, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) != Z_OK {
            end("out of memory")
        }
    }

    deinit {
        _ = inflateEnd(stream)
        stream.deallocate()
        packed.deallocate()
        plain.deallocate()
    }

    /// The next bytes, valid until the next call. `nil` at the end; `failure` is set if the data are incomplete.
    func next() -> UnsafeRawBufferPointer? {
        stream.pointee.next_out = plain.baseAddress
        stream.pointee.avail_out = CUnsignedInt(plain.count)
        while stream.pointee.avail_out > 0, !isFinished {
            if stream.pointee.avail_in == 0 { fill() }
            switch inflate(stream, Z_NO_FLUSH) {
            case Z_OK: break
            case Z_BUF_ERROR where !hasInputEnded: break
            case Z_BUF_ERROR: end("it ends too early")
            case Z_STREAM_END: isFinished = !startsNextMember()
            case let code:
                let reason = stream.pointee.msg.map { String(cString: $0) } ?? "error \(code)"
                end(reason.hasPrefix("incorrect") ? "its checksum is wrong (\(reason))" : reason)
            }
        }
        let filled = plain.count - Int(stream.pointee.avail_out)
        guard filled > 0 else { return nil }
        hasOutput = true
        return UnsafeRawBufferPointer(UnsafeMutableBufferPointer(rebasing: plain[..<filled]))
    }

    private func end(_ reason: String) {
        failure = "this gzip file is damaged or truncated: \(reason)"
        isFinished = true
    }

    /// Moves the unused packed bytes to the front of the input buffer, and reads more bytes after them.
    private func fill() {
        let rest = Int(stream.pointee.avail_in)
        if let next = stream.pointee.next_in, let base = packed.baseAddress { memmove(base, next, rest) }
        let freeSpace = UnsafeMutableBufferPointer(rebasing: packed[rest...])
        let count = hasInputEnded ? 0 : refill(UnsafeMutableRawBufferPointer(freeSpace))
        hasInputEnded = count == 0
        stream.pointee.next_in = packed.baseAddress
        stream.pointee.avail_in = CUnsignedInt(rest + count)
    }

    /// Whether another gzip member follows: concatenated gzip files are one. Other bytes after the end are ignored.
    private func startsNextMember() -> Bool {
        guard format == .gzip else { return false }
        while stream.pointee.avail_in < 2, !hasInputEnded { fill() }
        guard stream.pointee.avail_in >= 2, let next = stream.pointee.next_in, next[0] == 0x1F, next[1] == 0x8B else {
            return false
        }
        return inflateReset(stream) == Z_OK
    }
}
