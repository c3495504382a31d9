import GRDB
import TrackerCore

/// What a fleet was told, and is told again as it is now: behind a restore, and when it is switched on again.
extension TrackerStore {
    /// Whom the fleet's outlet tells from here on. What the same one was told before, it is told again as it is now.
    /// What another one was told stays in the list, for the day on which that one is named again: an address may be a
    /// mistake of a minute.
    /// - Parameter peer: tells fleets apart, and people at one.
    public func tellFleet(_ peer: String) throws {
        guard try !read({ try FleetTold.isTold(peer, $0) }) else { return }
        try write { try FleetTold.tell(peer, $0) }
    }

    /// What waits up to here is on its way to the fleet. It counts as told from now on, whether an answer comes or not:
    /// it may get lost behind the fleet's commit.
    public func tellingFleet(through sequence: Int64) throws {
        guard try read({ try FleetTold.lacks(through: sequence, $0) }) else { return }
        try write { try FleetTold.note(through: sequence, $0) }
    }

    /// Everything that the fleet was told, it is told again as it is now.
    public func tellFleetAgain() throws {
        try write { db in
            guard try FleetTold.standing(db).isOpen else { return }
            try FleetTold.tellAgain(FleetTold.thatAreThere, db)
        }
    }
}
