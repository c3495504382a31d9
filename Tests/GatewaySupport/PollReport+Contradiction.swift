package import Gateway

extension PollReport {
    /// A contradiction between the counts of the report, by the rules of `PollReport`; `nil`: none.
    package var contradiction: String? {
        let stored = new + duplicates
        let counts =
            """
            received \(received), new \(new), known \(duplicates), suspect \(suspect), acknowledged \
            \(acknowledged), unconfirmed \(unconfirmed)
            """
        if [received, new, duplicates, suspect, undecodable, acknowledged, unconfirmed].contains(where: { $0 < 0 }) {
            return "a negative count: \(counts)"
        }
        if stored > received { return "more stored than received: \(counts)" }
        if stored < received, failure == nil { return "received and not stored, and no failure: \(counts)" }
        if suspect > stored { return "more suspect than stored: \(counts)" }
        if acknowledged + unconfirmed > stored { return "more acknowledged than stored: \(counts)" }
        return nil
    }
}
