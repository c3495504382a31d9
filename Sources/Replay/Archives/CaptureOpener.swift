import Captures
import Foundation
import Glibc

/// Opens a plain or compressed capture (gzip, bzip2, xz, zstd, lz4, .Z), or finds captures in a directory, zip or tar.
/// Also finds packed Bluetooth logs (btsnooz) in texts such as Android bug reports.
///
/// Packed data is unpacked within limits to unnamed files in the temporary folder. The opened files stay unchanged.
package struct CaptureOpener: Sendable {
    private let limits: ArchiveLimits
    private let copiesPipes: Bool
    private static let maximumFiles = 1000

    /// - Parameter copiesPipes: whether to copy the data of pipes to a temporary file, to read it several times.
    package init(limits: ArchiveLimits = ArchiveLimits(), copiesPipes: Bool = false) {
        (self.limits, self.copiesPipes) = (limits, copiesPipes)
    }

    /// The captures in a file or folder, in the order of their times.
    package struct Opened {
        package var parts: [CapturePart]
        /// Notes for the user, one sentence each: files that were read or skipped.
        package var remarks: [String] = []
    }

    /// Opens a capture, an archive or a directory, and returns its captures.
    /// - Parameter path: as the user wrote it; `-` is standard input. A file that cannot be opened becomes a part,
    ///   whose reader reports the reason.
    /// - Throws: `CaptureError` if a packed file has no capture; `CaptureFileError` if the temporary file fails.
    package func open(_ path: String) throws -> Opened {
        var status = stat()
        guard let source = try? CaptureFile.open(path), fstat(source.descriptor, &status) == 0 else {
            return Opened(parts: [CapturePart(path: path)])
        }
        if status.st_mode & S_IFMT == S_IFDIR { return try openFolder(path) }
        // Several readers of standard input would share one file position, even if it is a file.
        guard status.st_mode & S_IFMT == S_IFREG, !copiesPipes || path != "-" else {
            return try openPipe(source, path)
        }
        let start = lseek(source.descriptor, 0, SEEK_CUR)
        let probe = Self.probe(source.descriptor, start)
        lseek(source.descriptor, start, SEEK_SET)
        return try open(probe, source.descriptor, path, size: Int(status.st_size))
            ?? Opened(parts: [CapturePart(path, order: probe.order)])
    }

    package static func sorted(_ parts: [CapturePart]) -> [CapturePart] { CaptureOrder.sorted(parts) }

    /// Opens all files in a folder and its subfolders. Files that are not captures are counted.
    private func openFolder(_ path: String) throws -> Opened {
        var names: [String] = []
        let files = FileManager.default.enumerator(atPath: path)
        while let name = files?.nextObject() as? String {
            names.append(name)
            guard names.count <= Self.maximumFiles else {
                throw CaptureError(
                    .unsupported, at: 0,
                    "this directory has more than \(Self.maximumFiles) files: pass the directory of the captures")
            }
        }
        var opened = Opened(parts: [])
        var skippedFiles = 0
        for file in names.sorted().map({ "\(path)/\($0)" }) {
            var status = stat()
            guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            guard opened.parts.count < limits.captures else {
                throw CaptureError(.unsupported, at: 0, "this directory has more than \(limits.captures) captures")
            }
            let found = try? open(file)
            if let found, found.parts.contains(where: { $0.order.kind != nil }) {
                opened.parts += found.parts
                opened.remarks += found.remarks
            } else {
                skippedFiles += 1
            }
        }
        guard !opened.parts.isEmpty else { throw CaptureError(.unrecognised, at: 0, "this directory has no captures") }
        if skippedFiles > 0 {
            opened.remarks.append(counted(skippedFiles, "file is not a capture", "files are not captures"))
        }
        return Opened(parts: Self.sorted(opened.parts), remarks: opened.remarks)
    }

    /// Opens packed content. Returns `nil` if there is nothing to unpack.
    private func open(_ probe: ContentProbe, _ descriptor: CInt, _ path: String, size: Int) throws -> Opened? {
        let unpacker = Unpacker(path, ArchiveBudget(limits, packed: size))
        switch probe {
        case .packed(let kind): return try unpacker.open(descriptor, kind)
        case .text: return try unpacker.openText(descriptor)
        default: return nil
        }
    }

    private static func probe(_ descriptor: CInt, _ start: Int) -> ContentProbe {
        var probe = ContentProbe.undecided
        for length in [1 << 16, ContentProbe.longestHead] where probe == .undecided {
            var head = [UInt8](repeating: 0, count: length)
            let count = head.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, start) }
            guard count >= 0 else { return .other }
            probe = ContentProbe(Array(head.prefix(count)), isLast: count < length)
        }
        return probe
    }

    private func openPipe(_ source: OpenedCapture, _ path: String) throws -> Opened {
        var probe = ContentProbe.undecided, piece = [UInt8](repeating: 0, count: 1 << 16)
        var isLast = false
        while probe == .undecided, !isLast {
            let count = try piece.withUnsafeMutableBytes { try CaptureFile.readMore(source.descriptor, into: $0, path) }
            isLast = count == 0
            source.head += piece.prefix(count)
            probe = ContentProbe(source.head, isLast: isLast)
        }
        var budget: ArchiveBudget?
        switch probe {
        case .packed, .text: budget = ArchiveBudget(limits, packed: .max)
        default: if !copiesPipes { return Opened(parts: [CapturePart(path, source: source)]) }
        }
        let spool = try SpoolFile(for: path)
        try spool.write(source.head)
        if !isLast {
            try CaptureFile.forEachPiece(source.descriptor, path) {
                try budget?.countBytes($0.count)
                try spool.write($0)
            }
        }
        let size = lseek(spool.descriptor, 0, SEEK_CUR)
        spool.rewind()
        return try open(probe, spool.descriptor, path, size: size) ?? Opened(parts: [CapturePart(path, spool: spool)])
    }
}
