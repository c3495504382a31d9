import TrackerCore

extension World {
    /// The scenario requires a broker, and the journal has no publisher.
    struct MissingPublisher: Error, CustomStringConvertible {
        let description = "This journal has no publisher."
    }

    mutating func tickBroker() {
        let wall = wall
        do {
            guard let count = try broker?.tick(at: now, wall: wall), count > 0, isLogging else { return }
            note("The broker confirmed \(count) drink\(count == 1 ? "" : "s").")
        } catch {
            fail(.inconsistentCounts, "the messages for the broker cannot be read: \(error)")
            broker?.close(at: now)
        }
    }

    mutating func checkBroker(_ entries: [JournalEntry]) {
        for violation in broker?.observer.violations(entries) ?? [] { fail(violation.code, violation.sentence) }
        for sentence in broker?.observer.missedExpectations(scenario.expectation) ?? [] { fail(.expectation, sentence) }
    }
}
