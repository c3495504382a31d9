import Foundation

/// How the lines of a service look (`--log-format`).
package enum LogFormat: String, CaseIterable, Sendable {
    /// For a person: `warning: What happened. [bottle=A4:C1:38:01:02:03]`; where no terminal shows it, behind the time
    /// (UTC).
    case text
    /// One JSON object a line: `time`, `level`, `message`, and the metadata by name.
    case json
    /// For systemd: as `text`, behind the priority that `sd-daemon(3)` describes: `<4>`.
    case journal

    /// Where nobody says otherwise: `journal` where standard error is the journal's (`JOURNAL_STREAM` names its device
    /// and inode), else `text`.
    package static func usual(
        _ environment: [String: String] = ProcessInfo.processInfo.environment, descriptor: Int32 = STDERR_FILENO
    ) -> LogFormat {
        var status = stat()
        guard let stream = environment["JOURNAL_STREAM"], fstat(descriptor, &status) == 0 else { return .text }
        return stream == "\(status.st_dev):\(status.st_ino)" ? .journal : .text
    }
}
