import Store
import TrackerCore

/// One entry of a session.
package struct LogReport: Hashable, Sendable, Encodable {
    /// The entry.
    package let log: LogEntry

    /// Name of the preset that it was logged with.
    package let presetName: String?

    package init(_ log: LogEntry, _ view: SessionView) {
        self.log = log
        presetName = log.presetID.flatMap { view.presetNames[$0] }
    }

    enum CodingKeys: String, CodingKey {
        case name, id, at, type, drinkType, standardDrinkEstimate, amountOz, presetId, presetName, source
    }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(log.shortName, forKey: .name)
        try keys.encode(log.id, forKey: .id)
        try keys.encode(log.timestamp.description, forKey: .at)
        try keys.encode(log.kind.rawValue, forKey: .type)
        try keys.encode(log.drinkType?.rawValue, forKey: .drinkType)
        try keys.encode(log.standardDrinkEstimate, forKey: .standardDrinkEstimate)
        try keys.encode(log.amountOz, forKey: .amountOz)
        try keys.encode(log.presetID, forKey: .presetId)
        try keys.encode(presetName, forKey: .presetName)
        try keys.encode(log.source.rawValue, forKey: .source)
    }
}

extension LogEntry {
    /// What a person types to name it: `w7` for entered ones, the id for waters derived from sips.
    package var shortName: String { source == .bottle ? id : "w\(seq)" }
}
