import Foundation
import GRDB
import TrackerCore

/// Which process is telling a decision right now. Claim and delivery are one: whoever holds the claim delivers, and
/// nobody else may until it is given back or has lapsed, as it does when its holder was killed.
struct Claims {
    /// How long a claim holds: longer than the delivery of one banner may take, everywhere. Who has more to deliver
    /// makes it anew before each (`hold`).
    static let leaseSeconds: Double = 60

    let claimant: String
    let now: Instant

    /// Whether nobody else is telling it.
    func isFree(_ id: String, _ db: Database) throws -> Bool {
        let row = try Row.fetchOne(db, sql: "SELECT claimant, claimedAt FROM claim WHERE id = ?", arguments: [id])
        guard let row else { return true }
        return isFree(row)
    }

    private func isFree(_ row: Row) -> Bool {
        guard (try? row.checked("claimant", String.self)) != claimant, let claimedAt = try? row.instant("claimedAt")
        else { return true }
        // The other's clock may be ahead of ours, and far off after a wrong clock: only near is live.
        return claimedAt.seconds(to: now).magnitude >= Self.leaseSeconds
    }

    /// Takes the decision for this process; `false` while another has it.
    /// - Parameter decision: what is told, where it has to come to an end whatever happens to its teller.
    func take(_ id: String, _ db: Database, telling decision: TrackerNotification? = nil) throws -> Bool {
        guard try isFree(id, db) else { return false }
        let text = try decision.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        try db.execute(
            sql: "INSERT OR REPLACE INTO claim (id, claimant, claimedAt, decision, place) VALUES (?, ?, ?, ?, ?)",
            arguments: [id, claimant, now.milliseconds, text, decision?.place])
        return true
    }

    /// Holds it for another while.
    /// - Returns: as `giveBack`: what lapsed and went to another is not ours any more.
    func hold(_ id: String, at now: Instant, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "UPDATE claim SET claimedAt = ? WHERE id = ? AND claimant = ?",
            arguments: [now.milliseconds, id, claimant])
        return db.changesCount == 1
    }

    /// Gives it back.
    /// - Returns: whether it still was this process's own; if not, another one has told it meanwhile.
    func giveBack(_ id: String, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM claim WHERE id = ? AND claimant = ?", arguments: [id, claimant])
        return db.changesCount == 1
    }

    /// What somebody has begun to tell and not ended.
    enum Begun {
        case nothing
        /// Somebody is at it.
        case underWay
        /// Its teller died: in the order in which it would have been told.
        case left([TrackerNotification])
    }

    func begun(_ db: Database) throws -> Begun {
        // As a rule there is nothing: this is asked at each evaluation.
        let isAny = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM claim WHERE decision IS NOT NULL)")
        guard try Bool.fetchOne(isAny) == true else { return .nothing }
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM claim WHERE decision IS NOT NULL ORDER BY place, id")
        guard rows.allSatisfy(isFree) else { return .underWay }
        let left = rows.compactMap { row in
            (try? row.checked("decision", String.self)).flatMap {
                try? JSONDecoder().decode(TrackerNotification.self, from: Data($0.utf8))
            }
        }
        // Of a later program, or damaged: nobody can tell it, and it holds nobody up.
        guard !left.isEmpty else { return .nothing }
        return .left(left)
    }
}
