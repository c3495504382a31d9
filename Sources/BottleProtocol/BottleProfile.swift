/// Which GATT table a bottle shows; the payload language is the same (protocol law P1).
package enum BottleProfile: String, CaseIterable, Sendable {
    /// The founding documents' placeholder UUIDs: FF00 with FF01 and FF02.
    case draft
    /// Bottles on sale: FFE5/FFE9 for commands, FFE0/FFE4 for responses.
    case retail

    /// Service of the command characteristic, as a 16-bit UUID.
    package var commandService: UInt16 { self == .draft ? 0xFF00 : 0xFFE5 }
    /// What a bottle of this profile advertises; on sale they advertise no service.
    package var advertisedService: UInt16? { self == .draft ? commandService : nil }
    /// Characteristic that takes commands.
    package var commandCharacteristic: UInt16 { self == .draft ? 0xFF01 : 0xFFE9 }
    /// Service of the response characteristic.
    package var responseService: UInt16 { self == .draft ? 0xFF00 : 0xFFE0 }
    /// Characteristic that notifies (draft: or is read for) responses, reports and the log.
    package var responseCharacteristic: UInt16 { self == .draft ? 0xFF02 : 0xFFE4 }
}

/// Bottles differ in what they measure. Where the model is not known, `nil` stands for it.
package enum BottleModel: String, CaseIterable, Sendable {
    /// No thermometer, no TDS: snapshot of 39 payload bytes.
    case boost
    /// With thermometer, TDS and level: snapshot of 49 payload bytes.
    case vita

    /// Whether it has a thermometer and measures dissolved solids and the level. One that does not writes its battery
    /// into its records.
    package var measuresWater: Bool {
        switch self {
        case .boost: false
        case .vita: true
        }
    }
}

/// How byte 0 of a drink record is read (protocol law P3.3).
package enum RecordDialect: String, CaseIterable, Sendable {
    /// Byte 0 is the year - 2000; amounts have 16 bits; implausible dates are kept as suspect. The default.
    case calendar
    /// The founding documents: byte 0 must be 1A, the amount is byte 7, the year is the host clock's, impossible dates
    /// are refused.
    case strict
}

/// Which bytes of a record hold the amount; follows the dialect unless a setting says otherwise (`bottle.amountWidth`).
package enum AmountWidth: String, CaseIterable, Sendable {
    /// Byte 7 alone, 0–255 ml; byte 6 is a separator.
    case u8
    /// Bytes 6 and 7, big-endian, 0–65,535 ml.
    case u16be

    /// The width that a dialect reads by itself: `strict` one byte, `calendar` two.
    package init(_ dialect: RecordDialect) { self = dialect == .strict ? .u8 : .u16be }
}
