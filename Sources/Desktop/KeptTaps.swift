import Foundation
import Synchronization
import TrackerCore

/// What a person tapped on the desktop and the service has not heard of: a button of a banner, or an entry of the
/// icon's menu, in their order. In a file of the session's runtime folder: a program that was killed meanwhile is
/// followed by one that still has it. Each has a key, so what is brought twice counts once.
public final class KeptTaps: Sendable {
    /// One of them.
    public struct Tap: Hashable, Sendable, Codable {
        /// What was tapped.
        public enum What: Hashable, Sendable, Codable {
            case press(DesktopPress)
            case tray(TrayAction)
        }

        /// What was tapped.
        public let what: What
        /// The same at each attempt, and of no other tap.
        public let key: String
        /// Others that change the day wait before it: what it takes back is what they do.
        public let followsOthers: Bool
        private let since: ContinuousClock.Instant
        private let at: Date

        init(_ what: What, key: String, followsOthers: Bool) {
            (self.what, self.key, self.followsOthers) = (what, key, followsOthers)
            (since, at) = (.now, Date())
        }

        /// For how long it has waited: no clock says so that may be put right meanwhile, unless the machine was started
        /// anew.
        public var age: Duration {
            let waited = ContinuousClock.now - since
            return waited >= .zero ? waited : .seconds(max(0, Date().timeIntervalSince(at)))
        }
    }

    /// So many at most: nobody taps so often.
    public static let limit = 64
    private let file: SessionFile?
    private let held: Mutex<[Tap]>

    /// With what a program before left there.
    /// - Parameter file: `nil`: for this program alone.
    public init(file: String?) {
        self.file = file.map(SessionFile.init(path:))
        held = Mutex(self.file?.read().flatMap { try? JSONDecoder().decode([Tap].self, from: $0) } ?? [])
    }

    /// The oldest.
    public var first: Tap? { held.withLock { $0.first } }

    /// Keeps one more.
    /// - Returns: those that are given up for it.
    public func append(_ what: Tap.What, key: String) -> [Tap] {
        change { taps in
            taps.append(Tap(what, key: key, followsOthers: !taps.isEmpty))
            let lost = Array(taps.prefix(max(0, taps.count - Self.limit)))
            taps.removeFirst(lost.count)
            return lost
        }
    }

    /// The service knows of it.
    public func remove(_ tap: Tap) { change { taps in taps.removeAll { $0.key == tap.key } } }

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
    public var words: String {
        switch what {
        case .press(let press): "\(press.action.rawValue) of \(press.kind.id)"
        case .tray(let action): "\(action.rawValue) of the icon"
        }
    }

    /// It takes back what was done last.
    public var isUndo: Bool {
        if case .tray(.undo) = what { true } else { false }
    }

    /// A page that somebody wanted to see is not opened by a later program.
    fileprivate var changesSomething: Bool {
        switch what {
        case .press(let press): press.action != .open && press.action != .dismiss
        case .tray(let action): action != .open && action != .check
        }
    }
}
