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
    /// The archive member with the capture; empty for the file itself.
    let entry: String
    /// Whether the capture is the packed log in a text.
    let isPackedLog: Bool
    let order: CaptureOrder
    private let spool: SpoolFile?
    let source: OpenedCapture?

    package convenience init(path: String) { self.init(path) }

    /// - Parameter original: the path as the user wrote it.
    init(
        _ original: String, _ entry: String = "", isPackedLog: Bool = false, order: CaptureOrder = CaptureOrder(),
        spool: SpoolFile? = nil, source: OpenedCapture? = nil, readingError: String? = nil
    ) {
        path = spool?.path ?? original
        let member = [entry, isPackedLog ? "packed log" : ""].filter { !$0.isEmpty }
        name = ([original == "-" ? "standard input" : original] + member).joined(separator: ": ")
        reportName = member.isEmpty ? original : name
        (self.entry, self.isPackedLog, self.order) = (entry, isPackedLog, order)
        (self.spool, self.source, self.readingError) = (spool, source, readingError)
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
