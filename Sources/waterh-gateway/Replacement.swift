import Foundation
import Logging
import Store
import TrackerDesk

/// Sees when the store of a running service is taken away, and when another one lies in its place. Until then nothing
/// of it is shown, told or stored.
actor Replacement {
    /// A file as it stands: one that grows is not there yet.
    private struct Mark: Hashable {
        var file: FileIdentity
        var bytes: Int64
        var seconds: Int
        var nanoseconds: Int

        init?(_ path: String) {
            var status = stat()
            guard let file = FileIdentity(path), stat(path, &status) == 0 else { return nil }
            (self.file, bytes) = (file, Int64(status.st_size))
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }
    }

    private static let lookAgain = Duration.seconds(1)
    private let store: TrackerStore
    private let log: Logger
    private let isHere: @Sendable () -> Void
    private var isTold = false
    private var mark: Mark?
    /// What was found of the file of this mark.
    private var verdict: (of: Mark, isWhole: Bool)?

    /// - Parameter isHere: called, until this is cancelled, while another store lies in the place of this one.
    init(of store: TrackerStore, log: Logger, isHere: @escaping @Sendable () -> Void) {
        (self.store, self.log, self.isHere) = (store, log, isHere)
    }

    /// Goes on until its task is cancelled.
    func follow(_ watch: StoreWatch?) async {
        guard store.path != ":memory:" else { return }
        let (never, _) = AsyncStream<Void>.makeStream()
        await DayFollower(writes: watch?.writes ?? never, settling: [Self.lookAgain]) { await self.look() }.run()
    }

    private func look() -> Duration {
        guard !store.isInPlace else {
            if isTold { log.notice("The store's file is back: \(store.path).") }
            (isTold, mark, verdict) = (false, nil, nil)
            return DayFollower.longestPause
        }
        // At once, before anybody opens the other one beside a log that is not its own.
        store.settleLog()
        if !isTold {
            log.warning(
                """
                The store's file was taken away, or replaced: nothing is shown, told or stored until it is back, \
                or another whole store is there (\(store.path)).
                """
            )
            isTold = true
        }
        let now = Mark(store.path)
        defer { mark = now }
        guard let now, now == mark else { return Self.lookAgain }
        let isWhole = verdict.flatMap { $0.of == now ? $0.isWhole : nil } ?? store.hasSuccessor()
        verdict = (now, isWhole)
        if isWhole { isHere() }
        return Self.lookAgain
    }
}
