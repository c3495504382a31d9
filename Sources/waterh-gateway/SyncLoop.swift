import CommandKit
import Foundation
import Logging
import Store
import Sync
import TrackerCore

/// Tells `sync.url` what changed and takes in what other devices wrote, beside the polls: neither waits for the other.
struct SyncLoop: Sendable {
    let store: TrackerStore
    let log: Logger
    /// The moment and the zone of a write, read anew each time.
    let context: @Sendable () async -> WriteContext

    /// How often it looks whether there is anything to tell, and how often it asks when there is not.
    private static let tick = Duration.seconds(20)
    private static let askEvery = Duration.seconds(300)

    /// Goes on until it is cancelled. Trouble is told once, until it changes.
    func run() async {
        var lastTrouble: String?
        var lastPass: ContinuousClock.Instant?
        while !Task.isCancelled {
            let isDue = lastPass.map { ContinuousClock.now - $0 >= Self.askEvery } ?? true
            let trouble = await pass(isDue: isDue, &lastPass)
            if trouble != lastTrouble {
                if let trouble { log.warning("Sync: \(trouble)") } else { log.notice("Sync goes on.") }
                lastTrouble = trouble
            }
            guard (try? await Task.sleep(for: Self.tick)) != nil else { return }
        }
    }

    /// One pass, where there is a server and anything to say or to ask.
    private func pass(isDue: Bool, _ lastPass: inout ContinuousClock.Instant?) async -> String? {
        do {
            guard let client = try SyncClient.named(by: store.settings()) else { return nil }
            let context = await context()
            let (_, before) = try store.syncReport()
            guard try isDue || store.outbox().next(at: context.now) != nil else { return before.trouble }
            lastPass = .now
            let pass = try await client.pass(store, now: { Host.now() }, zone: context.zone)
            if pass.merged.taken > 0 { for trouble in store.afterCommit(context) { log.warning("\(trouble)") } }
            if pass.merged.refused > before.refused {
                log.warning("\(pass.merged.refused) rows of the sync server cannot be taken: waterh-tracker check --doctor says why.")
            }
            return pass.trouble
        } catch let error as SyncTrouble {
            try? store.finishSyncPass(MergeOutcome(), trouble: error.description, at: Host.now())
            return error.description
        } catch {
            return "\(error)"
        }
    }
}
