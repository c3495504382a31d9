package import TrackerCore

extension TrackerStore {
    /// Evaluates the day and updates the files next to the store after a commit (tracker spec B8). Delivers nothing.
    /// - Returns: errors as sentences. They do not affect the commit.
    package func afterCommit(_ context: WriteContext) -> [String] {
        var errors: [String] = []
        do {
            try evaluate(context)
        } catch {
            errors.append("The change is stored. Updating the reminders failed and is retried: \(error)")
        }
        do {
            try updateHealthFiles()
        } catch {
            errors.append("Writing the health files failed (the store is not affected): \(FileErrorText.text(error))")
        }
        return errors
    }
}
