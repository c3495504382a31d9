/// One record of a capture file, without its bytes: those are passed beside it, borrowed from the reader's window.
///
/// The envelope of the file and of its link type (record headers, direction words, H4 type bytes, monitor opcodes,
/// radio headers) is taken off and said in fields; what remains are the bytes as the controller or the air carried
/// them.
public struct CapturePacket: Sendable, Hashable {
    /// 1-based number of the record in the file, counted as tshark counts frames.
    public var number: Int
    /// `nil` where the format keeps none (simple packet blocks, text without times).
    public var time: CaptureTime?
    /// The adapter of the monitor formats, or in pcapng what its interfaces tell: those of a further section, and parts
    /// of one capture that were put together, go on as the adapter before. Else 0.
    public var adapter: UInt32
    /// `nil` where the file does not say.
    public var direction: PacketDirection?
    /// How many bytes of the packet the file did not keep (snap length, Android's filtered log).
    public var missing: Int
    /// What the bytes beside it are.
    public var content: PacketContent

    public init(
        number: Int, time: CaptureTime?, adapter: UInt32 = 0, direction: PacketDirection?, missing: Int = 0,
        content: PacketContent
    ) {
        self.number = number
        self.time = time
        self.adapter = adapter
        self.direction = direction
        self.missing = missing
        self.content = content
    }

    /// The bytes are a stump, and must not be taken for the whole.
    public var isCut: Bool { missing > 0 }
}

/// Which way a packet went, seen from the host (HCI), the central (link layer) or the phone or gateway (text).
public enum PacketDirection: UInt8, Sendable, Hashable {
    case sent
    case received
}

/// What the bytes beside a `CapturePacket` are.
public enum PacketContent: Sendable, Hashable {
    /// An HCI packet without its H4 type byte.
    case hci(HCIPacketType)
    /// Something that the monitor or PacketLogger says beside the traffic: adapters that come and go, notes, versions.
    case note(CaptureNote)
    /// A packet from the air: access address (4 bytes, as on the air), header (2), payload, CRC (3).
    case linkLayer(LinkLayerFacts)
    /// A characteristic's value, from a text capture; the bytes are the value.
    case value(ValueFacts)
    /// A connection begins or ends, from a text capture; no bytes.
    case connection(ConnectionFacts)
    /// Nothing that this project reads; kept so that record numbers stay right.
    case unknown
}

/// The packet types of H4 (Core 5.4, Vol 4 Part A, 2). An open set: bad captures hold others.
public struct HCIPacketType: RawRepresentable, Sendable, Hashable {
    /// The byte in front of a packet on the UART.
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// HCI command, host to controller.
    public static let command = Self(rawValue: 1)
    /// Asynchronous data: what carries L2CAP, and with it ATT.
    public static let acl = Self(rawValue: 2)
    /// Synchronous data (sound).
    public static let sco = Self(rawValue: 3)
    /// HCI event, controller to host.
    public static let event = Self(rawValue: 4)
    /// Isochronous data.
    public static let iso = Self(rawValue: 5)
}

/// A record that is no traffic, under the number its format gives it.
public enum CaptureNote: Sendable, Hashable {
    /// Linux monitor opcode (0 new index, 1 del index, 8 open, 9 close, 10 index info, 12 system note, …).
    case monitor(UInt16)
    /// Apple PacketLogger type (0xFC note, 0xFD configuration, 0xFE new controller, LMP, …).
    case packetLogger(UInt8)

    /// The adapter came, went, or was switched: nothing that was connected through it still is.
    public var endsConnections: Bool {
        switch self {
        case .monitor(let opcode): opcode == 0 || opcode == 1 || opcode == 8 || opcode == 9
        case .packetLogger(let type): type == 0xFE
        }
    }
}

/// What a sniffer says about a packet from the air, beside its bytes.
public struct LinkLayerFacts: Sendable, Hashable {
    /// RF channel 0...39 (2402 MHz + 2 n), `nil` where the format has none. Not the channel index: 37, 38, 39 are RF 0,
    /// 12, 39.
    public var rfChannel: UInt8?
    /// dBm.
    public var signal: Int8?
    /// The sniffer decrypted the payload (flag 0x0008): plain again, although the link is encrypted.
    public var isDecrypted: Bool
    /// What the sniffer says of the CRC; `nil`: it did not check.
    public var isCRCValid: Bool?
    /// The bytes carry no CRC at all.
    public var lacksCRC: Bool
    /// The modulation: airtime depends on it, and on the coded PHY a coding indicator byte follows the access address.
    public var phy: PHY

    /// LE 1M, LE 2M, LE Coded (Core 5.4, Vol 6 Part A, 1).
    public enum PHY: UInt8, Sendable, Hashable { case le1M, le2M, coded }

    public init(
        rfChannel: UInt8? = nil, signal: Int8? = nil, isDecrypted: Bool = false, isCRCValid: Bool? = nil,
        lacksCRC: Bool = false, phy: PHY = .le1M
    ) {
        self.rfChannel = rfChannel
        self.signal = signal
        self.isDecrypted = isDecrypted
        self.isCRCValid = isCRCValid
        self.lacksCRC = lacksCRC
        self.phy = phy
    }
}

/// What a text capture says about a value, beside its bytes.
public struct ValueFacts: Sendable, Hashable {
    /// How the value travelled.
    public enum Travel: UInt8, Sendable, Hashable {
        /// Write without response, sent.
        case writeCommand
        /// Write with response, sent.
        case writeRequest
        /// Received, unconfirmed.
        case notification
        /// Received, confirmed.
        case indication
        /// The answer to a read, received.
        case read

        /// Which way a value goes that travels so, seen from the phone or gateway.
        public var direction: PacketDirection {
            switch self {
            case .writeCommand, .writeRequest: .sent
            case .notification, .indication, .read: .received
            }
        }
    }

    /// By which ATT procedure the value travelled.
    public var travel: Travel
    /// Whose value it is, as the text names it.
    public var characteristic: CharacteristicName
    /// Address of the bottle, 48 bits as written, where the text names it.
    public var peer: UInt64?

    public init(travel: Travel, characteristic: CharacteristicName, peer: UInt64?) {
        self.travel = travel
        self.characteristic = characteristic
        self.peer = peer
    }
}

/// How a text names a characteristic.
public enum CharacteristicName: Sendable, Hashable {
    /// The 128 bits of its UUID, in the order in which UUIDs are written.
    case uuid(high: UInt64, low: UInt64)
    /// Only the handle of its value is known.
    case handle(UInt16)

    /// A 16-bit UUID on the Bluetooth base, `0000xxxx-0000-1000-8000-00805F9B34FB`.
    public static func short(_ value: UInt16) -> CharacteristicName {
        .uuid(high: UInt64(value) << 32 | 0x1000, low: 0x8000_0080_5F9B_34FB)
    }
}

/// A connection that a text capture says began or ended.
public struct ConnectionFacts: Sendable, Hashable {
    /// `true`: the connection begins; `false`: it ends.
    public var isBegin: Bool
    /// Address of the bottle, 48 bits as written, where the text names it.
    public var peer: UInt64?

    public init(isBegin: Bool, peer: UInt64?) {
        self.isBegin = isBegin
        self.peer = peer
    }
}
