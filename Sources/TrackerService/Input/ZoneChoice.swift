import TrackerCore

/// Which zone days are counted in: the one that is named, else what the setting `day.zone` says, else the machine's.
package struct ZoneChoice: Hashable, Sendable {
    /// By a flag, the environment or the configuration.
    package let named: Zone?
    /// The machine's zone.
    package let machine: Zone

    /// - Throws: `UnknownZone`.
    package init(named: String?, machine: Zone) throws(UnknownZone) {
        if let named { self.named = try Zone(named) } else { self.named = nil }
        self.machine = machine
    }

    /// The zone that stands for "system" in the store's settings.
    package var host: Zone { named ?? machine }

    /// The zone in which a day is a day: the one named, that of the settings where it is known here, or the machine's.
    package func inForce(_ settings: Settings) -> Zone {
        named ?? settings.dayZone.flatMap { try? Zone($0) } ?? machine
    }
}
