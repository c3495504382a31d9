import Store
package import TrackerCore

/// A bottle that a service without an adopted bottle has found by a scan.
package struct BottleInRange: Hashable, Sendable, Codable {
    /// The Bluetooth address, by which the user adopts the bottle.
    package var address: String
    package var name: String?
    /// Signal strength of the last advertisement in dBm.
    package var rssi: Int?
    /// The time of the first advertisement, in seconds since 1970.
    package var since: Int64?

    package init(address: String, name: String?, rssi: Int?, since: Int64? = nil) {
        (self.address, self.name, self.rssi, self.since) = (address, name, rssi, since)
    }

    /// The bottle as text: `WaterH-Boost-24oz A4:C1:38:01:02:03, -61 dBm`.
    package var text: String {
        [name, address].compactMap(\.self).joined(separator: " ") + (rssi.map { ", \($0) dBm" } ?? "")
    }
}

/// The log of a bottle, read without storing or acknowledging records.
package struct BottleContents: Hashable, Sendable, Codable {
    package struct Record: Hashable, Sendable, Codable {
        /// The date and time of the record, `yyyy-MM-ddTHH:mm:ss`; `nil` for a record without a date.
        package var wall: String?
        package var ml: Int

        package init(wall: String?, ml: Int) { (self.wall, self.ml) = (wall, ml) }
    }

    package var address: String
    /// The advertised name.
    package var name: String?
    package var records: Int
    /// The newest record; `nil` for an empty log.
    package var newest: Record?

    package init(address: String, name: String?, records: Int, newest: Record?) {
        (self.address, self.name, self.records, self.newest) = (address, name, records, newest)
    }
}

/// The user's choices at the adoption of a bottle.
package struct AdoptionChoice: Hashable, Sendable {
    /// The mode; `nil` keeps the setting.
    package var mode: BottleMode?
    /// Whether the user confirmed that the host's clock is correct.
    package var trustsClock: Bool

    package init(mode: BottleMode? = nil, trustsClock: Bool = false) {
        (self.mode, self.trustsClock) = (mode, trustsClock)
    }

    var changes: [(name: String, text: String)] {
        (mode.map { [("bottle.mode", $0.rawValue)] } ?? []) + (trustsClock ? [("bottle.trustClock", "true")] : [])
    }
}

extension TrackerAPI {
    /// Adopts a bottle and stores the user's choices: of the first bottle as settings of the store, else as its own.
    /// - Returns: whether the bottle is new.
    @discardableResult
    package func adopt(_ identity: String, as other: String? = nil, _ choice: AdoptionChoice = AdoptionChoice()) throws
        -> Bool
    {
        let isFirst = try adoptedBottles().isEmpty
        let isNew = try adoptBottle(identity, as: other)
        guard !choice.changes.isEmpty else { return isNew }
        if isFirst {
            try choose(choice)
        } else {
            _ = try set(choice.changes.map { ($0.name, Optional($0.text)) }, ofBottle: identity)
        }
        return isNew
    }

    /// Stores the user's choices as settings of the store.
    package func choose(_ choice: AdoptionChoice) throws {
        if !choice.changes.isEmpty { _ = try set(choice.changes) }
    }

    /// The bottles in range that the user has not hidden, strongest signal first.
    package func inRange(_ found: [BottleInRange]) throws -> [BottleInRange] {
        let notes = try store.inRangeBottles()
        return found.filter { !notes.hidden.contains($0.address) }.map { bottle in
            var bottle = bottle
            bottle.since = notes.since[bottle.address]?.wholeSeconds
            return bottle
        }.sorted { ($0.rssi ?? .min, $1.address) > ($1.rssi ?? .min, $0.address) }
    }
}
