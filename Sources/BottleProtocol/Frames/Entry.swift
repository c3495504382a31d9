/// What an entry is about. An open set: unknown types survive decoding and encoding.
///
/// Source: protocol law P2.2.
package struct EntryType: Hashable, Sendable, RawRepresentable {
    /// The byte after the entry's length.
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The type of that number, known or not.
    package init(_ rawValue: UInt8) { self.rawValue = rawValue }

    /// Water temperature: °C, one signed byte.
    package static let temperature = Self(0x01)
    /// Battery: percent.
    package static let battery = Self(0x02)
    /// Clock: YY MM DD hh mm ss, binary, local wall time; as response one status byte, 00 = ok.
    package static let clock = Self(0x03)
    /// Today's amount as shown on the bottle: ml(2).
    package static let amount = Self(0x04)
    /// Daily goal: ml(2).
    package static let goal = Self(0x05)
    /// Drink log: records; as response 01 records follow, 00 none; as acknowledgement byte count(2).
    package static let log = Self(0x06)
    /// Water level: ml(2).
    package static let level = Self(0x08)
    /// Charging: 00 no, 01 charging, 02 charged on its cradle.
    package static let charging = Self(0x17)
    /// Language of the screen: one byte.
    package static let language = Self(0x1B)
    /// Registration and stored data: see `RegistrationCode`.
    package static let registration = Self(0x1C)
    /// Flash the light once: 01.
    package static let flash = Self(0x1D)
    /// Text for the bottle's screen, a bitmap in pieces; its format is not known.
    package static let screenText = Self(0x20)
    /// Reminder: see `ReminderSetting`.
    package static let reminder = Self(0x26)
    /// Dissolved solids: ppm(2).
    package static let tds = Self(0x28)
    /// Recalibrate with a full bottle: 01.
    package static let recalibrateFull = Self(0xA1)
    /// Recalibrate with an empty bottle: 01.
    package static let recalibrateEmpty = Self(0xA6)
    /// Leave factory mode: 00.
    package static let factoryMode = Self(0xF4)
    /// Reminder light: see `ReminderLight`.
    package static let light = Self(0xFB)
    /// Everything: only in a GT frame.
    package static let everything = Self(0xFF)
}

extension EntryType: CustomStringConvertible {
    /// `0x1C`.
    package var description: String { "0x" + hexText(CollectionOfOne(rawValue)) }
}

/// Data byte of a registration entry (type 1C).
package struct RegistrationCode: Hashable, Sendable, RawRepresentable {
    /// The data byte as it came.
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Host: register.
    package static let register = Self(rawValue: 0x01)
    /// Bottle: press the button.
    package static let pressButton = Self(rawValue: 0x02)
    /// Bottle: confirmed on the bottle.
    package static let confirmed = Self(rawValue: 0x03)
    /// Bottle: failed.
    package static let failed = Self(rawValue: 0x04)
    /// Host: clear the stored log.
    package static let clear = Self(rawValue: 0x05)
    /// Bottle: done and cleared.
    package static let cleared = Self(rawValue: 0x06)
}

/// An entry of a PT, RP or RT payload: `n(1) type(1) data(n - 1)`, where n counts the type byte and the data.
package struct Entry: Hashable, Sendable {
    /// What the data is about.
    package var type: EntryType
    /// At most 254 bytes.
    package let data: [UInt8]

    /// An entry with at most 254 bytes of data: its length byte counts the type as well.
    package init(_ type: EntryType, _ data: [UInt8]) {
        precondition(data.count <= 254, "an entry's data has at most 254 bytes")
        self.type = type
        self.data = data
    }

    /// An entry of one 16-bit big-endian number.
    package init(_ type: EntryType, _ number: UInt16) {
        self.init(type, [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)])
    }

    /// The bytes on the wire: length, type, data.
    package var encoded: [UInt8] { [UInt8(data.count + 1), type.rawValue] + data }

    /// The data as one byte, where it is one.
    package var byte: UInt8? { data.count == 1 ? data.first : nil }

    /// The data as a 16-bit big-endian number, where it has two bytes.
    package var number: UInt16? { data.count == 2 ? UInt16(data[0]) << 8 | UInt16(data[1]) : nil }

    /// Decodes entries until the bytes end. `base` is where these bytes stand in what the caller decodes: failures name
    /// offsets from there.
    package static func sequence(decoding bytes: [UInt8], at base: Int = 0) throws(DecodeFailure) -> [Entry] {
        var entries: [Entry] = []
        var index = 0
        while index < bytes.count {
            let size = Int(bytes[index])
            guard size >= 1 else {
                throw DecodeFailure(
                    what: "an entry has no type byte (n = 0)", offset: base + index, needed: 1, found: 0)
            }
            let end = index + 1 + size
            guard end <= bytes.count else {
                throw DecodeFailure(
                    what: "an entry runs past the end of its frame", offset: base + index, needed: size,
                    found: bytes.count - index - 1)
            }
            entries.append(Entry(EntryType(bytes[index + 1]), Array(bytes[(index + 2)..<end])))
            index = end
        }
        return entries
    }
}
