import ArgumentParser
import Bluetooth
import CommandKit
import Foundation
import Gateway
import Logging
import ServiceLog
import Synchronization

extension LogFormat: ExpressibleByArgument {}

/// How a service says what happens.
struct ServiceLogOptions: ParsableArguments {
    @Option(name: .customLong("log-format"), help: "text, json, or journal (systemd's priorities). Default: journal where systemd's journal reads standard error, else text.")
    var format: LogFormat?

    /// - Parameter isTalkative: the course of things, too.
    func logger(link: String, isTalkative: Bool) -> Logger {
        let handler = ServiceLogHandler(
            format ?? .usual(), level: isTalkative ? .debug : .info, output: TextOutput(descriptor: STDERR_FILENO), time: { Date() })
        var logger = Logger(label: "waterh-gateway") { _ in handler }
        if isTalkative { logger[metadataKey: "link"] = "\(link)" }
        return logger
    }
}

/// The poll that the service has under way: what its events are marked with.
final class PollMark: Sendable {
    private let state = Mutex<(number: Int, bottle: String?)>((0, nil))

    func begin(_ bottle: String?) { state.withLock { $0 = ($0.number + 1, bottle) } }

    var metadata: Logger.Metadata {
        state.withLock { state in
            var metadata: Logger.Metadata = ["poll": "\(state.number)"]
            if let bottle = state.bottle { metadata["bottle"] = "\(bottle)" }
            return metadata
        }
    }
}
