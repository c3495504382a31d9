/// What a capture file says about itself, as far as it has been read.
package struct CaptureFileFacts: Sendable, Hashable {
    /// Container and first link type; `nil` until the content was recognised.
    package var format: CaptureFormat?
    /// Every link type met, in order of first use.
    package var linkTypes: [LinkType] = []
    /// Records delivered.
    package var packets = 0
    /// Records whose link type or packet type is not read.
    package var unreadable = 0
    /// Bytes consumed.
    package var offset = 0
    /// Name of the device, from the head of a text capture.
    package var name: String?
    /// Names of devices by address (48 bits as written), from text captures.
    package var names: [UInt64: String] = [:]
    /// Address of the device, 48 bits as written, from the head of a text capture.
    package var address: UInt64?
    /// The word after `profile:` in the head of a text capture.
    package var profile: String?
    /// Notes that a person should see (a descriptive sentence each): times without a date, an obsolete block, …
    package var remarks: [String] = []

    /// No capture names more devices than this; what comes after is left out.
    static let mostNames = 4096

    /// Of a file of which nothing was read yet.
    package init() {}

    /// Lines of a text that were not understood, and the first of them.
    package private(set) var passedLines = 0
    private var firstPassed = ""

    /// Counts a line that was not understood.
    mutating func passOver(line: Int, _ text: Substring) {
        if passedLines == 0 { firstPassed = "line \(line): \(TextEncoding.oneLine(String(text.prefix(80))))" }
        passedLines += 1
    }

    /// The lines that were not understood, as a sentence; `nil`: all were.
    package var passedSentence: String? {
        guard passedLines > 0 else { return nil }
        return "\(passedLines) \(passedLines == 1 ? "line was" : "lines were") not understood, first \(firstPassed)"
    }
}
