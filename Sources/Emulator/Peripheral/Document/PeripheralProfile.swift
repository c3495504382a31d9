package import Bluetooth

/// The profile of a Bluetooth LE peripheral, made from a capture: advertisement, attributes, requests and responses.
///
/// It is encoded as JSON. Call `check` before using a document from a file.
package struct PeripheralProfile: Hashable, Sendable {
    package enum Source: String, Hashable, Sendable, Codable {
        case discovered
        /// Found only in traffic, without a discovery. The service can be incomplete.
        case seen
    }

    /// The type of an address (Core 5.4, Vol 6 Part B, 1.3).
    package enum AddressType: String, Hashable, Sendable, Codable {
        case `public`
        case random
    }

    package var version = PeripheralProfile.currentVersion
    /// The device address; `nil` if the capture does not have it.
    package var address: BluetoothAddress?
    package var addressType: AddressType?
    /// The advertised name, else the value of Device Name (2A00).
    package var name: String?
    /// The ATT MTU (23–517); `nil` if there was no exchange, which means 23.
    package var mtu: Int?
    /// The AD structures of the last connectable advertisement; `nil` if the capture has none.
    package var advertisement: Octets?
    /// The AD structures of the last scan response; `nil` if the capture has none.
    package var scanResponse: Octets?
    package var services: [Service] = []
    /// The recorded exchanges, one conversation for each connection, in order.
    package var conversations: [Conversation] = []
    /// Rules, written by hand, for requests that are not in the capture. The first matching rule applies.
    package var rules: [Rule] = []
    /// Notes about data that the capture lacks, one sentence each.
    package var gaps: [String] = []

    /// The version of written documents, and the newest readable one.
    package static let currentVersion = 1

    package init(address: BluetoothAddress? = nil, addressType: AddressType? = nil, mtu: Int? = nil) {
        self.address = address
        self.addressType = addressType
        self.mtu = mtu
    }

    package var characteristics: [Characteristic] { services.flatMap(\.characteristics) }

    package var exchangeCount: Int { conversations.reduce(0) { $0 + $1.exchanges.count } }
}

extension PeripheralProfile: Codable {
    private enum CodingKeys: String, CodingKey {
        case version = "gadget"
        case address, addressType, name, mtu, advertisement, scanResponse, services, conversations, rules, gaps
    }

    /// Decodes a document. Throws for a newer version.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        version = try container.decode(Int.self, forKey: .version)
        guard version == Self.currentVersion else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: container,
                debugDescription: "unsupported version \(version): expected \(Self.currentVersion)")
        }
        address = try container.decodeIfPresent(BluetoothAddress.self, forKey: .address)
        addressType = try container.decodeIfPresent(AddressType.self, forKey: .addressType)
        name = try container.decodeIfPresent(String.self, forKey: .name)
        mtu = try container.decodeIfPresent(Int.self, forKey: .mtu)
        advertisement = try container.decodeIfPresent(Octets.self, forKey: .advertisement)
        scanResponse = try container.decodeIfPresent(Octets.self, forKey: .scanResponse)
        services = try container.decodeIfPresent([Service].self, forKey: .services) ?? []
        conversations = try container.decodeIfPresent([Conversation].self, forKey: .conversations) ?? []
        rules = try container.decodeIfPresent([Rule].self, forKey: .rules) ?? []
        gaps = try container.decodeIfPresent([String].self, forKey: .gaps) ?? []
    }
}
