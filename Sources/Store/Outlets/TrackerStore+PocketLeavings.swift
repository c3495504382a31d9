import GRDB
import TrackerCore

extension TrackerStore {
    /// What may be shown on phones and nobody owns any more.
    public func pocketLeavings() throws -> [PocketLeaving] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM pocket_leaving ORDER BY address, place").map {
                PocketLeaving(
                    address: try $0.checked("address"), place: try $0.checked("place"),
                    token: try $0.checked("token", String?.self), tried: try $0.checked("tried"))
            }
        }
    }

    /// It was tried to take it back, for so long more.
    public func noteTried(_ leaving: PocketLeaving, seconds: Int) throws {
        try write { db in
            try db.execute(
                sql: "UPDATE pocket_leaving SET tried = tried + ? WHERE address = ? AND place = ?",
                arguments: [seconds, leaving.address, leaving.place])
        }
    }

    /// It is taken back, or given up.
    public func forget(_ leaving: PocketLeaving) throws {
        try write { db in
            try db.execute(
                sql: "DELETE FROM pocket_leaving WHERE address = ? AND place = ?",
                arguments: [leaving.address, leaving.place])
        }
    }

    /// Whether something of this store's is shown at that topic as that.
    public func isShown(at address: String, as place: String) throws -> Bool {
        try read { db in
            try Bool.fetchOne(
                db,
                sql:
                    """
                    SELECT EXISTS (SELECT 1 FROM pocket_message JOIN pocket_address USING (seq) WHERE outlet = \
                    'ntfy' AND isShown AND sentTo = ? AND remote = ?)
                    """,
                arguments: [address, place]) ?? false
        }
    }

    /// What is shown is left where it is, with what lets us in there where the settings say that. What nobody noted the
    /// place of cannot be found again.
    static func leavePosts(_ db: Database) throws {
        let settings = try SettingTable.settings(db).service.ntfy
        try db.execute(
            sql: """
                INSERT INTO pocket_leaving (address, place, token) SELECT DISTINCT sentTo, remote, iif(sentTo = ?, ?, \
                NULL) FROM pocket_message JOIN pocket_address USING (seq)
                WHERE outlet = 'ntfy' AND isShown AND \(ownPlace) ON CONFLICT DO NOTHING
                """, arguments: [settings.url, settings.token])
    }

    /// Whether what the other end calls it is a name of ours, by the catalogue's id, and not a number of its own.
    static let ownPlace = "coalesce(substr(remote, -length(pocket_message.place)) = pocket_message.place, 0)"
}
