import CommandSupport
import Gateway
import Synchronization
import TrackerCore

/// Prints the messages of a running poll: always warnings, and on request or on a terminal its progress.
final class PollProgressPrinter: Sendable {
    private let line = Mutex(ProgressLine())
    private let logsDetails: Bool

    init(verbose: Bool) {
        logsDetails = verbose || Diagnostics.usesTerminalFeatures
    }

    func show(_ diagnostic: Diagnostic) {
        guard diagnostic.severity == .warning || logsDetails else { return }
        line.withLock { line in
            line.clear()
            let text = PollAdvice.text(diagnostic)
            diagnostic.severity == .warning ? Diagnostics.warning(text) : Diagnostics.line(text)
        }
    }

    func show(_ progress: PollProgress) {
        line.withLock { line in
            if let transfer = progress.transfer {
                line.show("Receiving the log: \(transfer.received) of \(transfer.announced) bytes")
            } else {
                line.show(Self.text(progress))
            }
        }
    }

    func clear() { line.withLock { $0.clear() } }

    private static func text(_ progress: PollProgress) -> String {
        switch progress.stage {
        case .scanning: "Looking for the bottle..."
        case .connecting: "Connecting..."
        case .connected, .polling: "Checking bottle..."
        case .storing: "Storing \(counted(progress.records, "record"))..."
        case .disconnecting: "Disconnecting..."
        }
    }
}
