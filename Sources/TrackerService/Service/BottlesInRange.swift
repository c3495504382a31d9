import Store
import TrackerCore

/// A bottle in range of a service that has none of its own.
package struct BottleInRange: Hashable, Sendable, Codable {
    /// The Bluetooth address, by which the bottle is adopted.
    package var address: String
    /// The advertised name.
    package var name: String?
    /// Signal strength of the last advertisement, dBm.
    package var rssi: Int?
    /// When it was first in range, seconds since 1970.
    package var since: Int64?

    package init(address: String, name: String?, rssi: Int?, since: Int64? = nil) {
        (self.address, self.name, self.rssi, self.since) = (address, name, rssi, since)
    }

    /// For people: `WaterH-Boost-24oz A4:C1:38:01:02:03, -61 dBm`.
    package var text: String {
        [name, address].compactMap(\.self).joined(separator: " ") + (rssi.map { ", \($0) dBm" } ?? "")
    }
}

/// The log of a bottle that was read without storing or acknowledging anything.
package struct BottleContents: Hashable, Sendable, Codable {
    /// A record of the log.
    package struct Record: Hashable, Sendable, Codable {
        /// The date and time that the bottle wrote, `yyyy-MM-ddTHH:mm:ss`; `nil` for a record without a date.
        package var wall: String?
        /// Amount, ml.
        package var ml: Int

        package init(wall: String?, ml: Int) { (self.wall, self.ml) = (wall, ml) }
    }

    /// The bottle's address.
    package var address: String
    /// The name that the bottle has on the air.
    package var name: String?
    /// Number of records in the log.
    package var records: Int
    /// The newest record; `nil` for an empty log.
    package var newest: Record?

    package init(address: String, name: String?, records: Int, newest: Record?) {
        (self.address, self.name, self.records, self.newest) = (address, name, records, newest)
    }
}

/// What a user decides when they adopt a bottle.
package struct AdoptionChoice: Hashable, Sendable {
    /// `nil` keeps the setting.
    package var mode: BottleMode?
    /// The user confirmed that this computer's clock is right.
    package var trustsClock: Bool

    package init(mode: BottleMode? = nil, trustsClock: Bool = false) {
        (self.mode, self.trustsClock) = (mode, trustsClock)
    }

    var changes: [(name: String, text: String)] {
        (mode.map { [("bottle.mode", $0.rawValue)] } ?? []) + (trustsClock ? [("bottle.trustClock", "true")] : [])
    }
}

extension TrackerDesk {
    /// Adopts a bottle, and sets what the user chose: for the store's first bottle in the store's settings, for a
    /// later one in its own.
    /// - Returns: whether the bottle is new here.
    @discardableResult
    package func adopt(_ identity: String, as other: String? = nil, _ choice: AdoptionChoice = AdoptionChoice()) throws
        -> Bool
    {
        let isFirst = try ownBottles().isEmpty
        let isNew = try adoptBottle(identity, as: other)
        guard !choice.changes.isEmpty else { return isNew }
        if isFirst {
            try choose(choice)
        } else {
            _ = try set(choice.changes.map { ($0.name, Optional($0.text)) }, ofBottle: identity)
        }
        return isNew
    }

    /// Sets what the user chose for the bottles of this store.
    package func choose(_ choice: AdoptionChoice) throws {
        if !choice.changes.isEmpty { _ = try set(choice.changes) }
    }

    /// The bottles in range that the user has not hidden, strongest signal first.
    package func inRange(_ found: [BottleInRange]) throws -> [BottleInRange] {
        let notes = try store.inRangeNotes()
        return found.filter { !notes.hidden.contains($0.address) }.map { bottle in
            var bottle = bottle
            bottle.since = notes.since[bottle.address]?.wholeSeconds
            return bottle
        }.sorted { ($0.rssi ?? .min, $1.address) > ($1.rssi ?? .min, $0.address) }
    }
}
