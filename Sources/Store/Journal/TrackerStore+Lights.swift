import GRDB
import TrackerCore

/// What bottles' lights show.
extension TrackerStore {
    /// What the light of this bottle was last told; `off` where nobody told it anything, or nobody goes by that name.
    package func light(ofBottle bottle: String) throws -> BottleLight {
        try read { db in
            let id = try BottleTable.known(bottle, db)
            return try String.fetchOne(db, sql: "SELECT light FROM bottle WHERE id = ?", arguments: [id]).flatMap(
                BottleLight.init) ?? .off
        }
    }

    /// The bottle was told so.
    package func noteLight(_ light: BottleLight, ofBottle bottle: String) throws {
        try write { db in
            guard let id = try BottleTable.known(bottle, db) else { return }
            try db.execute(sql: "UPDATE bottle SET light = ? WHERE id = ?", arguments: [light.rawValue, id])
        }
    }
}
