import Gateway
import Logging
import Synchronization

/// The poll that the service has under way: what its events are marked with.
final class PollMark: Sendable {
    private let state = Mutex<(number: Int, bottle: String?)>((0, nil))

    func begin(_ bottle: String?) { state.withLock { $0 = ($0.number + 1, bottle) } }

    var metadata: Logger.Metadata { metadata(bottle: nil) }

    /// - Parameter bottle: which it turned out to be, where that is known by now.
    func metadata(bottle: String?) -> Logger.Metadata {
        state.withLock { state in
            var metadata: Logger.Metadata = ["poll": "\(state.number)"]
            if let bottle = bottle ?? state.bottle { metadata["bottle"] = "\(bottle)" }
            return metadata
        }
    }

    /// What a poll brought, in figures, beside which it was.
    func metadata(of report: PollReport) -> Logger.Metadata {
        let figures: Logger.Metadata = [
            "received": "\(report.received)", "new": "\(report.new)", "known": "\(report.duplicates)",
            "acknowledged": "\(report.acknowledged)",
        ]
        return metadata(bottle: report.bottle).merging(figures) { $1 }
    }
}
