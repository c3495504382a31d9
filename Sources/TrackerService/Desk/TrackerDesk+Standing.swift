import TrackerCore

extension TrackerDesk {
    /// How the day stands, and how long nothing of it changes by itself.
    package func standing() throws -> (snapshot: TrackerSnapshot, lasts: Duration) {
        let evaluation = try store.look(context, canNotify: canNotify)
        return (evaluation.snapshot, pause(until: evaluation.nextChange))
    }

    /// For how long nobody need look: until that moment, at most 60 s (tracker law B8).
    func pause(until next: Instant) -> Duration {
        min(DayFollower.longestPause, .milliseconds(max(50, Int64(now.seconds(to: next) * 1000) + 1)))
    }
}
