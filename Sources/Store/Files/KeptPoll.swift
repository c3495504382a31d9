import TrackerCore

/// A poll that went wrong and was kept beside the store: its story, and a capture of what was said.
package struct KeptPoll: Hashable, Sendable {
    /// The capture's file name without its ending; it names this one among those of its store.
    package var id: String
    /// When it was kept, by the host's clock of then; `nil` where the name says no time.
    package var at: Instant?
    /// What happened, a line each; the first says why it was kept.
    package var story: [String]
    /// The capture's size in bytes.
    package var bytes: Int

    init(id: String, story: [String], bytes: Int) {
        (self.id, self.story, self.bytes) = (id, story, bytes)
        at = Self.time(id)
    }

    /// `20261123T180102003` as a time: the recorder makes the name of it (UTC, with or without thousandths).
    private static func time(_ id: String) -> Instant? {
        guard let parts = id.wholeMatch(of: /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})?/)?.output else {
            return nil
        }
        return Instant(iso: "\(parts.1)-\(parts.2)-\(parts.3)T\(parts.4):\(parts.5):\(parts.6).\(parts.7 ?? "000")Z")
    }
}
