import Utilities
import Logging

/// One event of a service as one line, whatever is in it.
struct LogLine {
    let level: Logger.Level
    let message: String
    /// By name, in the order of names.
    let metadata: [(name: String, value: String)]

    /// In characters of Unicode. systemd's journal makes two lines of one of more than 48 KiB (`LineMax`), and of the
    /// second what it says of itself: so the whole stays below, even where each character has to be written out in six
    /// bytes.
    static let (longestMessage, longestValue) = (4096, 256)

    init(level: Logger.Level, message: String, metadata: [(name: String, value: String)]) {
        self.level = level
        self.message = Self.cut(message, Self.longestMessage)
        self.metadata = metadata.map { ($0.name, Self.cut($0.value, Self.longestValue)) }
    }

    private static func cut(_ text: String, _ length: Int) -> String {
        let scalars = text.unicodeScalars
        guard scalars.count > length else { return text }
        return String(String.UnicodeScalarView(scalars.prefix(length))) + "…"
    }

    /// - Parameters:
    ///   - isTimed: whether a line of text begins with its time.
    ///   - time: when it happened, as RFC 3339 text.
    func text(_ format: LogFormat, isTimed: Bool = false, time: @autoclosure () -> String) -> String {
        switch format {
        case .text: (isTimed ? time() + " " : "") + word + sentences + remarks
        case .journal: "<\(priority)>" + sentences + remarks
        case .json:
            JSONValue.object(
                [
                    .init("time", .string(time())), .init("level", .string(level.rawValue)),
                    .init("message", .string(message)),
                ]
                    + metadata.map { .init($0.name, .string($0.value)) }
            ).text
        }
    }

    /// What is usual is not labelled.
    private var word: String {
        switch level {
        case .critical, .error: "error: "
        case .warning: "warning: "
        case .notice, .info, .debug, .trace: ""
        }
    }

    /// Where a person reads it, one follows the other on the same line.
    private var sentences: String { Escaping.replacing(message, ["\r\n": " ", "\n": " "]) }

    private var remarks: String {
        metadata.isEmpty ? "" : " [" + metadata.map { "\($0.name)=\(Self.word($0.value))" }.joined(separator: " ") + "]"
    }

    /// What a value says is no second value: one that is no single word stands in quotes.
    private static func word(_ value: String) -> String {
        let isOne =
            !value.isEmpty
            && !value.unicodeScalars.contains { $0.properties.isWhitespace || "\"=[]\\".unicodeScalars.contains($0) }
        return isOne ? value : "\"" + Escaping.replacing(value, ["\\": "\\\\", "\"": "\\\""]) + "\""
    }

    /// syslog's priorities, as systemd reads them.
    private var priority: Int {
        switch level {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }
}
