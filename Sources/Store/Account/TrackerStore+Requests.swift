import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// The same store, whose first write is made for this errand, and only if it was not made before.
    public func running(_ errand: Errand) -> TrackerStore {
        var store = self
        store.errand = errand
        return store
    }

    /// What is known of something that was asked before.
    public struct KnownRequest: Hashable, Sendable {
        public var fingerprint: String
        /// What was answered; `nil` where it was done and the answer is not known any more.
        public var answer: Answer?

        public struct Answer: Hashable, Sendable {
            /// As HTTP counts them.
            public var status: Int
            public var body: [UInt8]

            public init(status: Int, body: [UInt8]) {
                self.status = status
                self.body = body
            }
        }
    }

    /// `nil`: this key was never used.
    public func request(_ key: String) throws -> KnownRequest? {
        try read { db in
            try Row.fetchOne(db, sql: "SELECT fingerprint, status, body FROM request WHERE key = ?", arguments: [key]).map { row in
                let body: Data? = try row.checked("body")
                let status: Int? = try row.checked("status")
                return KnownRequest(
                    fingerprint: try row.checked("fingerprint"),
                    answer: status.flatMap { status in body.map { KnownRequest.Answer(status: status, body: Array($0)) } })
            }
        }
    }

    /// Keeps what was answered to an errand that wrote something; the next who asks the same gets the same.
    public func keep(_ answer: KnownRequest.Answer, to errand: Errand) throws {
        guard errand.isNoted else { return }
        try write { db in
            try db.execute(
                sql: "UPDATE request SET status = ?, body = ? WHERE key = ?",
                arguments: [answer.status, Data(answer.body), errand.key])
        }
    }

    /// Changes whenever anything is written to the store, by this process or by another.
    public func changeMark() throws -> ChangeMark {
        try read { db in
            ChangeMark(ours: db.totalChangesCount, others: try Int.fetchOne(try db.cachedStatement(sql: "PRAGMA data_version")) ?? 0)
        }
    }

    public struct ChangeMark: Hashable, Sendable {
        var ours: Int
        var others: Int
    }
}
