import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// The same store, whose first write is made for this errand, and only if it was not made before.
    package func running(_ errand: Errand) -> TrackerStore {
        var store = self
        store.errand = errand
        return store
    }

    /// What is known of something that was asked before.
    package struct KnownRequest: Hashable, Sendable {
        /// What was asked then: another request under the same key is refused.
        package var fingerprint: String
        /// What was answered; `nil` where it was done and the answer is not known any more.
        package var answer: Answer?

        /// What a request was answered with, for whoever sends it again.
        package struct Answer: Hashable, Sendable {
            /// As HTTP counts them.
            package var status: Int
            /// The body that was answered.
            package var body: [UInt8]

            package init(status: Int, body: [UInt8]) {
                self.status = status
                self.body = body
            }
        }
    }

    /// `nil`: this key was never used.
    package func request(_ key: String) throws -> KnownRequest? {
        try read { db in
            try Row.fetchOne(db, sql: "SELECT fingerprint, status, body FROM request WHERE key = ?", arguments: [key])
                .map { row in
                    let body: Data? = try row.checked("body")
                    let status: Int? = try row.checked("status")
                    return KnownRequest(
                        fingerprint: try row.checked("fingerprint"),
                        answer: status.flatMap { status in
                            body.map { KnownRequest.Answer(status: status, body: Array($0)) }
                        })
                }
        }
    }

    /// Notes an errand before it is done, where what it does is no write to the store: sending a command to a bottle,
    /// for example.
    package func begin(_ errand: Errand) throws { try running(errand).write { _ in } }

    /// Forgets an errand that was begun and failed: the same may be tried again.
    package func forget(_ errand: Errand) throws {
        guard errand.isNoted else { return }
        try write { db in try db.execute(sql: "DELETE FROM request WHERE key = ?", arguments: [errand.key]) }
    }

    /// Keeps what was answered to an errand that is done; the next who asks the same gets the same.
    /// - Parameter answer: `nil` for an answer with a secret in it, which is given once.
    package func keep(_ answer: KnownRequest.Answer?, to errand: Errand) throws {
        // Also where what was done has removed the note itself, as a purge does.
        try write { db in
            try db.execute(
                sql: """
                    INSERT INTO request (key, fingerprint, at, status, body) VALUES (?, ?, ?, ?, ?)
                    ON CONFLICT (key) DO UPDATE SET status = excluded.status, body = excluded.body
                    """,
                arguments: [
                    errand.key, errand.fingerprint, errand.now.milliseconds, answer?.status,
                    answer.map { Data($0.body) },
                ])
        }
    }

    /// Changes whenever anything is written to the store, by this process or by another.
    package func changeMark() throws -> ChangeMark {
        try read { db in
            ChangeMark(
                ours: db.totalChangesCount,
                others: try Int.fetchOne(try db.cachedStatement(sql: "PRAGMA data_version")) ?? 0)
        }
    }

    /// Changes when somebody wrote: two marks that are the same mean that nothing was written between them.
    package struct ChangeMark: Hashable, Sendable {
        var ours: Int
        /// Moves when another connection wrote.
        package var others: Int
    }
}
