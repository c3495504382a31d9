import CommandKit
import Logging

/// One event of a service as one line, whatever is in it.
struct LogLine {
    var level: Logger.Level
    var message: String
    /// By name, in the order of names.
    var metadata: [(name: String, value: String)]

    /// - Parameters:
    ///   - isTimed: whether a line of text begins with its time.
    ///   - time: when it happened, as RFC 3339 text.
    func text(_ format: LogFormat, isTimed: Bool = false, time: @autoclosure () -> String) -> String {
        switch format {
        case .text: (isTimed ? time() + " " : "") + word + message + remarks
        case .journal: "<\(priority)>" + message + remarks
        case .json:
            JSONValue.object(
                [.init("time", .string(time())), .init("level", .string(level.rawValue)), .init("message", .string(message))]
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

    private var remarks: String {
        metadata.isEmpty ? "" : " [" + metadata.map { "\($0.name)=\($0.value)" }.joined(separator: " ") + "]"
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
