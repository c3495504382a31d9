import CommandSupport
import Logging
import Store
import TrackerCore
import TrackerService

extension ServiceHost {
    /// The interval between checks of the health import directory.
    private static let inboxInterval = Duration.seconds(60)

    static func importInbox(_ tracker: ServiceStore, _ reminders: ReminderLoop, _ log: Logger) async {
        var reported: Set<String> = []
        while !Task.isCancelled {
            var current: Set<String> = []
            do {
                for report in try await tracker.tracker(source: "import").importInbox() {
                    if report.trouble == nil {
                        log.notice("Health: \(report.summary)")
                        await reminders.checkNow()
                    } else {
                        current.insert(report.summary)
                    }
                }
            } catch {
                current.insert(asSentence("\(error)"))
            }
            for problem in current.subtracting(reported) { log.warning("Health: \(problem)") }
            reported = current
            try? await Task.sleep(for: inboxInterval)
        }
    }
}
