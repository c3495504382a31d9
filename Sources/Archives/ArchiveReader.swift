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

    private let library: waterh_archive
    private let handle: OpaquePointer
    private let kind: ArchiveKind

    /// - Parameter descriptor: of a file that stands at its beginning, and stays open as long as this reader.
    /// - Throws: `CaptureFileError` without the library; `CaptureError` where the bytes are not what their beginning says.
    convenience init(_ descriptor: CInt, _ kind: ArchiveKind, path: String) throws {
        let library = try ArchiveLibrary.open(for: path)
        try self.init(library, kind)
        try check(library.functions.read_open_fd(handle, descriptor, 1 << 16))
        try checkFilters()
    }

    /// - Parameter bytes: must live as long as this reader.
    convenience init(_ bytes: UnsafeRawBufferPointer, _ kind: ArchiveKind, path: String) throws {
        let library = try ArchiveLibrary.open(for: path)
        try self.init(library, kind)
        try check(library.functions.read_open_memory(handle, bytes.baseAddress, bytes.count))
        try checkFilters()
    }

    private init(_ library: ArchiveLibrary, _ kind: ArchiveKind) throws {
        self.library = library.functions
        self.kind = kind
        guard let handle = library.functions.read_new() else {
            throw CaptureError(.broken, at: 0, "this \(kind.title) file cannot be unpacked: there is no memory for it")
        }
        self.handle = handle
        let functions = library.functions
        for filter in [
            functions.read_support_filter_gzip, functions.read_support_filter_bzip2, functions.read_support_filter_xz,
            functions.read_support_filter_zstd, functions.read_support_filter_lz4, functions.read_support_filter_compress,
        ] { _ = filter?(handle) }
        switch kind {
        case .zip: _ = functions.read_support_format_zip(handle)
        case .tar: _ = functions.read_support_format_tar(handle)
        default:
            // What is packed may be a tar; everything else is the bytes of one file.
            _ = functions.read_support_format_tar(handle)
            _ = functions.read_support_format_raw(handle)
            _ = functions.read_support_format_empty(handle)
        }
    }

    deinit { _ = library.read_free(handle) }

    /// The next file inside; `nil`: there is no more.
    func next() throws(CaptureError) -> Member? {
        var entry: OpaquePointer?
        let code = library.read_next_header(handle, &entry)
        if code == 1 { return nil }
        // -20 warns: a name in another character set, say.
        guard code >= -20, let entry else { throw failure() }
        let name = (library.entry_pathname_utf8(entry) ?? library.entry_pathname(entry)).map { String(cString: $0) } ?? ""
        return Member(
            name: kind.holdsMembers || name != "data" ? name : "", isFile: library.entry_filetype(entry) == S_IFREG,
            isEncrypted: library.entry_is_data_encrypted(entry) != 0)
    }

    /// The next bytes of the member; 0 at its end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(CaptureError) -> Int {
        for _ in 0..<100 {
            let count = library.read_data(handle, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            // -10: try again.
            guard count == -10 else { break }
        }
        throw failure()
    }

    private func check(_ code: CInt) throws(CaptureError) {
        guard code >= -20 else { throw failure() }
    }

    /// A packed file has one packing around it: what is packed more than once could grow without end between the layers, where nobody looks.
    private func checkFilters() throws(CaptureError) {
        let filters = library.filter_count(handle) - 1
        guard filters <= 1 else { throw CaptureError(.unsupported, at: 0, "this file is packed more than once: unpack it yourself, and name the capture") }
        if !kind.holdsMembers, filters == 0 {
            throw CaptureError(.broken, at: 0, "this is a \(kind.title) file, damaged or cut in its very beginning")
        }
    }

    private func failure() -> CaptureError {
        let why = library.error_string(handle).map { String(cString: $0) } ?? "for no reason given"
        return CaptureError(.broken, at: 0, "this \(kind.title) file is damaged or cut: \(why)")
    }
}
