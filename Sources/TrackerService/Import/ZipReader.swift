import CArchive
import TrackerCore

/// Unpacks Apple Health's export from a ZIP archive in chunks. Selects the member by content, not by its localised
/// name.
final class ZipReader {
    static let signature = Array("PK\u{3}\u{4}".utf8)
    private static let directorySignature = Array("PK\u{1}\u{2}".utf8)
    private static let descriptorSignature = Array("PK\u{7}\u{8}".utf8)
    private static let longestDescriptor = 24

    private enum Place {
        case header
        case data
        /// The optional data descriptor, with sizes and checksum, after the data.
        case descriptor
        /// The export was read. Further members are ignored.
        case done
    }

    private struct Member {
        var isDeflated: Bool
        /// The checksum; `nil` if it is in the data descriptor.
        var checksum: UInt32?
        /// The number of compressed bytes still to come, if known.
        var rest: UInt32?
    }

    private let deliver: (UnsafeRawBufferPointer) throws -> Void
    private var place = Place.header
    private var packed: [UInt8] = []
    private var member = Member(isDeflated: true)
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var plain = [UInt8](repeating: 0, count: 1 << 16)
    /// The beginning of the member, until it shows whether the member is the export.
    private var head: [UInt8]? = []
    private var isExport = false
    private var checksum: UInt32 = 0
    private var count = (packed: 0, plain: 0)

    /// - Parameter deliver: receives the document's bytes.
    init(deliver: @escaping (UnsafeRawBufferPointer) throws -> Void) throws(HealthFileError) {
        self.deliver = deliver
        stream.initialize(to: z_stream())
        // Negative window bits: raw deflate data without header and checksum.
        guard inflateInit2_(stream, -15, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw HealthFileError(reason: "Unpacking failed: out of memory.")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func feed(_ bytes: UnsafeRawBufferPointer) throws {
        guard place != .done else { return }
        packed += bytes
        count.packed += bytes.count
        while try step() {}
    }

    func finish() throws {
        guard place != .done else { return }
        guard place == .descriptor, isExport else { throw Self.cut }
        try check()
    }

    private func isRecord(at index: Int) -> Bool {
        packed[index...].starts(with: Self.signature) || packed[index...].starts(with: Self.directorySignature)
    }

    private static let cut = HealthFileError(reason: "The ZIP archive is truncated or damaged.")

    /// Handles the next part of the archive. Returns whether there was progress.
    private func step() throws -> Bool {
        switch place {
        case .header: return try header()
        case .data: return try data()
        case .descriptor:
            guard packed.count >= Self.longestDescriptor + 4 else { return false }
            try check()
            // The position of the next record determines the length of the descriptor.
            guard let length = [12, 16, 20, Self.longestDescriptor].first(where: { isRecord(at: $0) }) else {
                throw Self.cut
            }
            packed.removeFirst(length)
            place = isExport ? .done : .header
            return true
        case .done: return false
        }
    }

    private func header() throws -> Bool {
        guard packed.count >= 30 else { return false }
        guard packed.starts(with: Self.signature) else {
            throw HealthFileError(reason: "This ZIP archive contains no Apple Health export.")
        }
        func number(_ at: Int, _ size: Int) -> UInt32 {
            (0..<size).reversed().reduce(0) { $0 << 8 | UInt32(packed[at + $1]) }
        }
        let length = 30 + Int(number(26, 2)) + Int(number(28, 2))
        guard packed.count >= length else { return false }
        let flags = number(6, 2), method = number(8, 2), size = number(18, 4)
        guard flags & 1 == 0 else { throw HealthFileError(reason: "The ZIP archive is encrypted: unpack it first.") }
        let isStreamed = flags & 8 != 0
        guard method == 8 || method == 0 && !isStreamed && size != .max else {
            throw HealthFileError(reason: "The compression of the ZIP archive is not supported: unpack it first.")
        }
        member = Member(
            isDeflated: method == 8, checksum: isStreamed ? nil : number(14, 4), rest: method == 8 ? nil : size)
        packed.removeFirst(length)
        inflateReset(stream)
        (head, isExport, checksum, place) = ([], false, 0, .data)
        return true
    }

    private func data() throws -> Bool {
        guard member.isDeflated else {
            let piece = Array(packed.prefix(Int(member.rest ?? 0)))
            packed.removeFirst(piece.count)
            member.rest? -= UInt32(piece.count)
            try piece.withUnsafeBytes { try take($0) }
            guard member.rest == 0 else { return false }
            try endMember()
            return true
        }
        var code = Z_OK
        var used = 0
        while code == Z_OK {
            let given = packed.withUnsafeMutableBufferPointer { packed in
                plain.withUnsafeMutableBufferPointer { plain in
                    stream.pointee.next_in = packed.baseAddress.map { $0 + used }
                    stream.pointee.avail_in = UInt32(packed.count - used)
                    stream.pointee.next_out = plain.baseAddress
                    stream.pointee.avail_out = UInt32(plain.count)
                    code = inflate(stream, Z_NO_FLUSH)
                    used = packed.count - Int(stream.pointee.avail_in)
                    return plain.count - Int(stream.pointee.avail_out)
                }
            }
            try plain.withUnsafeBytes { try take(UnsafeRawBufferPointer(rebasing: $0[..<given])) }
        }
        packed.removeFirst(used)
        guard code == Z_STREAM_END else {
            // The decompressor needs more input.
            guard code == Z_BUF_ERROR else { throw Self.cut }
            return false
        }
        try endMember()
        return true
    }

    private func endMember() throws {
        try decide(isLast: true)
        guard let expected = member.checksum else { return place = .descriptor }
        guard expected == checksum else { throw Self.cut }
        place = isExport ? .done : .header
    }

    /// Verifies the checksum after the data, with or without a signature before it.
    private func check() throws {
        let fields = packed[(packed.starts(with: Self.descriptorSignature) ? 4 : 0)...].prefix(4)
        guard fields.count == 4, fields.reversed().reduce(0, { $0 << 8 | UInt32($1) }) == checksum else {
            throw Self.cut
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) throws {
        guard !bytes.isEmpty else { return }
        count.plain += bytes.count
        guard count.plain <= 256 << 20 || count.plain / 200 <= count.packed else {
            throw HealthFileError(reason: "The unpacked ZIP archive is larger than the limit.")
        }
        checksum = UInt32(
            truncatingIfNeeded: crc32(
                UInt(checksum), bytes.assumingMemoryBound(to: UInt8.self).baseAddress, UInt32(bytes.count)))
        if head == nil {
            if isExport { try deliver(bytes) }
        } else {
            head? += bytes
            try decide(isLast: false)
        }
    }

    /// Selects the member once its beginning shows whether it is the export.
    private func decide(isLast: Bool) throws {
        guard let known = head else { return }
        let isXML = known.first { !FileHead.isSpace($0) && !"\u{FEFF}".utf8.contains($0) } == UInt8(ascii: "<")
        let document = isXML ? try? FileHead.withoutDocumentType(known[...], isLast: isLast) : nil
        let root = Array("<HealthData".utf8)
        guard let document, isLast || document.bytes.count > document.root + root.count else {
            if isLast || !isXML && known.count > 3 || known.count > FileHead.limit { head = nil }
            return
        }
        head = nil
        isExport = document.bytes[document.root...].starts(with: root)
        if isExport { try known.withUnsafeBytes { try deliver($0) } }
    }
}
