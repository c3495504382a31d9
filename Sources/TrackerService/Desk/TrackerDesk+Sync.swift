import Store
import TrackerCore

extension TrackerDesk {
    /// One exchange with the sync server, where the settings name one: sends what waits, and takes in what other
    /// devices wrote.
    /// - Returns: what it did, also where it did not work; `nil` where there is no server.
    package func synchronise() async throws -> SyncClient.Pass? {
        let now = now
        var pass = SyncClient.Pass()
        do {
            guard let client = try SyncClient.named(by: store.settings()) else { return nil }
            pass = try await client.pass(store, now: { now }, zone: zone)
        } catch let trouble as SyncTrouble {
            try store.finishSyncPass(MergeOutcome(), trouble: trouble.sentence, at: now)
            pass.trouble = trouble.sentence
        }
        afterCommit()
        return pass
    }
}
