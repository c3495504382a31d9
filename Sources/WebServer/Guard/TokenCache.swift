import Store
import Synchronization
import TrackerService

extension WebApp {
    /// The caller with this token; `nil` for an unknown, revoked or expired one.
    func caller(with token: String) throws -> Caller? {
        if let caller = tokenCache.caller(token) { return caller }
        let tracker = try tracker()
        let version = try tracker.store.dataVersion()
        guard let record = try tracker.authenticate(token) else { return nil }
        let caller = Caller(scope: Scope(rawValue: record.scope), token: .init(text: token, id: record.id))
        tokenCache.add(caller, token, tracker.store, version)
        return caller
    }
}

/// The tokens that were authenticated in the last second. An entry ends with any write to the store, so a revocation
/// applies at once.
final class TokenCache: Sendable {
    private struct Entry {
        let caller: Caller, store: TrackerStore, version: TrackerStore.DataVersion
        let expiry: ContinuousClock.Instant
    }

    private static let limit = 256
    private let entries = Mutex<[String: Entry]>([:])

    func caller(_ token: String) -> Caller? {
        guard let entry = entries.withLock({ $0[token] }), .now < entry.expiry,
            (try? entry.store.dataVersion()) == entry.version
        else { return nil }
        return entry.caller
    }

    func add(_ caller: Caller, _ token: String, _ store: TrackerStore, _ version: TrackerStore.DataVersion) {
        let entry = Entry(caller: caller, store: store, version: version, expiry: .now + .seconds(1))
        entries.withLock { entries in
            entries = entries.filter { .now < $0.value.expiry }
            if entries.count >= Self.limit { entries = [:] }
            entries[token] = entry
        }
    }
}
