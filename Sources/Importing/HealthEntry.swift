import TrackerCore

/// An entry of a JSON list as it stands; what is wrong with it is said when it becomes a sample.
struct HealthEntry: Decodable {
    enum Key: String, CodingKey, CaseIterable { case startDate, value = "value_ml", uuid, source, zone, day, drinkSource, original }

    /// The number, or what stands in its place.
    private var value: Double?
    private var shownValue = "nothing"
    private var startDate, uuid, source, zone, day, drinkSource, original: String?
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
            shownValue = (try? object.decode(Bool.self, forKey: .value)).map { "\($0)" }
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
        }
    }

    func sample(_ fields: inout SampleFields) throws(HealthFileError) -> HealthSample {
        if let noText { throw HealthFileError(reason: "Its \(noText.rawValue) is no text.") }
        guard let startDate else { throw HealthFileError(reason: "It has no startDate.") }
        guard let value else { throw HealthFileError(reason: "Its value_ml is \(shownValue), not a number.") }
        var sample = try SampleFields.sample(date: startDate, value: value)
        sample.uuid = try uuid.flatMap { text throws(HealthFileError) in try SampleFields.name(text, "uuid") }
        sample.sourceName = try source.flatMap { text throws(HealthFileError) in try SampleFields.name(text, "source") }
        sample.original = try original.flatMap { text throws(HealthFileError) in try SampleFields.name(text, "original") }
        let counted = try drinkSource.flatMap { text throws(HealthFileError) in try SampleFields.name(text, "drinkSource") }
        try fields.place(&sample, zone: zone, day: day, source: counted)
        return sample
    }
}

extension HealthEntry {
    /// An entry as plain as those of our own files: one object, without spaces between its parts, of texts without escapes and an amount in whole
    /// millilitres, no key of ours twice. `nil` for any other, which is Foundation's to read: it takes six times as long.
    static func plain(_ bytes: UnsafeRawBufferPointer) -> HealthEntry? {
        var entry = HealthEntry()
        var seen: Set<Key> = []
        var rest = bytes[...]
        func take(_ byte: UInt8) -> Bool {
            guard rest.first == byte else { return false }
            rest = rest.dropFirst()
            return true
        }
        func text() -> String? {
            guard take(UInt8(ascii: "\"")), let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
            let inside = UnsafeRawBufferPointer(rebasing: rest[..<end])
            rest = rest[(end + 1)...]
            guard inside.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\\") }) else { return nil }
            return String(validating: inside, as: UTF8.self)
        }
        guard take(UInt8(ascii: "{")) else { return nil }
        repeat {
            guard let name = text(), take(UInt8(ascii: ":")) else { return nil }
            let key = Key(rawValue: name)
            if let key, !seen.insert(key).inserted { return nil }
            if key == .value {
                let digits = rest.prefix { (0x30...0x39).contains($0) }
                // JSON writes no number with a leading zero.
                guard (1...9).contains(digits.count), digits.count == 1 || digits.first != 0x30 else { return nil }
                entry.value = Double(digits.reduce(0) { $0 * 10 + Int($1) - 0x30 })
                rest = rest[digits.endIndex...]
            } else {
                guard let value = text() else { return nil }
                if let key { entry.set(key, value) }
            }
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")), rest.isEmpty else { return nil }
        return entry
    }
}
