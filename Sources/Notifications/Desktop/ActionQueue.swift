import Foundation
import TrackerCore
import TrackerService
import Utilities

/// Button presses on desktop notifications, performed in order. A press waits while the service or the store is
/// unavailable. A file in `XDG_RUNTIME_DIR` keeps the presses for the next process. Each key counts once.
package actor ActionQueue {
    /// The maximum number of queued presses.
    private static let limit = 64
    private let file: RuntimeFile
    private let act: @Sendable (DesktopPress) async throws -> Void
    private let log: @Sendable (String) -> Void
    private var presses: [DesktopPress] {
        didSet {
            if let data = try? JSONEncoder().encode(presses.filter(\.isKeptForNextProcess)) { file.write(data) }
        }
    }
    private var isPerforming = false
    private var isStopped = false
    private let pause = Pause()

    /// Reads the presses that an earlier process left.
    /// - Parameter act: performs a press, once per key. A problem of the category `busy` or `diskFull` is retried.
    package init(
        file: String, log: @escaping @Sendable (String) -> Void,
        act: @escaping @Sendable (DesktopPress) async throws -> Void
    ) {
        (self.file, self.log, self.act) = (RuntimeFile(path: file), log, act)
        presses = self.file.read().flatMap { try? JSONDecoder().decode([DesktopPress].self, from: $0) } ?? []
    }

    /// Returns when the press is done or queued.
    package func keep(_ press: DesktopPress) async {
        presses.append(press)
        if presses.count > Self.limit {
            log("\(presses.removeFirst().logText): dropped, because too many actions are queued")
        }
        await performQueued()
    }

    /// Performs the queued presses. A press that waits for its next attempt is retried at once.
    package func performQueued() async {
        guard !isPerforming else { return pause.end() }
        isPerforming = true
        defer { isPerforming = false }
        var backoff = Backoff()
        while !isStopped, let press = presses.first {
            do {
                try await act(press)
            } catch let problem as any Problem where [.busy, .diskFull].contains(problem.category) {
                if backoff == Backoff() { log("\(press.logText): \(problem.sentence) It is retried automatically.") }
                let length = backoff.next(jitter: 1)
                await pause.wait { try? await Task.sleep(for: length) }
                continue
            } catch {
                log("\(press.logText): \(error)")
            }
            presses.removeAll { $0.key == press.key }
            backoff = Backoff()
        }
    }

    /// Leaves the queued presses to the next process.
    package func stop() {
        isStopped = true
        pause.end()
    }
}
