import Foundation
import Synchronization
import TrackerCore

/// Presses of notification buttons that the service has not processed yet, oldest first. They are kept in a file of the
/// session's runtime folder, so that they survive a program that is killed. Each press has a key and counts once.
package final class KeptTaps: Sendable {
    /// One of them.
    package struct Tap: Hashable, Sendable, Codable {
        /// The button and its notification.
        package let press: DesktopPress
        private let since: ContinuousClock.Instant
        private let at: Date

        init(_ press: DesktopPress) { (self.press, since, at) = (press, .now, Date()) }

        /// For how long it has waited: no clock says so that may be put right meanwhile, unless the machine was started
        /// anew.
        package var age: Duration {
            let waited = ContinuousClock.now - since
            return waited >= .zero ? waited : .seconds(max(0, Date().timeIntervalSince(at)))
        }
    }

    /// So many at most: nobody taps so often.
    package static let limit = 64
    private let file: SessionFile?
    private let held: Mutex<[Tap]>

    /// With what a program before left there.
    /// - Parameter file: `nil`: for this program alone.
    package init(file: String?) {
        self.file = file.map(SessionFile.init(path:))
        held = Mutex(self.file?.read().flatMap { try? JSONDecoder().decode([Tap].self, from: $0) } ?? [])
    }

    /// The oldest.
    package var first: Tap? { held.withLock { $0.first } }

    /// Keeps one more.
    /// - Returns: those that are given up for it.
    package func append(_ press: DesktopPress) -> [Tap] {
        change { taps in
            taps.append(Tap(press))
            let lost = Array(taps.prefix(max(0, taps.count - Self.limit)))
            taps.removeFirst(lost.count)
            return lost
        }
    }

    /// The service knows of it.
    package func remove(_ tap: Tap) { change { taps in taps.removeAll { $0.press.key == tap.press.key } } }

    private func change<Result: Sendable>(_ body: (inout [Tap]) -> Result) -> Result {
        held.withLock { held in
            let result = body(&held)
            if let data = try? JSONEncoder().encode(held.filter(\.changesSomething)) { file?.write(data) }
            return result
        }
    }
}

extension KeptTaps.Tap {
    /// For a line in a log.
    package var words: String { "\(press.action.rawValue) of \(press.kind.id)" }

    /// A later program does not open a page that was asked for before it started.
    fileprivate var changesSomething: Bool { press.action != .open && press.action != .dismiss }
}
