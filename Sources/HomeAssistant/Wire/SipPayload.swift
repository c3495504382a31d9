import Store
import TrackerCore

/// What is said at `<p>/sip`, once or more for each drink and for each change of one. The id tells repetitions.
struct SipPayload: Encodable {
    /// A drink that is told later than this after it was drunk is `historical`: nobody should act as if it were now.
    /// Polls of a day are not so far apart.
    static let lateSeconds: Double = 900

    var change: DrinkChange
    var isHistorical: Bool
    /// Without it a session's water is a water like another: that there is a session is nobody's business.
    var seesWaterline: Bool

    /// - Parameter now: when it is told.
    init(_ change: DrinkChange, now: Instant, seesWaterline: Bool = true) {
        self.change = change
        self.seesWaterline = seesWaterline
        isHistorical = change.drink.map { $0.at.seconds(to: now) > Self.lateSeconds } ?? true
    }

    enum Event: String, CaseIterable {
        case sip
        case historical
        /// It does not count any more.
        case deleted
    }

    var event: Event {
        guard let drink = change.drink, !drink.isDeleted else { return .deleted }
        return isHistorical ? .historical : .sip
    }

    private var isVeiled: Bool {
        !seesWaterline && (change.drink?.source == .session || change.key.hasPrefix(Drink.sessionKeys))
    }

    private enum CodingKeys: String, CodingKey {
        case id, eventType = "event_type", at, timestamp, zone, day, ml, source, historical, deleted, sequence
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        // The same whether sessions are shared or not: who was told of it under one of them must find it again under
        // the other.
        try container.encode(Drink.veiled(change.key), forKey: .id)
        try container.encode(event.rawValue, forKey: .eventType)
        try container.encode(change.drink?.at.description, forKey: .at)
        try container.encode(change.drink?.at.wholeSeconds, forKey: .timestamp)
        try container.encode(change.drink?.zone, forKey: .zone)
        try container.encode(change.drink?.localDay.description, forKey: .day)
        try container.encode(change.drink?.ml, forKey: .ml)
        try container.encode(isVeiled ? DrinkSource.cli.rawValue : change.drink?.source.rawValue, forKey: .source)
        try container.encode(isHistorical, forKey: .historical)
        try container.encode(event == .deleted, forKey: .deleted)
        try container.encode(change.sequence, forKey: .sequence)
    }
}
