import CArchive
import Foundation
import Store
import TrackerCore

/// A reader of a ZIP archive, which it collects in a temporary file, because the directory is at the archive's end.
final class ZipReader {
    static let signature = Array("PK\u{3}\u{4}".utf8)
    private static let damaged = HealthFileError(reason: "The ZIP archive is truncated or damaged.")

    private let folder: ScratchFolder
    private let file: FileHandle
    private var path: String { folder.file("archive.zip") }
    private var packed = 0

    init() throws {
        folder = try ScratchFolder()
        file = try folder.create("archive.zip")
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws {
        packed += bytes.count
        do { try file.write(contentsOf: bytes) } catch {
            throw HealthFileError(reason: "Saving the ZIP archive failed: \(FileErrorText.text(error))")
        }
    }

    /// Finds Apple Health's export in the archive and passes its bytes on. File names are localised, so the first bytes
    /// of each member are examined.
    /// - Parameters:
    ///   - isExport: whether a member is the export; `nil` if more bytes are needed.
    ///   - receive: receives the bytes of the member.
    /// - Throws: `HealthFileError`, also if there is no such member, and the errors of `receive`.
    func readExport(_ isExport: ([UInt8]) -> Bool?, _ receive: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard let archive = archive_read_new() else { throw Self.damaged }
        defer { archive_read_free(archive) }
        archive_read_support_format_zip(archive)
        guard archive_read_open_filename(archive, path, 1 << 16) == ARCHIVE_OK else { throw Self.damaged }
        var entry: OpaquePointer?
        while true {
            let code = archive_read_next_header(archive, &entry)
            guard code != ARCHIVE_EOF else {
                throw HealthFileError(reason: "This ZIP archive contains no Apple Health export.")
            }
            // Accept warnings, for example about a name in another character set.
            guard code >= ARCHIVE_WARN, let entry else { throw Self.damaged }
            guard archive_entry_is_data_encrypted(entry) == 0 else {
                throw HealthFileError(reason: "The ZIP archive is encrypted. Unpack it first.")
            }
            if try read(archive, isExport, receive) { return }
        }
    }

    /// Reads a member. Returns whether it is the export.
    private func read(
        _ archive: OpaquePointer, _ isExport: ([UInt8]) -> Bool?, _ receive: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Bool {
        var head: [UInt8]? = []
        var unpacked = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = archive_read_data(archive, buffer.baseAddress, buffer.count)
            guard count >= 0 else { throw Self.damaged }
            guard count > 0 else { return head == nil }
            unpacked += count
            guard unpacked <= 256 << 20 || unpacked / 200 <= packed else {
                throw HealthFileError(reason: "The unpacked ZIP archive is larger than the limit.")
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            guard var beginning = head else {
                try receive(bytes)
                continue
            }
            beginning += bytes
            switch isExport(beginning) {
            case nil: head = beginning
            case false?: return false
            case true?:
                head = nil
                try beginning.withUnsafeBytes(receive)
            }
        }
    }
}
