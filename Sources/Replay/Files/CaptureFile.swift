package import Bluetooth
package import Captures
import Glibc

/// Reads a capture file, or standard input, with a window of fixed size over its bytes.
package struct CaptureFile {
    /// The path as the user wrote it; `-` is standard input.
    package let path: String
    package private(set) var info = CaptureFileInfo()
    /// Called during reading, with the bytes read so far and the size of the file (`nil` for a pipe).
    package var onProgress: ((_ read: Int, _ size: Int?) -> Void)?
    /// Called with the names and addresses of a text capture: before the first packet, and when more follow.
    package var onHeader: ((CaptureFileInfo) -> Void)?
    /// Waits for more bytes at the end of a growing file.
    package var growth: FileGrowth?

    /// The window size in bytes. Larger than the longest record, so that each read completes at least one record.
    private static let windowSize = CaptureReader.longestRecord + 262_144

    /// The open file or pipe whose first bytes are already read; `nil` to open `path`.
    private let source: OpenedCapture?

    package init(path: String) { (self.path, source) = (path, nil) }

    package init(_ part: CapturePart) { (path, source) = (part.path, part.source) }

    /// Reads the file from its start. The bytes are valid only during a call of `body`.
    /// - Throws: `CaptureError` after everything before the error was delivered; `CaptureFileError` if the file cannot
    ///   be opened or read; or the error of `body`.
    package mutating func forEachPacket(_ body: PacketSink) throws {
        let onHeader = onHeader
        try forEachPacket(reportsHeader: onHeader != nil, { onHeader?($0) }, body)
    }

    /// Reads the file with a non-escaping header callback, so that the runtime does not check accesses to variables
    /// that the closures share.
    mutating func forEachPacket(
        reportsHeader: Bool = true, _ onHeader: (CaptureFileInfo) -> Void, _ body: PacketSink
    ) throws {
        let file = try source ?? Self.open(path), descriptor = file.descriptor
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw CaptureFileError(path: path, errno: errno) }
        if status.st_mode & S_IFMT == S_IFDIR {
            throw CaptureFileError(path: path, sentence: "is a directory: name one of the files in it")
        }
        let size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil

        var reader = CaptureReader()
        defer { info = reader.info }
        var window = [UInt8](repeating: 0, count: Self.windowSize)
        var filled = 0, total = 0, isLast = false
        while !isLast {
            var count = file.head.count
            if count > 0 {
                window.replaceSubrange(..<count, with: file.head)
                file.head = []
            } else {
                try growth?.willRead()
                count = try window.withUnsafeMutableBytes {
                    try Self.readMore(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: $0[filled...]), path)
                }
                if count == 0, try growth?.waitForMore(descriptor, after: total) == true { continue }
                isLast = count == 0
            }
            filled += count
            total += count
            if reportsHeader { readHeader(window.span.bytes.extracting(0..<filled), isLast: isLast, reader, onHeader) }
            let consumed = try reader.read(window.span.bytes.extracting(0..<filled), isLast: isLast, body)
            info = reader.info
            window.withUnsafeMutableBytes { buffer in
                guard consumed > 0, let base = buffer.baseAddress else { return }
                memmove(base, base + consumed, filled - consumed)
            }
            filled -= consumed
            onProgress?(total, size)
        }
    }

    /// Reads the file as whole ATT PDUs and connection events. The bytes are valid only during a call of `body`.
    /// - Throws: as `forEachPacket`, after all complete events before the error were delivered.
    package mutating func forEachEvent(
        onPacket: (CapturePacket) -> Void = { _ in }, _ body: (ConversationEvent, RawSpan) throws -> Void
    ) throws {
        if let error = try readEvents(onPacket, body) { throw error }
    }

    /// Reads the file up to its end or the first error in its bytes, and delivers all complete events.
    /// - Returns: the error in the bytes that ended the reading.
    mutating func readEvents(
        _ onPacket: (CapturePacket) -> Void, _ body: ConversationHandler
    ) throws -> CaptureError? {
        var recording = RecordingState()
        let error = try readEvents(continuing: &recording, onPacket: onPacket, body)
        try recording.reassembler.finish(body)
        return error
    }

    /// Reads the next file of a recording. Connections that were open at the end of the last file continue in it.
    /// - Parameters:
    ///   - continuesNumbers: whether the packet numbers continue, too.
    ///   - onBegin: called first if the file does not continue the last one.
    /// - Returns: the error in the bytes that ended the reading.
    package mutating func readEvents(
        continuing recording: inout RecordingState, continuesNumbers: Bool = true, onBegin: () throws -> Void = {},
        onPacket: (CapturePacket) -> Void = { _ in }, _ body: ConversationHandler
    ) throws -> CaptureError? {
        let onHeader = onHeader
        var hasStarted = false, earlierPackets = 0
        func begin(_ packet: CapturePacket?) throws {
            hasStarted = true
            if let packet, recording.isContinued(by: packet) {
                earlierPackets = continuesNumbers ? recording.packets : 0
                return
            }
            recording = RecordingState()
            try onBegin()
        }
        do {
            try forEachPacket(reportsHeader: onHeader != nil) { info in
                // A text capture has its names before its first packet.
                if !hasStarted { try? begin(nil) }
                onHeader?(info)
            } _: { packet, bytes in
                if !hasStarted { try begin(packet) }
                var packet = packet
                packet.number += earlierPackets
                recording.add(packet)
                onPacket(packet)
                try recording.reassembler.receive(packet, bytes, body)
            }
        } catch let error as CaptureError {
            return error
        }
        return nil
    }

    /// Passes the rest of a file or pipe to `body` in blocks.
    static func forEachPiece(
        _ descriptor: CInt, _ path: String, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = try piece.withUnsafeMutableBytes { try readMore(descriptor, into: $0, path) }
            if count == 0 { return }
            try piece.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    static func open(_ path: String) throws -> OpenedCapture {
        let descriptor = path == "-" ? STDIN_FILENO : Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CaptureFileError(path: path, errno: errno) }
        return OpenedCapture(descriptor, closes: path != "-")
    }

    /// Reads at least one byte, unless the file is at its end.
    static func readMore(_ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, _ path: String) throws -> Int {
        while true {
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw CaptureFileError(path: path, errno: errno) }
        }
    }

    /// Reads the names in the window of a text capture before its packets. The later reading reports errors.
    private func readHeader(
        _ window: RawSpan, isLast: Bool, _ reader: CaptureReader, _ onHeader: (CaptureFileInfo) -> Void
    ) {
        if let layer = reader.info.format?.layer, layer != .text { return }
        var probe = reader
        _ = try? probe.read(window, isLast: isLast) { _, _ in }
        guard probe.info.format?.layer == .text,
            probe.info.names != reader.info.names || probe.info.name != reader.info.name
        else { return }
        onHeader(probe.info)
    }
}

