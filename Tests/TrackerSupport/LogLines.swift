package import Logging
import Synchronization

extension Logger {
    package static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// The messages of a log.
package final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    package init() {}

    package var all: [String] { lines.withLock { $0 } }
    package var logger: Logger { Logger(label: "test") { _ in Lines(to: self) } }

    private struct Lines: LogHandler {
        let to: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) { to.lines.withLock { $0.append("\(event.message)") } }
    }
}
