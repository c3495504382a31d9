import CommandSupport
import Store
import TrackerService

extension Resident {
    /// How often the folder is looked at; at the start first of all.
    private static let inboxEvery = Duration.seconds(60)

    /// Takes in what a phone lays into the folder that `health.inbox` names. Until its task is cancelled.
    func takeInbox() async {
        var trouble: Set<String> = []
        while !Task.isCancelled {
            var current: Set<String> = []
            do {
                for report in try await desk.desk(source: "import").takeInbox() {
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