/// The state at the end of a file of a recording, for a next file that continues it.
package struct RecordingState {
    var reassembler = ConversationReassembler()
    private var last: Duration?
    private var layer: CaptureFormat.Layer?
    /// The number of the last packet.
    private(set) var packets = 0

    package init() {}

    mutating func add(_ packet: CapturePacket) {
        packets = packet.number
        if let time = packet.time { last = time }
        if layer == nil { layer = packet.content.layer }
    }

    /// Whether a file with this first packet continues the recording. For an unknown packet, only its time decides.
    func isContinued(by packet: CapturePacket) -> Bool {
        (packet.content.layer ?? layer) == layer && layer != .text
            && reassembler.isContinued(at: packet.time, after: last)
    }
}

/// An error of the operating system for a capture file.
package struct CaptureFileError: Error, Sendable, Hashable, CustomStringConvertible {
    package var path: String
    package var sentence: String

    package init(path: String, sentence: String) {
        self.path = path
        self.sentence = sentence
    }

    init(path: String, errno code: CInt) {
        self.init(path: path, sentence: "cannot be read: \(String(cString: strerror(code)))")
    }

    package var description: String { "\(path == "-" ? "standard input" : path): \(sentence)" }
}

/// An unnamed temporary file in `TMPDIR`. The kernel removes it when this object or the process ends.
final class SpoolFile: Sendable {
    let descriptor: CInt
    private let original: String
    private let folder: String

    /// The path by which this process can open it.
    var path: String { "/proc/self/fd/\(descriptor)" }

    /// - Parameter original: the source of the bytes, for messages.
    init(for original: String) throws {
        self.original = original
        folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        descriptor = open(folder, O_RDWR | O_CLOEXEC | __O_TMPFILE, 0o600)
        guard descriptor >= 0 else { throw failure() }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure() }
            rest = rest.dropFirst(count)
        }
    }

    func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

    func rewind() { lseek(descriptor, 0, SEEK_SET) }

    private func failure() -> CaptureFileError {
        CaptureFileError(
            path: original, sentence: "cannot be unpacked to \(folder): \(String(cString: strerror(errno)))")
    }
}
