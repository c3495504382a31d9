import TrackerCore

extension TrackerStore {
    /// Evaluates the day and updates the files next to the store after a commit (tracker spec B8). Delivers nothing.
    /// - Returns: errors as sentences. They do not affect the commit.
    package func afterCommit(_ context: WriteContext) -> [String] {
        var troubles: [String] = []
        do {
            _ = try evaluate(context, sinks: [])
        } catch {
            troubles.append("The change is stored; the reminders take it up at the next check: \(error)")
        }
        do {
            try updateHealthFiles()
        } catch {
            troubles.append(
                """
                The health files beside the store could not be written (the store is right): \
                \(FileTrouble.words(error))
                """
            )
        }
        return troubles
    }
}
