import BottleProtocol
import Bluetooth

/// Which GATT tables a bottle shows; both lead to one flash.
package enum OfferedProfiles: String, CaseIterable, Sendable {
    /// The founding documents' table and the retail one side by side: a client of either kind finds its bottle.
    case both
    /// The founding documents' table alone.
    case draft
    /// Exactly what bottles on sale show.
    case retail

    /// One profile alone.
    package init(_ profile: BottleProfile) { self = profile == .draft ? .draft : .retail }

    /// Those tables, the draft one first where it shows both.
    package var profiles: [BottleProfile] {
        switch self {
        case .both: [.draft, .retail]
        case .draft: [.draft]
        case .retail: [.retail]
        }
    }

    func contains(_ profile: BottleProfile) -> Bool { profiles.contains(profile) }
}

/// Who the bottle is: what never changes while it lives.
package struct BottleIdentity: Hashable, Sendable {
    /// Which tables it shows.
    package var profile: OfferedProfiles
    /// What it is, and so what it measures.
    package var model: BottleModel
    /// Advertised name.
    package var name: String
    /// Served as Serial Number String (2A25): the identity on links without a radio.
    package var address: BluetoothAddress
    /// How drinks are written: with the year in byte 0 (`calendar`), or with 1A in every year and at most 255 ml
    /// (`strict`). `nil`: each profile as its app expects it, the year over FFE4 and 1A over FF02.
    package var dialect: RecordDialect?

    /// `nil` for name and address: what a bottle of that model is called, and an address derived from the name.
    package init(
        profile: OfferedProfiles = .retail, model: BottleModel = .boost, name: String? = nil,
        address: BluetoothAddress? = nil,
        dialect: RecordDialect? = nil
    ) {
        self.profile = profile
        self.model = model
        self.name = name ?? model.usualName
        self.address = address ?? Self.derivedAddress(self.name)
        self.dialect = dialect
    }

    /// `A4:C1:38` (Telink's prefix, as on real bottles) and the lower 24 bits of the name's FNV-1a hash: stable for
    /// ever.
    package static func derivedAddress(_ name: String) -> BluetoothAddress {
        let hash = name.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return BluetoothAddress(0xA4C138 << 24 | hash & 0xFF_FFFF)
    }
}
