import Captures
import Glibc

/// Finds and unpacks the captures in one archive, compressed file or text.
final class Unpacker {
    private let path: String
    private let budget: ArchiveBudget
    private var found: [CapturePart] = []
    private var skipped: [String] = []
    private var rejections: [String] = []
    /// The maximum number of skipped files and of rejected files that messages list.
    private static let maximumReported = 5

    init(_ path: String, _ budget: ArchiveBudget) { (self.path, self.budget) = (path, budget) }

    /// Unpacks an archive, and returns its captures in order.
    /// - Throws: `CaptureError` if there is no capture inside, or a limit is exceeded.
    func open(_ descriptor: CInt, _ kind: ArchiveKind) throws -> CaptureOpener.Opened {
        try unpack(descriptor, kind, entry: "", depth: 1)
        dropCopies()
        guard !found.isEmpty else { throw noCaptureError(kind) }
        found = CaptureOrder.sorted(found)
        return CaptureOpener.Opened(parts: found, remarks: remarks)
    }

    /// Finds packed logs in a text; `nil` if there are none.
    func openText(_ descriptor: CInt) throws -> CaptureOpener.Opened? {
        var scanner = PackedLogScanner()
        try CaptureFile.forEachPiece(descriptor, path) {
            try budget.countBytes($0.count)
            try scanner.scan($0) { try add($0, entry: "") }
        }
        try scanner.finish { try add($0, entry: "") }
        guard scanner.count > 0 else {
            lseek(descriptor, 0, SEEK_SET)
            return nil
        }
        guard !found.isEmpty else {
            throw CaptureError(.malformed, at: 0, rejections.first ?? "the packed log in this text is damaged")
        }
        return CaptureOpener.Opened(parts: found, remarks: reportedRejections)
    }

    private func unpack(_ descriptor: CInt, _ kind: ArchiveKind, entry: String, depth: Int) throws {
        // The central directory of a complete zip allows skipping members. All bytes of other archives are read.
        let canSkip = kind == .zip && Self.hasCentralDirectory(descriptor)
        lseek(descriptor, 0, SEEK_SET)
        let reader = try ArchiveReader(descriptor, kind, budget)
        while true {
            let member: ArchiveReader.Member?
            do throws(CaptureError) {
                member = try reader.next()
            } catch {
                guard depth > 1 || !found.isEmpty else { throw error }
                reject("\(error.sentence); the part before it is read", in: entry)
                return
            }
            guard let member else { return }
            try budget.countMember()
            let name =
                member.name.isEmpty
                ? entry : entry.isEmpty ? Self.printable(member.name) : "\(entry): \(Self.printable(member.name))"
            guard member.isFile else { continue }
            if member.isEncrypted {
                reject("encrypted: unpack it manually", in: name)
                continue
            }
            try unpackMember(
                of: reader, name, isOnly: member.name.isEmpty && depth == 1, depth: depth, canSkip: canSkip)
        }
    }

    /// - Parameter isOnly: whether the member is the content of a compressed file that the user named.
    private func unpackMember(
        of reader: ArchiveReader, _ entry: String, isOnly: Bool, depth: Int, canSkip: Bool
    ) throws {
        let head = try reader.head(ContentProbe.longestHead)
        switch ContentProbe(head, isLast: reader.isMemberRead) {
        // A text in an archive can look like a capture at its start, so require a packet.
        case .capture(let packets, let order) where packets > 0 || isOnly:
            guard hasCapacity(for: entry) else { break }
            let file = try spool(head, reader)
            add(file, entry, order, error: reader.memberError)
            return
        case .packed(let kind):
            guard depth < budget.limits.nesting else {
                reject("more than \(budget.limits.nesting) nested archives: unpack it manually", in: entry)
                break
            }
            let file = try spool(head, reader)
            file.rewind()
            do {
                try unpack(file.descriptor, kind, entry: entry, depth: depth + 1)
            } catch let error as CaptureError where error.kind == .malformed {
                reject(error.sentence, in: entry.isEmpty ? "inside" : entry)
            }
            return
        case .text:
            // Pass on a single file in any case, because its reader reports the kind of file.
            let file = isOnly ? try SpoolFile(for: path) : nil
            var scanner = PackedLogScanner()
            try file?.write(head)
            try head.withUnsafeBytes { try scanner.scan($0) { try add($0, entry: entry) } }
            try reader.forEachPiece {
                try file?.write($0)
                try scanner.scan($0) { try add($0, entry: entry) }
            }
            try scanner.finish { try add($0, entry: entry) }
            guard scanner.count == 0 else { return }
            if let file { add(file, entry, error: reader.memberError) } else { skipped.append(entry) }
            return
        case .unsupported(let sentence) where !isOnly:
            reject(sentence, in: entry)
        case _ where isOnly:
            let file = try spool(head, reader)
            add(file, entry, error: reader.memberError)
            return
        default:
            skipped.append(entry)
        }
        if !canSkip { try reader.forEachPiece { _ in } }
    }

    private func spool(_ head: [UInt8], _ rest: ArchiveReader) throws -> SpoolFile {
        let file = try SpoolFile(for: path)
        try file.write(head)
        try rest.forEachPiece { try file.write($0) }
        return file
    }

