import Notifications
import Utilities
import TrackerCore
import TrackerService

/// Button presses on desktop notifications, performed in order. A press waits while the store is locked or the disk is
/// full, and survives a restart.
actor ActionQueue {
    private let presses: PendingActions
    private let act: @Sendable (PendingActions.ButtonPress) async throws -> Void
    private let log: @Sendable (String) -> Void
    private var isPerforming = false
    private var isStopped = false
    private let pause = Pause()

    /// - Parameter act: performs a press, once per key.
    init(
        _ presses: PendingActions, log: @escaping @Sendable (String) -> Void,
        act: @escaping @Sendable (PendingActions.ButtonPress) async throws -> Void
    ) {
        (self.presses, self.log, self.act) = (presses, log, act)
    }

    /// Returns when the press is done or queued.
    func keep(_ press: DesktopPress) async {
        for lost in presses.append(press) {
            log("\(lost.logText): dropped, because too many actions are queued")
        }
        await performQueued()
    }

    func performQueued() async {
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        var backoff = Backoff()
        while !isStopped, let press = presses.first {
            do {
                try await act(press)
                presses.remove(press)
                backoff.reset()
            } catch let problem as any Problem where [.busy, .diskFull].contains(problem.category) {
                log("\(press.logText): \(problem.sentence) It is retried automatically.")
                let length = backoff.next(jitter: 1)
                await pause.wait { try? await Task.sleep(for: length) }
            } catch {
                log("\(press.logText): \(error)")
                presses.remove(press)
            }
        }
    }

    /// Leaves the queued presses to the next process.
    func stop() {
        isStopped = true
        pause.end()
    }
}
