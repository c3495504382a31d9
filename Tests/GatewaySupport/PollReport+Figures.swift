import Gateway

extension PollReport {
    /// What does not add up in the report's figures, by the rules at `PollReport`; `nil`: nothing.
    package var contradiction: String? {
        let stored = new + duplicates
        let figures =
            """
            received \(received), new \(new), known \(duplicates), suspect \(suspect), acknowledged \
            \(acknowledged), unconfirmed \(unconfirmed)
            """
        if [received, new, duplicates, suspect, quarantined, acknowledged, unconfirmed].contains(where: { $0 < 0 }) {
            return "a figure below zero: \(figures)"
        }
        if stored > received { return "more stored than received: \(figures)" }
        if stored < received, failure == nil { return "received and not stored, and no failure: \(figures)" }
        if suspect > stored { return "more suspect than stored: \(figures)" }
        if acknowledged + unconfirmed > stored { return "more acknowledged than stored: \(figures)" }
        return nil
    }
}
