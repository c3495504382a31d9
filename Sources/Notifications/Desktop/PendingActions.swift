import Foundation
import Synchronization
import TrackerCore

/// A queue of notification button presses that the service has not processed, oldest first. A file in `XDG_RUNTIME_DIR`
/// keeps them after a crash. Each press has a key and counts once.
package final class PendingActions: Sendable {
    package struct ButtonPress: Hashable, Sendable, Codable {
        package let press: DesktopPress
        private let since: ContinuousClock.Instant
        private let at: Date

        init(_ press: DesktopPress) { (self.press, since, at) = (press, .now, Date()) }

        /// The waiting time by the monotonic clock; by the wall clock after a reboot.
        package var age: Duration {
            let waited = ContinuousClock.now - since
            return waited >= .zero ? waited : .seconds(max(0, Date().timeIntervalSince(at)))
        }
    }

    /// The maximum number of queued presses.
    package static let limit = 64
    private let file: SessionFile?
    private let presses: Mutex<[ButtonPress]>

    /// Reads the presses that an earlier process left.
    /// - Parameter file: `nil` keeps them in memory only.
    package init(file: String?) {
        self.file = file.map(SessionFile.init(path:))
        presses = Mutex(self.file?.read().flatMap { try? JSONDecoder().decode([ButtonPress].self, from: $0) } ?? [])
    }

    package var first: ButtonPress? { presses.withLock { $0.first } }

    /// Adds a press. Returns the oldest presses, which were dropped because of the limit.
    package func append(_ press: DesktopPress) -> [ButtonPress] {
        change { presses in
            presses.append(ButtonPress(press))
            let dropped = Array(presses.prefix(max(0, presses.count - Self.limit)))
            presses.removeFirst(dropped.count)
            return dropped
        }
    }

    package func remove(_ press: ButtonPress) {
        change { presses in presses.removeAll { $0.press.key == press.press.key } }
    }

    private func change<Result: Sendable>(_ body: (inout [ButtonPress]) -> Result) -> Result {
        presses.withLock { presses in
            let result = body(&presses)
            if let data = try? JSONEncoder().encode(presses.filter(\.isKeptForNextProcess)) { file?.write(data) }
            return result
        }
    }
}

extension PendingActions.ButtonPress {
    package var logText: String { "\(press.action.rawValue) of \(press.kind.id)" }

    /// Whether to keep the press for a later process. Opening a page is not kept.
    fileprivate var isKeptForNextProcess: Bool { press.action != .open && press.action != .dismiss }
}
