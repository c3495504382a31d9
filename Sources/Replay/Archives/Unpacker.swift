import Captures
import Glibc

/// Unpacks the captures of one file.
final class Unpacker {
    private let path: String
    private let budget: ArchiveBudget
    private var found: [Found] = []
    private var leftOut: [String] = []
    private var leftOutCount = 0
    private var refusals: [String] = []
    /// The maximum number of skipped files that are named, and of sentences about one file.
    private static let maximumReported = 5

    private struct Found {
        var part: CapturePart
        /// The member; empty for the file itself.
        var place: String
        var isPackedLog = false
    }

    init(_ path: String, _ budget: ArchiveBudget) { (self.path, self.budget) = (path, budget) }

    /// - Throws: `CaptureError` if there is no capture inside, or a limit is exceeded.
    func open(_ descriptor: CInt, _ kind: ArchiveKind) throws -> CaptureOpener.Opened {
        try unpack(descriptor, kind, place: "", depth: 1)
        dropCopies()
        guard !found.isEmpty else { throw nothing(kind) }
        found = CaptureOrder.sorted(found) { $0.part.order }
        return CaptureOpener.Opened(parts: found.map(\.part), remarks: remarks)
    }

    /// Finds packed logs in a text; `nil` if there are none.
    func openText(_ descriptor: CInt) throws -> CaptureOpener.Opened? {
        var scanner = PackedLogScanner()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            try budget.spend(count)
            buffer.withUnsafeBytes { scanner.take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        scanner.finish()
        guard !scanner.logs.isEmpty else {
            lseek(descriptor, 0, SEEK_SET)
            return nil
        }
        try take(scanner, place: "")
        guard !found.isEmpty else {
            throw CaptureError(.broken, at: 0, refusals.first ?? "the packed log in this text cannot be read")
        }
        return CaptureOpener.Opened(parts: found.map(\.part), remarks: refusals)
    }

    // MARK: archives

    private func unpack(_ descriptor: CInt, _ kind: ArchiveKind, place: String, depth: Int) throws {
        // The directory of a complete zip allows skipping members. All bytes of other archives are read.
        let canSkip = kind == .zip && Self.hasDirectory(descriptor)
        lseek(descriptor, 0, SEEK_SET)
        let reader = try ArchiveReader(descriptor, kind)
        while true {
            let member: ArchiveReader.Member?
            do throws(CaptureError) {
                member = try reader.next()
            } catch {
                guard depth > 1 || !found.isEmpty else { throw error }
                refuse("\(place.isEmpty ? "" : "\(place): ")\(error.sentence); the part before it is read")
                return
            }
            guard let member else { return }
            try budget.spendMember()
            let name =
                member.name.isEmpty
                ? place : place.isEmpty ? Self.printable(member.name) : "\(place): \(Self.printable(member.name))"
            guard member.isFile else { continue }
            if member.isEncrypted {
                refuse("\(name): encrypted: unpack it manually")
                continue
            }
            let isAlone = member.name.isEmpty
            try take(
                MemberBytes(reader, budget), name, isAlone: isAlone, isTop: depth == 1, depth: depth, canSkip: canSkip)
        }
    }

    private func take(_ bytes: MemberBytes, _ place: String, isAlone: Bool, isTop: Bool, depth: Int, canSkip: Bool)
        throws
    {
        let head = try bytes.head(ContentProbe.longestHead)
        let isOnly = isAlone && isTop
        switch ContentProbe(head, isLast: bytes.isOver) {
        // Many texts in an archive look like a capture at their start.
        case .capture(let packets, let order) where packets > 0 || isOnly:
            guard found.count < budget.limits.captures else {
                refuse(
                    "\(place): more than \(budget.limits.captures) captures; this and later ones are not read"
                )
                break
            }
            let file = try spool(head, bytes)
            add(file, place, order, trouble: bytes.trouble)
            return
        case .packed(let kind):
            guard depth < budget.limits.nesting else {
                refuse("\(place): more than \(budget.limits.nesting) nested archives: unpack it manually")
                break
            }
            let file = try spool(head, bytes)
            file.rewind()
            do {
                try unpack(file.descriptor, kind, place: place, depth: depth + 1)
            } catch let error as CaptureError where error.kind == .broken {
                refuse("\(place.isEmpty ? "inside" : place): \(error.sentence)")
            }
            return
        case .text:
            // A single file is passed on in any case, because its reader reports its kind.
            let file = isOnly ? try SpoolFile(for: path) : nil
            var scanner = PackedLogScanner()
            try file?.write(head)
            head.withUnsafeBytes { scanner.take($0) }
            try bytes.forEachPiece {
                try file?.write($0)
                scanner.take($0)
            }
            scanner.finish()
            if !scanner.logs.isEmpty { return try take(scanner, place: place) }
            if let file { add(file, place, trouble: bytes.trouble) } else { leaveOut(place) }
            return
        case .refused(let sentence) where !isOnly:
            refuse("\(place): \(sentence)")
        case _ where isOnly:
            let file = try spool(head, bytes)
            add(file, place, trouble: bytes.trouble)
            return
        default:
            leaveOut(place)
        }
        if !canSkip { try bytes.forEachPiece { _ in } }
    }

    private func spool(_ head: [UInt8], _ rest: MemberBytes) throws -> SpoolFile {
        let file = try SpoolFile(for: path)
        try file.write(head)
        try rest.forEachPiece { try file.write($0) }
        return file
    }

    private func add(_ file: SpoolFile, _ place: String, _ order: CaptureOrder = CaptureOrder(), trouble: String?) {
        file.rewind()
        var order = order
        order.archive = "\(path): \(Self.container(of: place))"
        found.append(Found(part: CapturePart(file, of: path, place, order: order, trouble: trouble), place: place))
    }

    // MARK: packed logs

    private func take(_ scanner: PackedLogScanner, place: String) throws {
        var leftOut = scanner.leftOut
        defer {
            if leftOut > 0 {
                refuse(
                    (place.isEmpty ? "" : "\(place): ")
                        + """
                        \(counted(leftOut, "more packed log is", "more packed logs are")) in it and not read: take the \
                        text apart
                        """
                )
            }
        }
        for log in scanner.logs {
            guard found.count < budget.limits.captures else {
                leftOut += 1
                continue
            }
            do {
                let (file, trouble) = try unpack(log)
                let spool = try SpoolFile(for: path)
                try spool.write(file)
                spool.rewind()
                let inside = place.isEmpty ? "packed log" : "\(place): packed log"
                found.append(
                    Found(
                        part: CapturePart(
                            spool, of: path, inside, order: Self.order(of: file), trouble: log.trouble ?? trouble),
                        place: place,
                        isPackedLog: true))
            } catch let error as CaptureError where error.kind == .broken {
                refuse((place.isEmpty ? "" : "\(place): ") + error.sentence + (log.trouble.map { "; \($0)" } ?? ""))
            }
        }
    }

    private func unpack(_ log: PackedLogScanner.Log) throws -> (file: [UInt8], trouble: String?) {
        let deflated = try PackedLog.deflated(log.bytes)
        var records: [UInt8] = []
        var trouble: String?
        try deflated.withUnsafeBytes { bytes in
            let stream = InflateStream(.zlib, bytes)
            while let piece = stream.next() {
                try budget.spend(piece.count)
                guard records.count + piece.count <= PackedLog.longest else {
                    throw CaptureError(.broken, at: 0, "the unpacked packed log is larger than the limit")
                }
                records += piece
            }
            if stream.failure != nil { trouble = "the packed log is damaged or truncated" }
        }
        let (file, end) = PackedLog.btsnoop(head: Array(log.bytes.prefix(PackedLog.headerLength)), records: records)
        return (file, end ?? trouble)
    }

    // MARK: notes for the user

    /// Drops the log in the text of a bug report that also has it as a file.
    private func dropCopies() {
        // Handle each report separately, because an archive can have reports of several phones.
        let reports = Set(
            found.filter { !$0.isPackedLog && $0.place.contains("btsnoo") }.map { Self.container(of: $0.place) })
        func isCopy(_ one: Found) -> Bool { one.isPackedLog && reports.contains(Self.container(of: one.place)) }
        for copy in found where isCopy(copy) { leaveOut("the packed log in \(copy.place)") }
        found.removeAll(where: isCopy)
    }

    /// The archive of a member; empty for the outermost.
    private static func container(of place: String) -> Substring {
        place.lastIndex(of: ":").map { place[..<$0] } ?? ""
    }

    private static func order(of file: [UInt8]) -> CaptureOrder {
        if case .capture(_, let order) = ContentProbe(file, isLast: true) { order } else { CaptureOrder() }
    }

    private var remarks: [String] {
        var sentences: [String] = []
        if found.count > 1 || leftOutCount > 0 {
            var text =
                "read from it: " + found.prefix(8).map(\.place).joined(separator: ", ")
                + (found.count > 8 ? ", and \(found.count - 8) more" : "")
            if leftOutCount > 0 { text += "; no captures: \(others)" }
            sentences.append(text)
        }
        return sentences + reported
    }

    private var others: String {
        leftOut.joined(separator: ", ")
            + (leftOutCount > leftOut.count ? ", and \(leftOutCount - leftOut.count) more" : "")
    }

    private var reported: [String] {
        refusals.prefix(Self.maximumReported)
            + (refusals.count > Self.maximumReported
                ? ["\(refusals.count - Self.maximumReported) more files in it cannot be read"] : [])
    }

    private func nothing(_ kind: ArchiveKind) -> CaptureError {
        var text = "this \(kind.title) file holds no capture that is read here"
        if let first = refusals.first {
            text += ": \(first)"
        } else if leftOutCount > 0 {
            text += ": \(others)"
        } else {
            text += ": it is empty"
        }
        return CaptureError(.unrecognised, at: 0, text)
    }

    private func leaveOut(_ place: String) {
        leftOutCount += 1
        if leftOut.count < Self.maximumReported { leftOut.append(place) }
    }

    private func refuse(_ sentence: String) {
        if refusals.count < 1000 { refusals.append(sentence) }
    }

    /// A name without line breaks and of limited length, because members can have any name.
    private static func printable(_ name: String) -> String {
        let kept = String(
            String.UnicodeScalarView(
                name.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }.prefix(200)))
        return kept.isEmpty ? "a file without a name" : kept
    }

    /// Whether a zip has its directory, which is at its end.
    private static func hasDirectory(_ descriptor: CInt) -> Bool {
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
