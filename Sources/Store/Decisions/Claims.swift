import Foundation
import GRDB
package import TrackerCore

/// A delivery of notifications: the decisions that one process has claimed.
package struct Delivery: Sendable {
    /// The evaluation with the claimed decisions only.
    package let evaluation: Evaluation
    let claims: Claims
    /// Whether the process that began this delivery has ended. Complete it with the same texts before new decisions.
    package let isAbandoned: Bool
    /// The notifications to show, the most important first.
    package var groups: [Group]

    init(_ evaluation: Evaluation, _ claims: Claims, isAbandoned: Bool = false) {
        (self.evaluation, self.claims, self.isAbandoned) = (evaluation, claims, isAbandoned)
        groups = Self.groups(evaluation.decisions)
    }

    /// Decisions with the same text, which are shown as one notification.
    package struct Group: Sendable {
        /// The most urgent decision.
        package fileprivate(set) var shown: TrackerNotification
        package fileprivate(set) var decisions: [TrackerNotification]
        /// The names of the channels that accepted the notification.
        package var acceptedBy: [String] = []
    }

    static func groups(_ decisions: [TrackerNotification]) -> [Group] {
        var groups: [Group] = []
        for decision in decisions {
            if let same = groups.firstIndex(where: {
                $0.shown.title == decision.title && $0.shown.body == decision.body
            }) {
                groups[same].decisions.append(decision)
                if decision.urgency.rawValue > groups[same].shown.urgency.rawValue { groups[same].shown = decision }
            } else {
                groups.append(Group(shown: decision, decisions: [decision]))
            }
        }
        return groups
    }
}

/// Claims of notifications by processes. Only the owner of a claim delivers, until its release or expiry.
struct Claims {
    /// The lifetime of a claim: longer than any single delivery. `renew` extends it.
    static let leaseSeconds: Double = 60

    let claimant: String
    let now: Instant

    func isFree(_ id: String, _ db: Database) throws -> Bool {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT claimant, claimedAt FROM claim WHERE id = ?"), arguments: [id])
        return try row.map(isFree) ?? true
    }

    private func isFree(_ row: Row) throws -> Bool {
        guard try row.decode(String.self, forColumn: "claimant") != claimant else { return true }
        // The other process's clock might be wrong: only a recent time counts.
        return try row.decode(Instant.self, forColumn: "claimedAt").seconds(to: now).magnitude >= Self.leaseSeconds
    }

    /// Claims a notification, so that no other process delivers it.
    /// - Parameter decision: the notification, if another process must complete its delivery after a crash.
    /// - Returns: `false` if another process has claimed it.
    func acquire(_ id: String, _ db: Database, delivery decision: TrackerNotification? = nil) throws -> Bool {
        guard try isFree(id, db) else { return false }
        try db.run(
            "INSERT OR REPLACE INTO claim (id, claimant, claimedAt, decision, position) VALUES (?, ?, ?, ?, ?)",
            [id, claimant, now, try decision?.json, decision?.position])
        return true
    }

    /// Extends the claim.
    /// - Returns: `false` if the claim expired and another process has claimed the notification.
    func renew(_ id: String, at now: Instant, _ db: Database) throws -> Bool {
        try db.run("UPDATE claim SET claimedAt = ? WHERE id = ? AND claimant = ?", [now, id, claimant])
        return db.changesCount == 1
    }

    /// Releases the claim.
    /// - Returns: `false` if the claim expired and another process has claimed the notification.
    func release(_ id: String, _ db: Database) throws -> Bool {
        try db.run("DELETE FROM claim WHERE id = ? AND claimant = ?", [id, claimant])
        return db.changesCount == 1
    }

    enum UnfinishedDelivery {
        case nothing
        case inProgress
        /// The decisions of a process that has ended, in the order of delivery.
        case abandoned([TrackerNotification])
    }

    func unfinished(_ db: Database) throws -> UnfinishedDelivery {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT * FROM claim WHERE decision IS NOT NULL ORDER BY position, id"))
        guard try rows.allSatisfy(isFree) else { return .inProgress }
        let abandoned = try rows.compactMap { TrackerNotification(json: try $0.decode(forColumn: "decision")) }
        return abandoned.isEmpty ? .nothing : .abandoned(abandoned)
    }
}
