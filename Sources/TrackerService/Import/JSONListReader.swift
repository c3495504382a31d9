import Foundation
import TrackerCore

/// Reads a list of objects with `startDate` and `value_ml`, or an object with such a list under `drinks`. Foundation
/// decodes each entry and validates the JSON around them.
final class JSONListReader: FormatReader {
    /// The maximum length in bytes of an entry, and of everything around the list.
    private static let limit = 1 << 20

    private enum Place { case before, list, after }

    private let deliver: (HealthSample) throws -> Void
    private var fields = SampleFields()
    private var place = Place.before
    private var depth = 0
    /// The nesting depth of the list. Its entries are one level deeper.
    private var listDepth = 0
    private var isInString = false
    private var isEscaped = false
    /// The last string of the outer object, and the one before the last colon.
    private var string: [UInt8] = []
    private var key: [UInt8] = []
    private var outside: [UInt8] = []
    private var entry: [UInt8] = []
    private var count = 0
    private let decoder = JSONDecoder()

    init(deliver: @escaping (HealthSample) throws -> Void) { self.deliver = deliver }

    func feed(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while let byte = rest.first {
            // A fast path: consume a string of the entry up to a byte that might end the string.
            if isInString, !isEscaped, place == .list {
                let run = rest.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
                if !run.isEmpty {
                    entry.append(contentsOf: UnsafeRawBufferPointer(rebasing: run))
                    rest = UnsafeRawBufferPointer(rebasing: rest[run.endIndex...])
                    continue
                }
            }
            try take(byte)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        }
        guard entry.count <= Self.limit else {
            throw HealthFileError(reason: "Entry \(count + 1) of the list is longer than \(Self.limit >> 20) MB.")
        }
        guard outside.count <= Self.limit else {
            throw HealthFileError(reason: "The JSON has more than \(Self.limit >> 20) MB outside its list of drinks.")
        }
    }

    func finish() throws {
        guard (try? JSONSerialization.jsonObject(with: Data(outside))) != nil else {
            throw HealthFileError(reason: "The JSON is incomplete. Is the file truncated?")
        }
        guard place == .after else {
            throw HealthFileError(reason: "The JSON must be a list of drinks with startDate and value_ml.")
        }
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
            let isList =
                byte == UInt8(ascii: "[") && place == .before
                && (depth == 1 || depth == 2 && key == Array("drinks".utf8))
            if isList {
                keep(byte)
                (place, listDepth) = (.list, depth)
                return
            }
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            if place == .list, depth == listDepth {
                if !entry.isEmpty || count > 0 { try endEntry() }
                place = .after
            }
            depth -= 1
        case UInt8(ascii: ",") where place == .list && depth == listDepth: return try endEntry()
        case UInt8(ascii: ",") where place == .before && depth == 1: key = []
        case _ where place == .list && entry.isEmpty && FileHead.isSpace(byte): return
        default: break
        }
        keep(byte)
    }

    private func keep(_ byte: UInt8) {
        if place == .list { entry.append(byte) } else { outside.append(byte) }
    }

    /// Decodes the entry and delivers its sample.
    private func endEntry() throws {
        guard !entry.isEmpty else {
            throw HealthFileError(reason: "Entry \(count + 1) of the list is missing between two commas.")
        }
        defer { entry.removeAll(keepingCapacity: true) }
        count += 1
        guard let found = try? decoder.decode(HealthEntry.self, from: Data(entry)) else {
            throw HealthFileError(reason: "Entry \(count) of the list is incomplete: the file might be truncated.")
        }
        do {
            try deliver(try found.sample(&fields))
        } catch let error as HealthFileError {
            throw HealthFileError(reason: "Entry \(count) of the list: \(error.reason)")
        }
    }
}

/// An entry of the list, before validation.
struct HealthEntry: Decodable {
    private enum Key: String, CodingKey, CaseIterable {
        case startDate, value = "value_ml", uuid, source, zone, day, drinkSource, original, bottle, raw
    }

    private var texts: [Key: String] = [:]
    /// The value; `nil` if missing or not a number.
    private var value: Double?
    private var shownValue = "nothing"
    /// A key whose value is not a string.
    private var notText: Key?

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        for key in Key.allCases where key != .value {
            do { texts[key] = try object.decodeIfPresent(String.self, forKey: key) } catch { notText = key }
        }
        do {
            value = try object.decodeIfPresent(Double.self, forKey: .value)
        } catch {
            shownValue =
                (try? object.decode(Bool.self, forKey: .value)).map { "\($0)" }
                ?? (try? object.decode(String.self, forKey: .value)).map { _ in "a text" } ?? "a list or an object"
        }
    }

    func sample(_ fields: inout SampleFields) throws(HealthFileError) -> HealthSample {
        func name(_ key: Key) throws(HealthFileError) -> String? {
            guard let text = texts[key] else { return nil }
            return try SampleFields.name(text, key.rawValue)
        }
        if let notText { throw HealthFileError(reason: "Its \(notText.rawValue) is not a text.") }
        guard let startDate = texts[.startDate] else { throw HealthFileError(reason: "It has no startDate.") }
        guard let value else { throw HealthFileError(reason: "Its value_ml is \(shownValue), not a number.") }
        var sample = try SampleFields.sample(date: startDate, value: value)
        (sample.uuid, sample.sourceName, sample.original) = (try name(.uuid), try name(.source), try name(.original))
        (sample.bottle, sample.raw) = (try name(.bottle), try SampleFields.bytes(texts[.raw] ?? ""))
        try fields.place(&sample, zone: texts[.zone], day: texts[.day], source: name(.drinkSource))
        return sample
    }
}
