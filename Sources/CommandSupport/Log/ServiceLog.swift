internal import ArgumentParser
package import Foundation
package import Logging
import Synchronization
import Utilities

/// The format of a service's log (`--log-format`).
package enum LogFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// `warning: What happened. [bottle=A4:C1:38:01:02:03]`; in a file, after the time (UTC).
    case text
    /// One JSON object per line: `time`, `level`, `message`, and the metadata by name.
    case json
    /// Like `text`, after a priority such as `<4>` (`sd-daemon(3)`), for systemd.
    case journal

    /// The default: `journal` if standard error is connected to the systemd journal (`JOURNAL_STREAM`), else `text`.
    package static func detected(
        _ environment: [String: String] = ProcessInfo.processInfo.environment, descriptor: Int32 = STDERR_FILENO
    ) -> LogFormat {
        var status = stat()
        guard let stream = environment["JOURNAL_STREAM"], fstat(descriptor, &status) == 0 else { return .text }
        return stream == "\(status.st_dev):\(status.st_ino)" ? .journal : .text
    }
}

/// The log options of each service.
package struct ServiceLogOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("log-format"),
        help: "Log format (default: journal under systemd, else text)")
    var format: LogFormat?

    package init() {}

    /// Creates a logger in the format of the option.
    /// - Parameters:
    ///   - label: the name of the program.
    ///   - link: the link, which is metadata of every line.
    ///   - logsDetails: whether to write debug events.
    package func logger(_ label: String, link: String? = nil, logsDetails: Bool = false) -> Logger {
        let handler = ServiceLogHandler(
            format ?? .detected(), level: logsDetails ? .debug : .info, hasTime: isatty(STDERR_FILENO) == 0)
        var logger = Logger(label: label) { _ in handler }
        if let link { logger[metadataKey: "link"] = "\(link)" }
        return logger
    }

    /// Redirects `Diagnostics` to the log. The text format prints them unchanged, so it does not need this.
    package func redirectDiagnostics(_ label: String) {
        guard format ?? .detected() != .text else { return }
        let log = logger(label)
        Diagnostics.redirect { severity, text in
            switch severity {
            case .error: log.error("\(text)")
            case .warning: log.warning("\(text)")
            case .line: log.notice("\(text)")
            }
        }
    }
}

/// Writes each event of swift-log as one line without control characters.
///
/// A line that cannot be written within 1 s is dropped, because a service must not stop because of its log.
package struct ServiceLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    private let format: LogFormat
    private let hasTime: Bool
    private let output: Output
    private let time: @Sendable () -> Date

    /// - Parameters:
    ///   - hasTime: whether a line in the text format starts with the time. JSON always contains it.
    ///   - descriptor: the output; not closed by this object.
    package init(
        _ format: LogFormat, level: Logger.Level = .info, hasTime: Bool = false, descriptor: Int32 = STDERR_FILENO,
        time: @escaping @Sendable () -> Date = { Date() }
    ) {
        (self.format, logLevel, self.hasTime, output, self.time) = (format, level, hasTime, Output(descriptor), time)
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        output.line(text(event.level, "\(event.message)", all.map { ($0.key, "\($0.value)") }))
    }

    /// The maximum lengths in Unicode scalars. The systemd journal splits lines of more than 48 KiB (`LineMax`);
    /// escaping can extend each scalar to six bytes.
    private static let (longestMessage, longestValue) = (4096, 256)

    func text(_ level: Logger.Level, _ message: String, _ metadata: [(String, String)]) -> String {
        let message = Self.truncated(message, Self.longestMessage)
        let metadata = metadata.map { ($0, Self.truncated($1, Self.longestValue)) }
        let date = time().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        guard format != .json else {
            let head: [JSONValue.Member] = [
                .init("time", .string(date)), .init("level", .string(level.rawValue)),
                .init("message", .string(message)),
            ]
            return JSONValue.object(head + metadata.map { .init($0, .string($1)) }).text
        }
        let fields = metadata.map { "\($0)=\(Self.quoted($1))" }.joined(separator: " ")
        let line = Escaping.replacing(message, ["\r\n": " ", "\n": " "]) + (fields.isEmpty ? "" : " [\(fields)]")
        guard format == .text else { return "<\(Self.priority(level))>" + line }
        let label = level >= .error ? "error: " : level == .warning ? "warning: " : ""
        return (hasTime ? date + " " : "") + label + line
    }

    private static func truncated(_ text: String, _ length: Int) -> String {
        let scalars = text.unicodeScalars
        return scalars.count > length ? String(String.UnicodeScalarView(scalars.prefix(length))) + "…" : text
    }

    /// Quotes a value that is not a single word.
    private static func quoted(_ value: String) -> String {
        let isWord =
            !value.isEmpty
            && !value.unicodeScalars.contains { $0.properties.isWhitespace || "\"=[]\\".unicodeScalars.contains($0) }
        return isWord ? value : "\"" + Escaping.replacing(value, ["\\": "\\\\", "\"": "\\\""]) + "\""
    }

    private static func priority(_ level: Logger.Level) -> Int {
        switch level {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }

    private final class Output: Sendable {
        /// The number of bytes that a ready pipe accepts at once (`PIPE_BUF`).
        private static let chunk = 4096
        /// The time limit in milliseconds for a reader that does not read. Then lines are dropped until it reads again.
        private static let limit: Int32 = 1000
        private let descriptor: Int32
        private let state = Mutex((isCut: false, isStalled: false))

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        func line(_ text: String) {
            state.withLock { state in
                let line = Array(((state.isCut ? "\n" : "") + TerminalText.safe(text) + "\n").utf8)
                var rest = line[...]
                while !rest.isEmpty {
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    let isReady = poll(&ready, 1, state.isStalled ? 0 : Self.limit)
                    if isReady < 0, errno == EINTR { continue }
                    let count =
                        isReady > 0
                        ? rest.prefix(Self.chunk).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } : -1
                    if isReady > 0, count < 0, errno == EINTR { continue }
                    state.isStalled = isReady == 0
                    guard count > 0 else {
                        state.isCut = state.isCut || rest.count < line.count
                        return
                    }
                    rest = rest.dropFirst(count)
                }
                state.isCut = false
            }
        }
    }
}
