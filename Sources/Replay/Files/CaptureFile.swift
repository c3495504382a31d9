import Captures
import Glibc

/// A capture on disk, or `-` for standard input: drives `CaptureReader` over it with a window of fixed size.
package struct CaptureFile {
    /// As the user wrote it; `-` is standard input.
    package let path: String
    /// What the file said about itself, as far as it was read.
    package private(set) var facts = CaptureFileFacts()
    /// Called now and then while reading, with the bytes read so far and the size of the file (`nil` for a pipe).
    package var onProgress: ((_ read: Int, _ size: Int?) -> Void)?

    /// Called with what a text capture says beside its packets (names, addresses): before the first packet, and
    /// whenever the part of the file that is read next says more.
    package var onHead: ((CaptureFileFacts) -> Void)?

    /// So many records at the beginning are not delivered: they were in another capture.
    package var skipped = 0

    /// Waits for more at the end of the file, where somebody still writes it.
    package var growth: FileGrowth?

    /// Larger than the longest record, so that a window with room left always gets further.
    private static let windowSize = CaptureReader.longestRecord + 262_144

    /// A file, or `-` for standard input. Nothing is opened yet.
    package init(path: String) { self.path = path }

    /// Reads the file from its beginning. The bytes are borrowed for the time of a call.
    ///
    /// - Throws: `CaptureError` after everything before the trouble was delivered; `CaptureFileError` where the file
    ///   cannot be opened or read (missing, a directory, no permission); whatever `body` throws.
    package mutating func forEachPacket(_ body: (CapturePacket, RawSpan) throws -> Void) throws {
        let onHead = onHead
        try forEachPacket(tellsHead: onHead != nil, { onHead?($0) }, body)
    }

    /// The same with `onHead` as a closure that does not escape: variables that it shares with `body` stay where they
    /// are, and are not looked up and checked at each packet.
    mutating func forEachPacket(
        tellsHead: Bool = true, _ head: (CaptureFileFacts) -> Void, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CaptureFileError(path: path, errno: errno) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw CaptureFileError(path: path, errno: errno) }
        if status.st_mode & S_IFMT == S_IFDIR {
            throw CaptureFileError(path: path, sentence: "is a directory: name one of the files in it")
        }
        let size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil

        var reader = CaptureReader()
        if size != nil { reader.surveyInterfaces = { [path] in Self.surveyInterfaces(path) } }
        defer { facts = reader.facts }
        var window = [UInt8](repeating: 0, count: Self.windowSize)
        var filled = 0
        var total = 0
        var isLast = false
        while !isLast {
            try growth?.aboutToRead()
            let count = try readMore(descriptor, into: &window, at: filled)
            if count == 0, try growth?.waitForMore(descriptor, after: total) == true { continue }
            isLast = count == 0
            filled += count
            total += count
            if tellsHead { readHead(window.span.bytes.extracting(0..<filled), isLast: isLast, reader, head) }
            let consumed: Int
            if skipped == 0 {
                consumed = try reader.read(window.span.bytes.extracting(0..<filled), isLast: isLast, body)
            } else {
                consumed = try reader.read(window.span.bytes.extracting(0..<filled), isLast: isLast) {
                    [skipped] packet, bytes in
                    if packet.number > skipped { try body(packet, bytes) }
                }
            }
            facts = reader.facts
            window.withUnsafeMutableBytes { buffer in
                guard consumed > 0, let base = buffer.baseAddress else { return }
                memmove(base, base + consumed, filled - consumed)
            }
            filled -= consumed
            onProgress?(total, size)
        }
    }

    private static func surveyInterfaces(_ path: String) -> InterfaceSurvey? {
        var survey = InterfaceSurvey()
        try? forEachPiece(of: path) { survey.take($0.bytes) }
        return survey
    }

    /// The bytes of a file as they are, piece by piece.
    static func forEachPiece(of path: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CaptureFileError(path: path, errno: errno) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CaptureFileError(path: path, errno: errno) }
            if count == 0 { return }
            try piece.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    /// Text says whose it is in lines of their own. Packets are delivered while it is parsed, so these lines are read
    /// ahead. Trouble shows in its turn.
    private func readHead(
        _ window: RawSpan, isLast: Bool, _ reader: CaptureReader, _ onHead: (CaptureFileFacts) -> Void
    ) {
        if let level = reader.facts.format?.level, level != .text { return }
        var probe = reader
        _ = try? probe.read(window, isLast: isLast) { _, _ in }
        guard probe.facts.format?.level == .text,
            probe.facts.names != reader.facts.names || probe.facts.name != reader.facts.name
        else { return }
        onHead(probe.facts)
    }

    /// At least one byte, unless the file is at its end.
    private func readMore(_ descriptor: CInt, into window: inout [UInt8], at offset: Int) throws -> Int {
        while true {
            let count = window.withUnsafeMutableBytes { buffer in
                read(descriptor, buffer.baseAddress.map { $0 + offset }, buffer.count - offset)
            }
            if count >= 0 { return count }
            guard errno == EINTR else { throw CaptureFileError(path: path, errno: errno) }
        }
    }
}

/// The operating system refused.
package struct CaptureFileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file, or `-`.
    package var path: String
    /// What the system said.
    package var sentence: String

    package init(path: String, sentence: String) {
        self.path = path
        self.sentence = sentence
    }

    init(path: String, errno code: CInt) {
        let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
        self.init(path: path, sentence: "cannot be read: \(reason)")
    }

    /// The file, and what the system said.
    package var description: String { "\(path == "-" ? "standard input" : path): \(sentence)" }
}
