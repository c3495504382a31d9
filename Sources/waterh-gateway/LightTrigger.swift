import Gateway
import Synchronization
import TrackerCore
import TrackerService

/// Requests a poll when a bottle's light must change, once per change. If that poll fails, the next one sets the light.
final class LightTrigger: Sendable {
    private let polls: PollService
    private let requested = Mutex<[String: BottleLight]>([:])

    init(_ polls: PollService) { self.polls = polls }

    func pollIfDue(_ tracker: TrackerAPI) async {
        guard let due = try? tracker.lightsDue() else { return }
        let isNew = requested.withLock { requested in
            defer { requested = due }
            return due.contains { requested[$0] != $1 }
        }
        if isNew { await polls.pollNow() }
    }
}
