import CArchive
import Captures
import Glibc
import Replay

/// One archive, or one packed file, read from its beginning: member by member, piece by piece.
final class ArchiveReader {
    /// A file, folder or link inside.
    struct Member {
        /// As the archive names it; empty for a packed file.
        var name: String
        var isFile: Bool
        var isEncrypted: Bool
    }

    /// So many bytes are looked at behind the end of a packed tar, for the checksum that is behind them.
    private static let mostBehind = 16 << 20

    private let library: waterh_archive
    private let handle: OpaquePointer
    private let kind: ArchiveKind
    /// What is packed as gzip or xz comes through it.
    private let stream: PackedStream?
    /// What is wrong with the stream was said.
    private var isTold = false

    /// - Parameter descriptor: of a file that stands at its beginning, and stays open as long as this reader.
    /// - Throws: `CaptureFileError` without the library; `CaptureError` where the bytes are not what their beginning
    ///   says.
    init(_ descriptor: CInt, _ kind: ArchiveKind, path: String) throws {
        library = try ArchiveLibrary.open(for: path).functions
        self.kind = kind
        switch kind {
        case .gzip: stream = try PackedStream(.gzip, descriptor, path: path)
        case .xz: stream = try PackedStream(.xz, descriptor, path: path)
        default: stream = nil
        }
        guard let handle = library.read_new() else {
            throw CaptureError(.broken, at: 0, "this \(kind.title) file cannot be unpacked: there is no memory for it")
        }
        self.handle = handle
        support()
        if let stream {
            try check(library.read_open(handle, Unmanaged.passUnretained(stream).toOpaque(), nil, Self.give, nil))
        } else {
            try check(library.read_open_fd(handle, descriptor, 1 << 16))
        }
        try checkFilters()
    }

    /// Hands libarchive the next unpacked bytes. The end of a damaged stream is an end to it too: so it gives away all
    /// that it has.
    private static let give:
        @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafeRawPointer?>?) -> Int = {
            _, stream, place in
            guard let stream, let piece = Unmanaged<PackedStream>.fromOpaque(stream).takeUnretainedValue().next() else {
                return 0
            }
            place?.pointee = piece.baseAddress
            return piece.count
        }

    private func support() {
        for filter in [
            library.read_support_filter_gzip, library.read_support_filter_bzip2, library.read_support_filter_xz,
            library.read_support_filter_zstd, library.read_support_filter_lz4, library.read_support_filter_compress,
        ] { _ = filter?(handle) }
        switch kind {
        case .zip: _ = library.read_support_format_zip(handle)
        case .tar: _ = library.read_support_format_tar(handle)
        default:
            // What is packed may be a tar; everything else is the bytes of one file.
            _ = library.read_support_format_tar(handle)
            _ = library.read_support_format_raw(handle)
            _ = library.read_support_format_empty(handle)
        }
    }

    deinit { _ = library.read_free(handle) }

    /// The next file inside; `nil`: there is no more.
    func next() throws(CaptureError) -> Member? {
        var entry: OpaquePointer?
        let code = library.read_next_header(handle, &entry)
        if code == 1 {
            try endStream()
            return nil
        }
        // -20 warns: a name in another character set, say.
        guard code >= -20, let entry else { throw failure() }
        let name =
            (library.entry_pathname_utf8(entry) ?? library.entry_pathname(entry)).map { String(cString: $0) } ?? ""
        return Member(
            name: kind.holdsMembers || name != "data" ? name : "", isFile: library.entry_filetype(entry) == S_IFREG,
            isEncrypted: library.entry_is_data_encrypted(entry) != 0)
    }

    /// The next bytes of the member; 0 at its end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(CaptureError) -> Int {
        for _ in 0..<100 {
            let count = library.read_data(handle, buffer.baseAddress, buffer.count)
            if count == 0, stream?.failure != nil, !isTold { break }
            if count >= 0 { return count }
            // -10: try again.
            guard count == -10 else { break }
        }
        throw failure()
    }

    /// What stands behind the last file: a checksum that does not fit is of what was already given.
    private func endStream() throws(CaptureError) {
        guard let stream, !isTold else { return }
        var behind = 0
        while behind <= Self.mostBehind, let piece = stream.next() { behind += piece.count }
        guard stream.failure == nil else { throw failure() }
    }

    private func check(_ code: CInt) throws(CaptureError) {
        guard code >= -20 else { throw failure() }
    }

    /// A packed file has one packing around it: what is packed more than once could grow without end between the
    /// layers, where nobody looks.
    private func checkFilters() throws(CaptureError) {
        let filters = library.filter_count(handle) - 1 + (stream == nil ? 0 : 1)
        guard filters <= 1 else {
            throw CaptureError(
                .unsupported, at: 0, "this file is packed more than once: unpack it yourself, and name the capture")
        }
        if !kind.holdsMembers, filters == 0 || stream.map({ !$0.hasGiven && $0.failure != nil }) == true {
            throw CaptureError(.broken, at: 0, "this is a \(kind.title) file, damaged or cut in its very beginning")
        }
    }

    private func failure() -> CaptureError {
        if let sentence = stream?.failure {
            isTold = true
            return CaptureError(.broken, at: 0, sentence)
        }
        let why = library.error_string(handle).map { String(cString: $0) } ?? "for no reason given"
        return CaptureError(.broken, at: 0, "this \(kind.title) file is damaged or cut: \(why)")
    }
}
