import CArchive
import Captures
import Glibc

/// Reads the members of an archive (or the content of a compressed file) in order and in blocks, with libarchive.
/// Checks the unpacked bytes against the limits.
final class ArchiveReader {
    /// A file, folder or link in an archive.
    struct Member {
        /// The name in the archive; empty for a packed file.
        var name: String
        var isFile: Bool
        var isEncrypted: Bool
    }

    /// The maximum number of bytes that are read after the end of a compressed tar, to reach its checksum.
    private static let maximumTrailer = 16 << 20

    private let handle: OpaquePointer
    private let kind: ArchiveKind
    private let budget: ArchiveBudget
    private let stream: InflateStream?
    private var isReported = false
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    /// Whether the current member was read to its end, or to an error in the archive.
    private(set) var isMemberRead = false
    /// The error that ended the current member.
    private(set) var memberError: String?

    /// - Parameter descriptor: at the start of the file. It must stay open while this object exists.
    /// - Throws: `CaptureError` if the file is damaged at its start.
    init(_ descriptor: CInt, _ kind: ArchiveKind, _ budget: ArchiveBudget) throws(CaptureError) {
        (self.kind, self.budget) = (kind, budget)
        stream = kind == .gzip ? InflateStream(.gzip, descriptor) : nil
        guard let handle = archive_read_new() else {
            throw CaptureError(.malformed, at: 0, "this \(kind.title) file cannot be unpacked: out of memory")
        }
        self.handle = handle
        enableFormats()
        if let stream {
            try check(
                archive_read_open(handle, Unmanaged.passUnretained(stream).toOpaque(), nil, Self.readCallback, nil))
        } else {
            try check(archive_read_open_fd(handle, descriptor, 1 << 16))
        }
        try checkFilters()
    }

    /// The read callback of libarchive: returns the next unpacked bytes. A damaged stream ends before the damage.
    private static let readCallback:
        @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafeRawPointer?>?) -> Int = {
            _, stream, block in
            guard let stream, let piece = Unmanaged<InflateStream>.fromOpaque(stream).takeUnretainedValue().next()
            else {
                return 0
            }
            block?.pointee = piece.baseAddress
            return piece.count
        }

    private func enableFormats() {
        for filter in [
            archive_read_support_filter_gzip, archive_read_support_filter_bzip2, archive_read_support_filter_xz,
            archive_read_support_filter_zstd, archive_read_support_filter_lz4, archive_read_support_filter_compress,
        ] { _ = filter(handle) }
        switch kind {
        case .zip: _ = archive_read_support_format_zip(handle)
        case .tar: _ = archive_read_support_format_tar(handle)
        default:
            // A compressed file contains a tar or one file.
            _ = archive_read_support_format_tar(handle)
            _ = archive_read_support_format_raw(handle)
            _ = archive_read_support_format_empty(handle)
        }
    }

    deinit { _ = archive_read_free(handle) }

    /// Moves to the next member; `nil` at the end of the archive.
    func next() throws(CaptureError) -> Member? {
        (isMemberRead, memberError) = (false, nil)
        var entry: OpaquePointer?
        let code = archive_read_next_header(handle, &entry)
        if code == ARCHIVE_EOF {
            try endStream()
            return nil
        }
        guard code >= ARCHIVE_WARN, let entry else { throw failure() }
        let name =
            (archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry)).map { String(cString: $0) } ?? ""
        return Member(
            name: kind.holdsMembers || name != "data" ? name : "", isFile: archive_entry_filetype(entry) == S_IFREG,
            isEncrypted: archive_entry_is_data_encrypted(entry) != 0)
    }

    /// The first bytes of the member, up to the given number.
    func head(_ length: Int) throws -> [UInt8] {
        var head: [UInt8] = []
        while head.count < length, !isMemberRead {
            let count = try fillBuffer()
            head += buffer.prefix(count)
        }
        return head
    }

    /// Passes the rest of the member to `body` in blocks.
    func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        while !isMemberRead {
            let count = try fillBuffer()
            try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    /// Reads the next bytes of the member. Returns 0 at its end, and at an error in the archive.
    private func fillBuffer() throws -> Int {
        let count: Int
        do {
            count = try buffer.withUnsafeMutableBytes { try read(into: $0) }
        } catch let error as CaptureError {
            (memberError, isMemberRead) = (error.sentence, true)
            return 0
        }
        isMemberRead = count == 0
        try budget.countBytes(count)
        return count
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) throws(CaptureError) -> Int {
        for _ in 0..<100 {
            let count = archive_read_data(handle, buffer.baseAddress, buffer.count)
            if count == 0, stream?.failure != nil, !isReported { break }
            if count >= 0 { return count }
            guard count == Int(ARCHIVE_RETRY) else { break }
        }
        throw failure()
    }

    /// Reads the bytes after the last member. Throws if the checksum does not match the delivered bytes.
    private func endStream() throws(CaptureError) {
        guard let stream, !isReported else { return }
        var trailer = 0
        while trailer <= Self.maximumTrailer, let piece = stream.next() { trailer += piece.count }
        guard stream.failure == nil else { throw failure() }
    }

    private func check(_ code: CInt) throws(CaptureError) {
        guard code >= ARCHIVE_WARN else { throw failure() }
    }

    /// Rejects files with more than one layer of compression, because the size between the layers would be unlimited.
    private func checkFilters() throws(CaptureError) {
        let filters = archive_filter_count(handle) - 1 + (stream == nil ? 0 : 1)
        guard filters <= 1 else {
            throw CaptureError(
                .unsupported, at: 0, "this file is packed more than once: unpack it manually and pass the capture file")
        }
        if !kind.holdsMembers, filters == 0 || stream.map({ !$0.hasOutput && $0.failure != nil }) == true {
            throw CaptureError(.malformed, at: 0, "this is a \(kind.title) file, damaged or truncated at its start")
        }
    }

    private func failure() -> CaptureError {
        if let sentence = stream?.failure {
            isReported = true
            return CaptureError(.malformed, at: 0, sentence)
        }
        let reason = archive_error_string(handle).map { String(cString: $0) } ?? "no reason given"
        return CaptureError(.malformed, at: 0, "this \(kind.title) file is damaged or truncated: \(reason)")
    }
}
