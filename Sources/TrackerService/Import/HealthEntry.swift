import TrackerCore

/// An entry of a JSON list as it stands; what is wrong with it is said when it becomes a sample.
struct HealthEntry: Decodable {
    enum Key: String, CodingKey, CaseIterable {
        case startDate, value = "value_ml", uuid, source, zone, day, drinkSource, original, bottle, raw
    }

    /// The number, or what stands in its place.
    private var value: Double?
    private var shownValue = "nothing"
    private var startDate, uuid, source, zone, day, drinkSource, original, bottle, raw: String?
    private var noText: Key?

    private init() {}

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        for key in Key.allCases where key != .value {
            do { set(key, try object.decodeIfPresent(String.self, forKey: key)) } catch { noText = key }
        }
        do {
            value = try object.decodeIfPresent(Double.self, forKey: .value)
        } catch {
            shownValue =
                (try? object.decode(Bool.self, forKey: .value)).map { "\($0)" }
                ?? (try? object.decode(String.self, forKey: .value)).map { _ in "a text" } ?? "a list or an object"
        }
    }

    private mutating func set(_ key: Key, _ text: String?) {
        switch key {
        case .startDate: startDate = text
        case .value: break
        case .uuid: uuid = text
        case .source: source = text
        case .zone: zone = text
        case .day: day = text
        case .drinkSource: drinkSource = text
        case .original: original = text
        case .bottle: bottle = text
        case .raw: raw = text
        }
    }

    func sample(_ fields: inout SampleFields) throws(HealthFileError) -> HealthSample {
        if let noText { throw HealthFileError(reason: "Its \(noText.rawValue) is no text.") }
        guard let startDate else { throw HealthFileError(reason: "It has no startDate.") }
        guard let value else { throw HealthFileError(reason: "Its value_ml is \(shownValue), not a number.") }
        var sample = try SampleFields.sample(date: startDate, value: value)
        sample.uuid = try uuid.flatMap { text throws(HealthFileError) in try SampleFields.name(text, "uuid") }
        sample.sourceName = try source.flatMap { text throws(HealthFileError) in try SampleFields.name(text, "source") }
        sample.original = try original.flatMap { text throws(HealthFileError) in try SampleFields.name(text, "original")
        }
        sample.bottle = try bottle.flatMap { text throws(HealthFileError) in try SampleFields.name(text, "bottle") }
        sample.raw = try raw.flatMap { text throws(HealthFileError) in try SampleFields.bytes(text) }
        let counted = try drinkSource.flatMap { text throws(HealthFileError) in
            try SampleFields.name(text, "drinkSource")
        }
        try fields.place(&sample, zone: zone, day: day, source: counted)
        return sample
    }
}

extension HealthEntry {
    /// An entry as plain as those of our own files, and how many bytes it has: one object of texts without escapes and
    /// an amount in whole millilitres, no key of ours twice. `nil` for any other, and for one that does not end in
    /// these bytes: it is Foundation's to read, which takes six times as long.
    static func plain(_ bytes: UnsafeRawBufferPointer) -> (entry: HealthEntry, length: Int)? {
        var text = PlainText(bytes)
        var entry = HealthEntry()
        var seen: Set<Key> = []
        guard text.take("{") else { return nil }
        repeat {
            guard let name = text.string(), text.take(":") else { return nil }
            guard let key = Key.allCases.first(where: { $0.isSpelled(name) }) else {
                // What is nobody's must be text, too, but is not kept.
                guard let other = text.string(),
                    other.allSatisfy({ $0 < 0x80 }) || String(validating: other, as: UTF8.self) != nil
                else { return nil }
                continue
            }
            guard seen.insert(key).inserted else { return nil }
            if key == .value {
                guard let value = text.wholeNumber() else { return nil }
                entry.value = Double(value)
            } else {
                guard let value = text.string().flatMap({ String(validating: $0, as: UTF8.self) }) else { return nil }
                entry.set(key, value)
            }
        } while text.take(",")
        guard text.take("}") else { return nil }
        return (entry, text.position)
    }
}

extension HealthEntry.Key {
    /// The same as `rawValue == name`, without a text made of the name.
    fileprivate func isSpelled(_ name: UnsafeRawBufferPointer) -> Bool {
        let own = spelling
        return own.utf8CodeUnitCount == name.count && own.withUTF8Buffer { name.elementsEqual($0) }
    }

    private var spelling: StaticString {
        switch self {
        case .startDate: "startDate"
        case .value: "value_ml"
        case .uuid: "uuid"
        case .source: "source"
        case .zone: "zone"
        case .day: "day"
        case .drinkSource: "drinkSource"
        case .original: "original"
        case .bottle: "bottle"
        case .raw: "raw"
        }
    }
}

/// JSON's plainest parts, read from bytes one after the other; what stands between them may be spaces.
private struct PlainText {
    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Whether that mark comes next; if so, what follows is behind it.
    mutating func take(_ mark: Unicode.Scalar) -> Bool {
        while position < bytes.count, FileHead.isJSONSpace(bytes[position]) { position += 1 }
        guard position < bytes.count, bytes[position] == UInt8(ascii: mark) else { return false }
        position += 1
        return true
    }

    /// A text without escapes and control characters.
    mutating func string() -> UnsafeRawBufferPointer? {
        guard take("\"") else { return nil }
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return UnsafeRawBufferPointer(rebasing: bytes[start..<(position - 1)]) }
            guard byte >= 0x20, byte != UInt8(ascii: "\\") else { return nil }
        }
        return nil
    }

    /// At most nine digits; JSON writes no number with a leading zero.
    mutating func wholeNumber() -> Int? {
        while position < bytes.count, FileHead.isJSONSpace(bytes[position]) { position += 1 }
        let digits = bytes[position...].prefix { (0x30...0x39).contains($0) }
        guard (1...9).contains(digits.count), digits.count == 1 || digits.first != 0x30 else { return nil }
        position = digits.endIndex
        return digits.reduce(0) { $0 * 10 + Int($1) - 0x30 }
    }
}
