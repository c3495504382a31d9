/// The type of an entry (protocol spec P2.2). Can have unknown values.
package struct EntryType: Hashable, Sendable, RawRepresentable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package init(_ rawValue: UInt8) { self.rawValue = rawValue }

    /// Water temperature: °C, one signed byte.
    package static let temperature = Self(0x01)
    /// Battery level in percent.
    package static let battery = Self(0x02)
    /// Clock: YY MM DD hh mm ss, binary, local wall time. In a response: one status byte, 00 = ok.
    package static let clock = Self(0x03)
    /// Today's amount on the display: two bytes, ml.
    package static let amount = Self(0x04)
    /// Daily goal: two bytes, ml.
    package static let goal = Self(0x05)
    /// Drink log: records. In a response: 01 records follow, 00 none. In an acknowledgement: two bytes, log bytes.
    package static let log = Self(0x06)
    /// Water level: two bytes, ml.
    package static let level = Self(0x08)
    /// Charging: 00 no, 01 charging, 02 charged on its cradle.
    package static let charging = Self(0x17)
    /// Language of the display: one byte.
    package static let language = Self(0x1B)
    /// Registration of a host, and deletion of the log: see `RegistrationCode`.
    package static let registration = Self(0x1C)
    /// Flash the light once: 01.
    package static let flash = Self(0x1D)
    /// Text on the display: a bitmap in pieces of unknown format.
    package static let screenText = Self(0x20)
    /// Reminder: see `ReminderSetting`.
    package static let reminder = Self(0x26)
    /// Total dissolved solids: two bytes, ppm.
    package static let tds = Self(0x28)
    /// Calibrate with a full bottle: 01.
    package static let recalibrateFull = Self(0xA1)
    /// Calibrate with an empty bottle: 01.
    package static let recalibrateEmpty = Self(0xA6)
    /// Leave factory mode: 00.
    package static let factoryMode = Self(0xF4)
    /// Reminder light: see `ReminderLight`.
    package static let light = Self(0xFB)
    /// All values: requests a snapshot, in a GT frame only.
    package static let everything = Self(0xFF)
}

extension EntryType: CustomStringConvertible {
    package var description: String { "0x" + hexText(CollectionOfOne(rawValue)) }
}

/// The data byte of a registration entry (type 1C).
package struct RegistrationCode: Hashable, Sendable, RawRepresentable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let register = Self(rawValue: 0x01)
    /// From the bottle: the user must press the button.
    package static let pressButton = Self(rawValue: 0x02)
    /// From the bottle: the user has pressed the button.
    package static let confirmed = Self(rawValue: 0x03)
    /// From the bottle: the registration failed.
    package static let failed = Self(rawValue: 0x04)
    /// From the host: clear the stored log.
    package static let clear = Self(rawValue: 0x05)
    /// From the bottle: the log is cleared.
    package static let cleared = Self(rawValue: 0x06)
}

/// An entry of a PT, RP or RT payload: `n(1) type(1) data(n - 1)`, where n counts the type byte and the data.
package struct Entry: Hashable, Sendable {
    package var type: EntryType
    /// The bytes after the type, at most 254.
    package let data: [UInt8]

    package init(_ type: EntryType, _ data: [UInt8]) {
        precondition(data.count <= 254, "an entry's data has at most 254 bytes")
        self.type = type
        self.data = data
    }

    /// An entry with a 16-bit big-endian number.
    package init(_ type: EntryType, _ number: UInt16) {
        self.init(type, [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)])
    }

    package var encoded: [UInt8] { [UInt8(data.count + 1), type.rawValue] + data }

    package var byte: UInt8? { data.count == 1 ? data.first : nil }

    /// The data as a 16-bit big-endian number, or `nil`.
    package var number: UInt16? { data.count == 2 ? UInt16(data[0]) << 8 | UInt16(data[1]) : nil }

    /// Decodes all entries of the bytes.
    /// - Parameter base: the offset of the bytes in the caller's data, for errors.
    package static func sequence(decoding bytes: [UInt8], at base: Int = 0) throws(DecodeFailure) -> [Entry] {
        var entries: [Entry] = []
        var index = 0
        while index < bytes.count {
            let size = Int(bytes[index])
            guard size >= 1 else {
                throw DecodeFailure(
                    problem: "an entry has no type byte (n = 0)", offset: base + index, needed: 1, found: 0)
            }
            let end = index + 1 + size
            guard end <= bytes.count else {
                throw DecodeFailure(
                    problem: "an entry runs past the end of its frame", offset: base + index, needed: size,
                    found: bytes.count - index - 1)
            }
            entries.append(Entry(EntryType(bytes[index + 1]), Array(bytes[(index + 2)..<end])))
            index = end
        }
        return entries
    }
}
