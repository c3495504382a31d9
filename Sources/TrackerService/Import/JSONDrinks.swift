import Foundation
import TrackerCore

/// The drinks of a JSON file: a list, or an object with the list `drinks`.
struct JSONDrinks: Decodable {
    private enum Key: CodingKey { case drinks }

    private(set) var entries: [HealthEntry] = []

    /// Reads a JSON file, and passes each drink to `deliver`.
    /// - Throws: `HealthFileError`, with the number of an invalid entry.
    static func read(_ json: [UInt8], _ deliver: (HealthSample) throws -> Void) throws {
        let list: JSONDrinks
        do {
            list = try JSONDecoder().decode(JSONDrinks.self, from: Data(json))
        } catch DecodingError.dataCorrupted {
            throw HealthFileError(reason: "The JSON is incomplete or not valid. Is the file truncated?")
        } catch is DecodingError {
            throw HealthFileError(reason: "The JSON must be a list of drinks with startDate and value_ml.")
        }
        var fields = SampleFields()
        for (index, entry) in list.entries.enumerated() {
            do {
                try deliver(try entry.sample(&fields))
            } catch let error as HealthFileError {
                throw HealthFileError(reason: "Entry \(index + 1) of the list: \(error.reason)")
            }
        }
    }

    init(from decoder: any Decoder) throws {
        var list =
            if let object = try? decoder.container(keyedBy: Key.self) {
                try object.nestedUnkeyedContainer(forKey: .drinks)
            } else {
                try decoder.unkeyedContainer()
            }
        while !list.isAtEnd {
            do { entries.append(try list.decode(HealthEntry.self)) } catch is DecodingError {
                throw HealthFileError(reason: "Entry \(entries.count + 1) of the list is not an object.")
            }
        }
    }
}

/// An entry of the list, before validation.
struct HealthEntry: Decodable {
    private enum Key: String, CodingKey, CaseIterable {
        case startDate, value = "value_ml", uuid, source, zone, day, drinkSource, original, bottle, raw
    }

    private var texts: [Key: String] = [:]
    private var value: Double?
    /// The first key whose value has an unexpected type.
    private var wrongKey: Key?

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        for key in Key.allCases {
            do {
                if key == .value {
                    value = try object.decodeIfPresent(Double.self, forKey: key)
                } else {
                    texts[key] = try object.decodeIfPresent(String.self, forKey: key)
                }
            } catch { wrongKey = key }
        }
    }

    func sample(_ fields: inout SampleFields) throws(HealthFileError) -> HealthSample {
        func name(_ key: Key) throws(HealthFileError) -> String? {
            guard let text = texts[key] else { return nil }
            return try SampleFields.name(text, key.rawValue)
        }
        if let wrongKey {
            throw HealthFileError(
                reason: "Its \(wrongKey.rawValue) is not a \(wrongKey == .value ? "number" : "text").")
        }
        guard let startDate = texts[.startDate] else { throw HealthFileError(reason: "It has no startDate.") }
        guard let value else { throw HealthFileError(reason: "It has no value_ml.") }
        var sample = try SampleFields.sample(date: startDate, value: value, shown: "\(value)")
        (sample.uuid, sample.sourceName, sample.original) = (try name(.uuid), try name(.source), try name(.original))
        (sample.bottle, sample.raw) = (try name(.bottle), try SampleFields.bytes(texts[.raw] ?? ""))
        try fields.setOrigin(&sample, zone: texts[.zone], day: texts[.day], source: name(.drinkSource))
        return sample
    }
}
