import CommandStore
import Store
import TrackerCore
import TrackerDesk

extension Resident {
    /// Keeps the day's icon in step: whenever something was written, and when the mere passing of time changes the day.
    /// Until its task is cancelled.
    /// - Parameter show: takes what the icon shows; `nil`: none is wanted.
    static func followTray(
        _ watch: StoreWatch, _ desk: @escaping @Sendable () async -> TrackerDesk,
        show: @escaping @Sendable (TrayFace?) async -> Void
    ) async {
        await DayFollower(writes: watch.writes, sleep: { try? await Task.sleep(for: $0 / Machine.speed) }) {
            guard let (face, lasts) = try? await desk().tray() else { return DayFollower.longestPause }
            await show(face)
            return lasts
        }.run()
        // It speaks for as long as it is held.
        withExtendedLifetime(watch) {}
    }
}
