import Foundation
import TrackerCore
import TrackerService
import Utilities

/// Button presses on desktop notifications, performed in order. A press waits while the service or the store is
/// unavailable. A file in `XDG_RUNTIME_DIR` keeps the presses for the next process. Each key counts once.
package actor ActionQueue {
    package struct ButtonPress: Hashable, Sendable, Codable {
        package let press: DesktopPress
        private let since: ContinuousClock.Instant
        private let at: Date

        init(_ press: DesktopPress) { (self.press, since, at) = (press, .now, Date()) }

        /// The waiting time by the monotonic clock; by the wall clock after a reboot.
        private var age: Duration {
            let waited = ContinuousClock.now - since
            return waited >= .zero ? waited : .seconds(max(0, Date().timeIntervalSince(at)))
        }

        /// The waiting time in seconds of a press that counts at its own time; `nil` for the current time.
        package var delay: Double? { age < .seconds(30) ? nil : age / .seconds(1) }

        var logText: String { "\(press.action.rawValue) of \(press.kind.id)" }

        /// Whether to keep the press for a later process. Opening a page is not kept.
        var isKeptForNextProcess: Bool { press.action != .open && press.action != .dismiss }
    }

    /// The maximum number of queued presses.
    private static let limit = 64
    private let file: SessionFile
    private let act: @Sendable (ButtonPress) async throws -> Void
    private let log: @Sendable (String) -> Void
    private var presses: [ButtonPress] {
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
        act: @escaping @Sendable (ButtonPress) async throws -> Void
    ) {
        (self.file, self.log, self.act) = (SessionFile(path: file), log, act)
        presses = self.file.read().flatMap { try? JSONDecoder().decode([ButtonPress].self, from: $0) } ?? []
    }

    /// Returns when the press is done or queued.
    package func keep(_ press: DesktopPress) async {
        presses.append(ButtonPress(press))
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
            presses.removeAll { $0.press.key == press.press.key }
            backoff = Backoff()
        }
    }

    /// Leaves the queued presses to the next process.
    package func stop() {
        isStopped = true
        pause.end()
    }
}