    private func add(_ file: SpoolFile, _ entry: String, _ order: CaptureOrder = CaptureOrder(), error: String?) {
        file.rewind()
        var order = order
        order.archive = "\(path): \(Self.container(of: entry))"
        found.append(CapturePart(path, entry, order: order, spool: file, readingError: error))
    }

    /// Adds a packed log, or the reason for which it is not read.
    private func add(_ log: PackedLogScanner.Log, entry: String) throws {
        guard hasCapacity(for: entry) else { return }
        do {
            let (file, readingError) = try unpack(log)
            let spool = try SpoolFile(for: path)
            try spool.write(file)
            spool.rewind()
            found.append(
                CapturePart(
                    path, entry, isPackedLog: true, order: ContentProbe(file, isLast: true).order, spool: spool,
                    readingError: log.readingError ?? readingError))
        } catch let error as CaptureError where error.kind == .malformed {
            let suffix = log.readingError.map { "; \($0)" } ?? ""
            reject(error.sentence + suffix, in: entry)
        }
    }

    /// Whether the limit of captures was reported.
    private var isFull = false

    /// Whether the limit allows another capture: each one keeps a file open. If not, stores the reason once.
    private func hasCapacity(for entry: String) -> Bool {
        if found.count < budget.limits.captures { return true }
        if !isFull {
            reject("more than \(budget.limits.captures) captures; this and later ones are not read", in: entry)
        }
        isFull = true
        return false
    }

    private func unpack(_ log: PackedLogScanner.Log) throws -> (file: [UInt8], readingError: String?) {
        let deflated = try PackedLog.deflated(log.bytes)
        var records: [UInt8] = []
        var readingError: String?
        try deflated.withUnsafeBytes { bytes in
            let stream = InflateStream(.zlib, bytes)
            while let piece = stream.next() {
                try budget.countBytes(piece.count)
                guard records.count + piece.count <= PackedLog.longest else {
                    throw CaptureError(
                        .malformed, at: 0, "the packed log is larger than \(PackedLog.longest >> 20) MiB")
                }
                records += piece
            }
            if stream.failure != nil { readingError = "the packed log is damaged or truncated" }
        }
        let (file, end) = PackedLog.btsnoop(head: Array(log.bytes.prefix(PackedLog.headerLength)), records: records)
        return (file, end ?? readingError)
    }

    /// Drops the packed log in the text of a bug report if the report also has the log as a file.
    private func dropCopies() {
        // Compare only within one report, because an archive can have reports of several phones.
        let reports = Set(
            found.filter { !$0.isPackedLog && $0.entry.contains("btsnoo") }.map { Self.container(of: $0.entry) })
        func isCopy(_ one: CapturePart) -> Bool { one.isPackedLog && reports.contains(Self.container(of: one.entry)) }
        skipped += found.filter(isCopy).map { "the packed log in \($0.entry)" }
        found.removeAll(where: isCopy)
    }

    /// The archive of a member; empty for the outermost.
    private static func container(of entry: String) -> Substring {
        entry.lastIndex(of: ":").map { entry[..<$0] } ?? ""
    }

    private var remarks: [String] {
        var sentences: [String] = []
        if found.count > 1 || !skipped.isEmpty {
            let captures = "captures in it: " + Self.list(found.map(\.entry), atMost: 8)
            sentences.append(captures + (skipped.isEmpty ? "" : "; skipped: \(skippedText)"))
        }
        return sentences + reportedRejections
    }

    private var reportedRejections: [String] {
        let count = rejections.count - Self.maximumReported
        return rejections.prefix(Self.maximumReported) + (count > 0 ? ["\(counted(count, "more part")) not read"] : [])
    }

    private var skippedText: String { Self.list(skipped, atMost: Self.maximumReported) }

    private static func list(_ names: [String], atMost maximum: Int) -> String {
        names.prefix(maximum).joined(separator: ", ")
            + (names.count > maximum ? ", and \(names.count - maximum) more" : "")
    }

    private func noCaptureError(_ kind: ArchiveKind) -> CaptureError {
        var text = "no capture in this \(kind.title) file"
        if let first = rejections.first {
            text += ": \(first)"
        } else if !skipped.isEmpty {
            text += ": \(skippedText)"
        } else {
            text += ": it is empty"
        }
        return CaptureError(.unrecognised, at: 0, text)
    }

    /// Stores the reason for which a member is not read.
    private func reject(_ sentence: String, in entry: String) {
        if rejections.count < 1000 { rejections.append(entry.isEmpty ? sentence : "\(entry): \(sentence)") }
    }

    /// A member's name for messages: without control characters, at most 200 characters.
    private static func printable(_ name: String) -> String {
        let kept = String(TextEncoding.oneLine(name).unicodeScalars.prefix(200))
        return kept.isEmpty ? "a file without a name" : kept
    }

    /// Whether a zip is complete, so that the central directory is at its end.
    private static func hasCentralDirectory(_ descriptor: CInt) -> Bool {
        let size = lseek(descriptor, 0, SEEK_END)
        let start = max(0, size - 66_000)
        var end = [UInt8](repeating: 0, count: max(0, size - start))
        let count = end.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, start) }
        guard count >= 22 else { return false }
        return (0...(count - 22)).reversed().contains {
            end[$0] == 0x50 && end[$0 + 1] == 0x4B && end[$0 + 2] == 5 && end[$0 + 3] == 6
        }
    }
}
