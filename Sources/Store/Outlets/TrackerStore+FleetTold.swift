import GRDB
import TrackerCore

/// What a fleet was told, and is told again as it is now: behind a restore, and when it is switched on again.
extension TrackerStore {
    /// Whom the fleet's outlet tells from here on. What the same one was told before, it is told again as it is now; what another one was told is nobody's business any more.
    /// - Parameter peer: tells fleets apart.
    public func tellFleet(_ peer: String) throws {
        let isTold = { (db: Database) in
            let (isOpen, known) = try FleetTold.standing(db)
            return !isOpen || known == peer
        }
        guard try !read(isTold) else { return }
        try write { db in
            guard try !isTold(db) else { return }
            if try FleetTold.standing(db).peer != nil { try db.execute(sql: "DELETE FROM fleet_again") }
            try db.execute(sql: "UPDATE outlet SET peer = ? WHERE name = ?", arguments: [peer, Self.fleetOutlet])
            try db.execute(sql: "UPDATE fleet_told SET peer = ? WHERE peer = ''", arguments: [peer])
            try db.execute(sql: "DELETE FROM fleet_told WHERE peer <> ?", arguments: [peer])
            try FleetTold.tellAgain(FleetTold.thatAreThere, db)
        }
    }

    /// Everything that the fleet was told, it is told again as it is now.
    public func tellFleetAgain() throws {
        try write { db in
            guard try FleetTold.standing(db).isOpen else { return }
            try FleetTold.tellAgain(FleetTold.thatAreThere, db)
        }
    }
}
