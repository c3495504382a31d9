import Bluetooth

/// A Bluetooth LE peripheral as a capture shows it: what it advertises, its attributes, and what it answered to what.
///
/// Stands in a JSON document (`Codable`); the key of each field is its name unless its comment says otherwise. What a
/// document says is not to be trusted before `check` has found nothing.
package struct Gadget: Hashable, Sendable {
    /// How something is known.
    package enum Source: String, Hashable, Sendable, Codable {
        /// A host has discovered it in the capture.
        case discovered
        /// It is put together from traffic: nobody has discovered it in the capture, so its surroundings may be
        /// incomplete.
        case seen
    }

    /// What kind of address it is (Core 5.4, Vol 6 Part B, 1.3).
    package enum AddressType: String, Hashable, Sendable, Codable {
        case `public`
        case random
    }

    /// The version of the document, key `gadget`: 1.
    package var version = Gadget.currentVersion
    /// `nil`: the capture does not hold it.
    package var address: BluetoothAddress?
    /// `nil` where unknown.
    package var addressType: AddressType?
    /// As advertised, else as read from 2A00.
    package var name: String?
    /// The ATT MTU that the gadget offers, 23–517; `nil`: no exchange was seen, and 23 it is.
    package var mtu: Int?
    /// AD structures of its last connectable advertisement; `nil`: none was seen.
    package var advertisement: Octets?
    /// AD structures of its last scan response.
    package var scanResponse: Octets?
    /// In order of their handles.
    package var services: [Service]
    /// One for each connection that was seen, in order.
    package var conversations: [Conversation]
    /// Answers to what was never asked in the capture: written by hand. In order; the first that fits answers.
    package var rules: [Rule] = []
    /// What the capture does not show, a sentence each.
    package var gaps: [String] = []

    /// The version that this project writes, and the newest that it reads.
    package static let currentVersion = 1

    package init(
        address: BluetoothAddress? = nil, addressType: AddressType? = nil, name: String? = nil, mtu: Int? = nil,
        services: [Service] = [],
        conversations: [Conversation] = []
    ) {
        self.address = address
        self.addressType = addressType
        self.name = name
        self.mtu = mtu
        self.services = services
        self.conversations = conversations
    }

    /// All of them, in order of their handles.
    package var characteristics: [Characteristic] { services.flatMap(\.characteristics) }

    /// Requests with their answers, over all connections.
    package var exchangeCount: Int { conversations.reduce(0) { $0 + $1.exchanges.count } }
}

extension Gadget: Codable {
    private enum CodingKeys: String, CodingKey {
        case version = "gadget"
        case address, addressType, name, mtu, advertisement, scanResponse, services, conversations, rules, gaps
    }

    /// From the document; a newer version is refused.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        version = try container.decode(Int.self, forKey: .version)
        guard version == Self.currentVersion else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: container,
                debugDescription: "version \(version) is not known here; this is for version \(Self.currentVersion)")
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
