import GRDB
import TrackerCore

/// Which process is telling a decision right now. Claim and delivery are one: whoever holds the claim delivers, and nobody
/// else may until it is given back or has lapsed, as it does when its holder was killed.
struct Claims {
    /// How long a claim holds: longer than the delivery of one banner may take, everywhere. Who has more to deliver makes it anew before each (`hold`).
    static let leaseSeconds: Double = 60

    let claimant: String
    let now: Instant

    /// Whether nobody else is telling it.
    func isFree(_ id: String, _ db: Database) throws -> Bool {
        let row = try Row.fetchOne(db, sql: "SELECT claimant, claimedAt FROM claim WHERE id = ?", arguments: [id])
        guard let row, (try? row.checked("claimant", String.self)) != claimant, let claimedAt = try? row.instant("claimedAt") else { return true }
        // The other's clock may be ahead of ours, and far off after a wrong clock: only near is live.
        return claimedAt.seconds(to: now).magnitude >= Self.leaseSeconds
    }

    /// Takes the decision for this process; `false` while another has it.
    func take(_ id: String, _ db: Database) throws -> Bool {
        guard try isFree(id, db) else { return false }
        try db.execute(
            sql: "INSERT OR REPLACE INTO claim (id, claimant, claimedAt) VALUES (?, ?, ?)",
            arguments: [id, claimant, now.milliseconds])
        return true
    }

    /// Holds it for another while.
    /// - Returns: as `giveBack`: what lapsed and went to another is not ours any more.
    func hold(_ id: String, at now: Instant, _ db: Database) throws -> Bool {
        try db.execute(sql: "UPDATE claim SET claimedAt = ? WHERE id = ? AND claimant = ?", arguments: [now.milliseconds, id, claimant])
        return db.changesCount == 1
    }

    /// Gives it back.
    /// - Returns: whether it still was this process's own; if not, another one has told it meanwhile.
    func giveBack(_ id: String, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM claim WHERE id = ? AND claimant = ?", arguments: [id, claimant])
        return db.changesCount == 1
    }
}
