import TrackerCore

extension World {
    /// The scenario requires a broker, and the journal has no publisher.
    struct NoOutlet: Error, CustomStringConvertible {
        let description = "This journal tells no broker anything."
    }

    mutating func tickBroker() {
        let wall = wall
        do {
            guard let count = try broker?.tick(at: now, wall: wall), count > 0, keepsStory else { return }
            note("The broker has \(count) drink\(count == 1 ? "" : "s") more.")
        } catch {
            fail(.figures, "the messages for the broker cannot be read: \(error)")
            broker?.close(at: now)
        }
    }

    mutating func checkBroker(_ entries: [JournalEntry]) {
        for promise in broker?.ear.broken(entries) ?? [] { fail(promise.code, promise.sentence) }
        for sentence in broker?.ear.broken(scenario.promise) ?? [] { fail(.promised, sentence) }
    }
}
