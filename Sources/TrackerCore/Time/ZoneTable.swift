/// A cache of time zones by id; unknown ids are UTC.
struct ZoneTable: Sendable {
    private var zones: [String: Zone] = [:]

    subscript(id: String) -> Zone {
        mutating get {
            if let zone = zones[id] { return zone }
            let zone = (try? Zone(id)) ?? .utc
            zones[id] = zone
            return zone
        }
    }
}
