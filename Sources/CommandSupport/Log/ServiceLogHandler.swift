import Foundation
import Logging

/// The back end of swift-log for our services: one line an event on standard error, with nothing in it that a terminal
/// would obey.
package struct ServiceLogHandler: LogHandler {
    /// What is less important than this is not written.
    package var logLevel: Logger.Level
    /// What stands on every line.
    package var metadata: Logger.Metadata = [:]
    private let format: LogFormat
    private let isTimed: Bool
    private let output: LogOutput
    private let time: @Sendable () -> Date

    /// - Parameters:
    ///   - isTimed: whether a line of text begins with its time: in a file, say. JSON has it always, and the journal
    ///     has its own.
    ///   - time: when an event is said to have happened.
    package init(
        _ format: LogFormat, level: Logger.Level = .info, isTimed: Bool = false, output: LogOutput,
        time: @escaping @Sendable () -> Date
    ) {
        self.format = format
        self.isTimed = isTimed
        self.output = output
        self.time = time
        logLevel = level
    }

    /// One piece of that.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let line = LogLine(
            level: event.level, message: "\(event.message)",
            metadata: all.map { ($0.key, "\($0.value)") }.sorted { $0.0 < $1.0 })
        output.line(text(line)) { count, trouble in
            text(
                LogLine(
                    level: .warning,
                    message:
                        "\(count) \(count == 1 ? "line" : "lines") before this one could not be written: \(trouble).",
                    metadata: []))
        }
    }

    private func text(_ line: LogLine) -> String {
        line.text(
            format, isTimed: isTimed, time: time().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
