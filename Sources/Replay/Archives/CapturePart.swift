import Glibc

/// One capture: a file named by the user, or a member of it.
package final class CapturePart {
    /// The path to read; valid while this object exists.
    package let path: String
    /// The name for messages: the file as the user wrote it (or `standard input`), and the member.
    package let name: String
    /// The name for reports: the file as the user wrote it (`-` for standard input), and the member.
    package let reportName: String
    /// The reason why only a part of the capture was unpacked; `nil` if it was unpacked completely.
    package let readingError: String?
    let order: CaptureOrder
    private let spool: SpoolFile?
    let source: OpenedCapture?

    package convenience init(path: String) { self.init(path: path, order: CaptureOrder()) }

    init(path: String, order: CaptureOrder, _ source: OpenedCapture? = nil) {
        (self.path, name, reportName, readingError) = (path, Self.displayName(path), path, nil)
        (self.order, spool, self.source) = (order, nil, source)
    }

    /// A name for messages: the file and the member.
    static func displayName(_ path: String, _ member: String = "") -> String {
        (path == "-" ? "standard input" : path) + (member.isEmpty ? "" : ": \(member)")
    }

    /// - Parameters:
    ///   - original: as the user wrote it.
    ///   - member: the member; empty for the whole file.
    init(
        _ file: SpoolFile, of original: String, _ member: String = "", order: CaptureOrder = CaptureOrder(),
        readingError: String? = nil
    ) {
        self.order = order
        (path, name) = (file.path, Self.displayName(original, member))
        reportName = member.isEmpty ? original : name
        (self.readingError, spool, source) = (readingError, file, nil)
    }
}

/// An open file or pipe whose first bytes are already read. Closes the descriptor when it is released.
final class OpenedCapture {
    let descriptor: CInt
    var head: [UInt8] = []
    private let closes: Bool

    init(_ descriptor: CInt, closes: Bool) { (self.descriptor, self.closes) = (descriptor, closes) }

    deinit { if closes { close(descriptor) } }
}
