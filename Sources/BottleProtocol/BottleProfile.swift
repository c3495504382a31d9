/// The GATT profile of a bottle. The payload format does not depend on it (protocol spec P1).
package enum BottleProfile: String, CaseIterable, Sendable {
    /// The UUIDs of the original requirements: FF00 with FF01 and FF02.
    case draft
    /// The bottles on sale: FFE5/FFE9 for commands, FFE0/FFE4 for responses.
    case retail

    package var commandService: UInt16 { self == .draft ? 0xFF00 : 0xFFE5 }
    /// The service UUID in the advertisement; `nil` for bottles on sale, which advertise none.
    package var advertisedService: UInt16? { self == .draft ? commandService : nil }
    package var commandCharacteristic: UInt16 { self == .draft ? 0xFF01 : 0xFFE9 }
    package var responseService: UInt16 { self == .draft ? 0xFF00 : 0xFFE0 }
    /// The characteristic for responses, reports and the log: by notification, and in the draft profile also by reads.
    package var responseCharacteristic: UInt16 { self == .draft ? 0xFF02 : 0xFFE4 }
}

/// The model of a bottle, which determines its sensors. An unknown model is `nil`.
package enum BottleModel: String, CaseIterable, Sendable {
    /// A model without thermometer and TDS sensor: a snapshot of 39 payload bytes.
    case boost
    /// A model with thermometer, TDS sensor and level: a snapshot of 49 payload bytes.
    case vita

    /// Whether the bottle measures temperature, TDS and level. Other models store the battery level in records.
    package var measuresWater: Bool {
        switch self {
        case .boost: false
        case .vita: true
        }
    }
}

/// The interpretation of a drink record's byte 0 (protocol spec P3.3).
package enum RecordDialect: String, CaseIterable, Sendable {
    /// Byte 0 is the year minus 2000, amounts have 16 bits, and implausible dates make records suspect. The default.
    case calendar
    /// The original requirements: byte 0 must be 1A, byte 7 is the amount, the host's clock supplies the year, and
    /// impossible dates are rejected.
    case strict
}

/// The bytes of a record that hold the amount. The dialect determines them unless `bottle.amountWidth` is set.
package enum AmountWidth: String, CaseIterable, Sendable {
    /// Byte 7, 0–255 ml; byte 6 is a separator.
    case u8
    /// Bytes 6 and 7, big-endian, 0–65,535 ml.
    case u16be

    /// The width of a dialect: one byte for `strict`, two for `calendar`.
    package init(_ dialect: RecordDialect) { self = dialect == .strict ? .u8 : .u16be }
}
