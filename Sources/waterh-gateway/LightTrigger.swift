import Gateway
import Synchronization
import TrackerCore
import TrackerService

/// Requests a poll when a bottle's light must change, once per change. If that poll fails, the next one sets the light.
final class LightTrigger: Sendable {
    private struct State {
        var service: PollService?
        var requested: [String: BottleLight] = [:]
    }

    private let state = Mutex(State())

    func connect(to service: PollService?) { state.withLock { $0.service = service } }

    func pollIfDue(_ tracker: TrackerAPI) async {
        guard let due = try? tracker.lightsDue() else { return }
        let service = state.withLock { state in
            defer { state.requested = due }
            return due.contains { state.requested[$0] != $1 } ? state.service : nil
        }
        await service?.pollNow()
    }
}
