/// Zones by their names, each looked up once; unknown ones are UTC.
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
