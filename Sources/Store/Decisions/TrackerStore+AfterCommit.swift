import TrackerCore

extension TrackerStore {
    /// What follows every commit, of a command or of a poll (tracker law B8): the day is evaluated, so that what a
    /// drink or a setting changed re-arms its reminders at that moment, and the files beside the store are brought into
    /// step. Nobody is told anything: what is due stays due for whoever can show it.
    ///
    /// The commit stands whatever happens here, so nothing is thrown.
    /// - Returns: what could not be done, a sentence each.
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
