package import Bluetooth
package import BottleProtocol

/// The GATT tables that an emulated bottle offers. Both tables access the same flash.
package enum OfferedProfiles: String, CaseIterable, Sendable {
    /// Both tables, for clients of either kind.
    case both
    /// The GATT table of the original requirements, with the service FF00.
    case draft
    /// The GATT table of bottles on sale.
    case retail

    package init(_ profile: BottleProfile) { self = profile == .draft ? .draft : .retail }

    package var profiles: [BottleProfile] {
        switch self {
        case .both: [.draft, .retail]
        case .draft: [.draft]
        case .retail: [.retail]
        }
    }

    func contains(_ profile: BottleProfile) -> Bool { profiles.contains(profile) }
}

/// The constant properties of an emulated bottle.
package struct BottleIdentity: Hashable, Sendable {
    package var profile: OfferedProfiles
    /// The model, which determines the sensors.
    package var model: BottleModel
    package var name: String
    /// The Serial Number String (2A25): the identity on links without a radio.
    package var address: BluetoothAddress
    /// The format of drink records: the year in byte 0 (`calendar`), or 1A and at most 255 ml (`strict`). `nil` selects
    /// the format by profile: the year over FFE4, 1A over FF02.
    package var dialect: RecordDialect?

    /// If the name is `nil`, the model's factory name is used. If the address is `nil`, it is derived from the name.
    package init(
        profile: OfferedProfiles = .retail, model: BottleModel = .boost, name: String? = nil,
        address: BluetoothAddress? = nil,
        dialect: RecordDialect? = nil
    ) {
        self.profile = profile
        self.model = model
        self.name = name ?? model.factoryName
        self.address = address ?? Self.derivedAddress(self.name)
        self.dialect = dialect
    }

    /// `A4:C1:38` (Telink's prefix, as on real bottles) and the lower 24 bits of the name's FNV-1a hash.
    package static func derivedAddress(_ name: String) -> BluetoothAddress {
        let hash = name.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return BluetoothAddress(0xA4C138 << 24 | hash & 0xFF_FFFF)
    }
}
