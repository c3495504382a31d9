import CommandSupport
import Store
import TrackerService

extension Resident {
    /// The interval between checks of the directory.
    private static let inboxEvery = Duration.seconds(60)

    func takeInbox() async {
        var trouble: Set<String> = []
        while !Task.isCancelled {
            var current: Set<String> = []
            do {
                for report in try await tracker.tracker(source: "import").takeInbox() {
                    if report.trouble == nil {
                        log.notice("Health: \(report.words)")
                        await reminders.poke()
                    } else {
                        current.insert(report.words)
                    }
                }
            } catch {
                current.insert(sentence("\(error)"))
            }
            for words in current.subtracting(trouble) { log.warning("Health: \(words)") }
            trouble = current
            try? await Task.sleep(for: Self.inboxEvery)
        }
    }
}
