import Gateway
import Logging
import Synchronization

/// The number and the bottle of the current poll, as metadata of log lines.
final class PollLogContext: Sendable {
    private let state = Mutex<(number: Int, bottle: String?)>((0, nil))

    func begin(_ bottle: String?) { state.withLock { $0 = ($0.number + 1, bottle) } }

    func metadata(bottle: String? = nil) -> Logger.Metadata {
        state.withLock { state in
            var metadata: Logger.Metadata = ["poll": "\(state.number)"]
            if let bottle = bottle ?? state.bottle { metadata["bottle"] = "\(bottle)" }
            return metadata
        }
    }

    func metadata(of report: PollReport) -> Logger.Metadata {
        let figures: Logger.Metadata = [
            "received": "\(report.received)", "new": "\(report.new)", "known": "\(report.duplicates)",
            "acknowledged": "\(report.acknowledged)",
        ]
        return metadata(bottle: report.bottle).merging(figures) { $1 }
    }
}
