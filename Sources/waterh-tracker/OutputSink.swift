import CommandSupport
import TrackerCore

/// Standard output, where a person reads it.
struct OutputSink: NotificationSink {
    let name = "output"
    /// Somebody may have stopped the terminal (Ctrl-S): nobody else tells it meanwhile, for as long as a claim holds.
    let limit = Duration.seconds(50)
    /// It is a terminal, or `--show` says so.
    private let isReadByAPerson: Bool
    /// What is told is part of the one JSON object that is printed afterwards.
    private let isJSON: Bool
    private let console: Console

    init(show: Bool, isJSON: Bool, console: Console) {
        isReadByAPerson = show || TextOutput.standard.isTerminal
        self.isJSON = isJSON
        self.console = console
    }

    func canShow() async -> Bool { isReadByAPerson }

    /// Prints it, and tells whether it got out.
    func deliver(_ notification: TrackerNotification) async -> Bool {
        guard !isJSON else { return true }
        console.line(notification.title)
        if !notification.body.isEmpty { console.line("  \(notification.body)") }
        TextOutput.standard.flush()
        return !TextOutput.standard.isClosed
    }
}
