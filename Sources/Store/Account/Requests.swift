import Foundation
import GRDB
import Synchronization
package import TrackerCore
import Utilities

/// A request that is executed once, however often the client repeats it.
///
/// The first write of a store that runs it stores its key in the same transaction. So both are on disk or neither,
/// after a crash and with several processes.
package final class IdempotentRequest: Sendable {
    /// The maximum number of stored requests; the oldest are deleted.
    static let limit = 5000

    /// The client's key of the request, for example a UUID.
    package let key: String
    package let fingerprint: String
    let now: Instant
    private let stored = Mutex(false)

    /// - Parameter bytes: the whole request.
    package init(key: String, content bytes: some Sequence<UInt8>, at now: Instant) {
        self.key = key
        fingerprint = SHA256.hex(bytes)
        self.now = now
    }

    /// Thrown for a request that was executed before.
    package struct Repeated: Error, Hashable {}

    package internal(set) var isStored: Bool {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }

    func store(_ db: Database) throws {
        guard !isStored else { return }
        try db.run(
            "INSERT INTO request (key, fingerprint, at) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
            [key, fingerprint, now])
        guard db.changesCount == 1 else { throw Repeated() }
        try db.run("DELETE FROM request WHERE seq <= ?", [db.lastInsertedRowID - Int64(Self.limit)])
    }
}

extension TrackerStore {
    /// A copy whose next write executes this request, or throws `IdempotentRequest.Repeated`.
    package func executing(_ request: IdempotentRequest) -> TrackerStore {
        var store = self
        store.pendingRequest = request
        return store
    }

    package struct StoredRequest: Hashable, Sendable, Decodable, FetchableRecord {
        /// The fingerprint of the request. Another fingerprint with the same key is an error.
        package var fingerprint: String
        private var status: Int?
        private var body: Data?

        /// The response; `nil` if the process ended before it.
        package var response: Response? {
            guard let status, let body else { return nil }
            return Response(status: status, body: Array(body))
        }

        /// The response, for a client that repeats the request.
        package struct Response: Hashable, Sendable {
            package var status: Int
            package var body: [UInt8]

            package init(status: Int, body: [UInt8]) {
                self.status = status
                self.body = body
            }
        }
    }

    /// A stored request; `nil` if its key was never used.
    package func request(_ key: String) throws -> StoredRequest? {
        try first("SELECT fingerprint, status, body FROM request WHERE key = ?", [key])
    }

    /// Stores a request before an action outside the store, for example a command to the bottle.
    package func record(_ request: IdempotentRequest) throws { try executing(request).write { _ in } }

    /// Deletes a failed request, so that the client can retry it.
    package func delete(_ request: IdempotentRequest) throws {
        guard request.isStored else { return }
        try write { db in try db.run("DELETE FROM request WHERE key = ?", [request.key]) }
    }

    /// Stores the response to a request.
    /// - Parameter response: `nil` for a response with a secret, which is sent once.
    package func recordResponse(_ response: StoredRequest.Response?, to request: IdempotentRequest) throws {
        // Insert the row again if a purge has deleted it.
        try write { db in
            try db.run(
                """
                INSERT INTO request (key, fingerprint, at, status, body) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET status = excluded.status, body = excluded.body
                """,
                [request.key, request.fingerprint, request.now, response?.status, response.map { Data($0.body) }])
        }
    }
}
