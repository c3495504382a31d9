import Foundation
import TrackerCore

/// A list of objects with `startDate` and `value_ml`, or an object with such a list under `drinks`.
///
/// This finds the list's entries; what is in them, and whether everything around them is JSON, Foundation says, a few
/// hundred entries at a time.
final class JSONListReader: FormatReader {
    /// One entry, and everything around the list, may be that long.
    private static let limit = 1 << 20
    private static let batchBytes = 1 << 16

    private enum Place { case before, list, after }

    private let deliver: (HealthSample) throws -> Void
    private var fields = SampleFields()
    private var place = Place.before
    private var depth = 0
    /// How deep the list lies: its entries are one deeper.
    private var listDepth = 0
    private var isInString = false
    private var isEscaped = false
    /// The last string of the outer object, and the one before the last colon.
    private var string: [UInt8] = []
    private var key: [UInt8] = []
    /// Everything but the entries.
    private var outside: [UInt8] = []
    private var entry: [UInt8] = []
    private var batch: [[UInt8]] = []
    private var batched = 0
    /// Entries handed to the decoder.
    private var count = 0
    private let decoder = JSONDecoder()

    init(deliver: @escaping (HealthSample) throws -> Void) { self.deliver = deliver }

    func feed(_ bytes: UnsafeRawBufferPointer) throws {
        for byte in bytes { try take(byte) }
        guard entry.count <= Self.limit else { throw HealthFileError(reason: "Entry \(count + batch.count + 1) of the list is longer than \(Self.limit >> 20) MB.") }
        guard outside.count <= Self.limit else { throw HealthFileError(reason: "The JSON has more than \(Self.limit >> 20) MB beside its list of drinks.") }
    }

    func finish() throws {
        try decodeBatch()
        guard (try? JSONSerialization.jsonObject(with: Data(outside))) != nil else {
            throw HealthFileError(reason: "This is not whole JSON. Is the file cut?")
        }
        guard place == .after else { throw HealthFileError(reason: "The JSON must be a list of drinks with startDate and value_ml.") }
    }

    // MARK: - Finding the entries

    private func take(_ byte: UInt8) throws {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            if place == .before, isInString, depth == 1 { string.append(byte) }
            return keep(byte)
        }
        switch byte {
        case UInt8(ascii: "\""):
            isInString = true
            string = []
        case UInt8(ascii: ":") where depth == 1: key = string
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            depth += 1
            let isList = byte == UInt8(ascii: "[") && place == .before && (depth == 1 || depth == 2 && key == Array("drinks".utf8))
            if isList {
                keep(byte)
                (place, listDepth) = (.list, depth)
                return
            }
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            if place == .list, depth == listDepth {
                if !entry.isEmpty || count + batch.count > 0 { try endEntry() }
                place = .after
            }
            depth -= 1
        case UInt8(ascii: ",") where place == .list && depth == listDepth: return try endEntry()
        case UInt8(ascii: ",") where place == .before && depth == 1: key = []
        case _ where place == .list && FileHead.isSpace(byte): return
        default: break
        }
        keep(byte)
    }

    private func keep(_ byte: UInt8) {
        if place == .list { entry.append(byte) } else { outside.append(byte) }
    }

    private func endEntry() throws {
        guard !entry.isEmpty else { throw HealthFileError(reason: "Entry \(count + batch.count + 1) of the list is missing between two commas.") }
        batched += entry.count
        batch.append(entry)
        entry.removeAll(keepingCapacity: true)
        if batched >= Self.batchBytes { try decodeBatch() }
    }

    // MARK: - Reading them

    private func decodeBatch() throws {
        defer { (batch, batched) = ([], 0) }
        guard !batch.isEmpty else { return }
        let text = Data([UInt8(ascii: "[")] + batch.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")])
        guard let entries = try? decoder.decode([Entry].self, from: text), entries.count == batch.count else { throw culprit() }
        for entry in entries {
            count += 1
            do {
                try deliver(try entry.sample(&fields))
            } catch let error as HealthFileError {
                throw HealthFileError(reason: "Entry \(count) of the list: \(error.reason)")
            }
        }
    }

    /// Which entry of the batch is no JSON object.
    private func culprit() -> HealthFileError {
        for (index, entry) in batch.enumerated() where (try? decoder.decode([Entry].self, from: Data([0x5B] + entry + [0x5D])))?.count != 1 {
            return HealthFileError(reason: "Entry \(count + index + 1) of the list is no whole JSON object. Is the file cut?")
        }
        return HealthFileError(reason: "The entries from \(count + 1) on are no whole JSON. Is the file cut?")
    }
}

/// An entry as it stands; what is wrong with it is said when it becomes a sample.
private struct Entry: Decodable {
    enum Key: String, CodingKey { case startDate, valueMl = "value_ml", uuid, source, zone, day, drinkSource, original }

    /// The number, or what stands in its place.
    private var value: Double?
    private var shownValue = "nothing"
    private var texts: [Key: String] = [:]
    private var noText: Key?

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        for key in [Key.startDate, .uuid, .source, .zone, .day, .drinkSource, .original] {
            do { texts[key] = try object.decodeIfPresent(String.self, forKey: key) } catch { noText = key }
        }
        do {
            value = try object.decodeIfPresent(Double.self, forKey: .valueMl)
        } catch {
            shownValue = (try? object.decode(Bool.self, forKey: .valueMl)).map { "\($0)" }
                ?? (try? object.decode(String.self, forKey: .valueMl)).map { _ in "a text" } ?? "a list or an object"
        }
    }

    func sample(_ fields: inout SampleFields) throws(HealthFileError) -> HealthSample {
        if let noText { throw HealthFileError(reason: "Its \(noText.rawValue) is no text.") }
        guard let date = texts[.startDate] else { throw HealthFileError(reason: "It has no startDate.") }
        guard let value else { throw HealthFileError(reason: "Its value_ml is \(shownValue), not a number.") }
        var sample = try SampleFields.sample(date: date, value: value)
        sample.uuid = try texts[.uuid].flatMap { text throws(HealthFileError) in try SampleFields.name(text, "uuid") }
        sample.sourceName = try texts[.source].flatMap { text throws(HealthFileError) in try SampleFields.name(text, "source") }
        sample.original = try texts[.original].flatMap { text throws(HealthFileError) in try SampleFields.name(text, "original") }
        let source = try texts[.drinkSource].flatMap { text throws(HealthFileError) in try SampleFields.name(text, "drinkSource") }
        try fields.place(&sample, zone: texts[.zone], day: texts[.day], source: source)
        return sample
    }
}
