import ArgumentParser
import Foundation
import Logging

extension LogFormat: ExpressibleByArgument {}

/// How a service says what happens: the same for every service of ours.
package struct ServiceLogOptions: ParsableArguments, Sendable {
    /// As it was asked for.
    @Option(
        name: .customLong("log-format"),
        help:
            """
            text, json, or journal (systemd's priorities). Default: journal where systemd's journal reads standard \
            error, else text.
            """
    )
    var format: LogFormat?

    /// Nothing is asked for.
    package init() {}

    /// - Parameters:
    ///   - label: the program.
    ///   - link: stands on every line, where there is one.
    ///   - isTalkative: the course of things, too.
    package func logger(_ label: String, link: String? = nil, isTalkative: Bool = false) -> Logger {
        let handler = ServiceLogHandler(
            format ?? .usual(), level: isTalkative ? .debug : .info, isTimed: isatty(STDERR_FILENO) == 0,
            output: .standard, time: { Date() })
        var logger = Logger(label: label) { _ in handler }
        if let link { logger[metadataKey: "link"] = "\(link)" }
        return logger
    }

    /// From here on what the program would say beside its answer goes the same way, so that a journal knows how much
    /// each line matters. As text it stays as it is.
    package func takeOver(_ label: String) {
        guard format ?? .usual() != .text else { return }
        let log = logger(label)
        Diagnostics.hand { weight, text in
            switch weight {
            case .error: log.error("\(text)")
            case .warning: log.warning("\(text)")
            case .line: log.notice("\(text)")
            }
        }
    }
}
