/// One record of a capture file, without its bytes: those are passed beside it, borrowed from the reader's window.
///
/// The envelope of the file and of its link type (record headers, direction words, H4 type bytes, monitor opcodes,
/// radio headers) is taken off and said in fields; what remains are the bytes as the controller or the air carried
/// them.
package struct CapturePacket: Sendable, Hashable {
    /// 1-based number of the record in the file, counted as tshark counts frames.
    package var number: Int
    /// `nil` where the format keeps none (simple packet blocks, text without times).
    package var time: CaptureTime?
    /// The adapter of the monitor formats, or in pcapng what its interfaces tell: those of a further section, and parts
    /// of one capture that were put together, go on as the adapter before. Else 0.
    package var adapter: UInt32
    /// `nil` where the file does not say.
    package var direction: PacketDirection?
    /// How many bytes of the packet the file did not keep (snap length, Android's filtered log).
    package var missing: Int
    /// What the bytes beside it are.
    package var content: PacketContent

    package init(
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
    package var isCut: Bool { missing > 0 }
}

/// Which way a packet went, seen from the host (HCI), the central (link layer) or the phone or gateway (text).
package enum PacketDirection: UInt8, Sendable, Hashable {
    case sent
    case received
}

/// What the bytes beside a `CapturePacket` are.
package enum PacketContent: Sendable, Hashable {
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
package struct HCIPacketType: RawRepresentable, Sendable, Hashable {
    /// The byte in front of a packet on the UART.
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// HCI command, host to controller.
    package static let command = Self(rawValue: 1)
    /// Asynchronous data: what carries L2CAP, and with it ATT.
    package static let acl = Self(rawValue: 2)
    /// Synchronous data (sound).
    package static let sco = Self(rawValue: 3)
    /// HCI event, controller to host.
    package static let event = Self(rawValue: 4)
    /// Isochronous data.
    package static let iso = Self(rawValue: 5)
}

/// A record that is no traffic, under the number its format gives it.
package enum CaptureNote: Sendable, Hashable {
    /// Linux monitor opcode (0 new index, 1 del index, 8 open, 9 close, 10 index info, 12 system note, …).
    case monitor(UInt16)
    /// Apple PacketLogger type (0xFC note, 0xFD configuration, 0xFE new controller, LMP, …).
    case packetLogger(UInt8)

    /// The adapter came, went, or was switched: nothing that was connected through it still is.
    package var endsConnections: Bool {
        switch self {
        case .monitor(let opcode): opcode == 0 || opcode == 1 || opcode == 8 || opcode == 9
        case .packetLogger(let type): type == 0xFE
        }
    }
}

/// What a sniffer says about a packet from the air, beside its bytes.
package struct LinkLayerFacts: Sendable, Hashable {
    /// RF channel 0...39 (2402 MHz + 2 n), `nil` where the format has none. Not the channel index: 37, 38, 39 are RF 0,
    /// 12, 39.
    package var rfChannel: UInt8?
    /// dBm.
    package var signal: Int8?
    /// The sniffer decrypted the payload (flag 0x0008): plain again, although the link is encrypted.
    package var isDecrypted: Bool
    /// What the sniffer says of the CRC; `nil`: it did not check.
    package var isCRCValid: Bool?
    /// The bytes carry no CRC at all.
    package var lacksCRC: Bool
    /// The modulation: airtime depends on it, and on the coded PHY a coding indicator byte follows the access address.
    package var phy: PHY

    /// LE 1M, LE 2M, LE Coded (Core 5.4, Vol 6 Part A, 1).
    package enum PHY: UInt8, Sendable, Hashable { case le1M, le2M, coded }

    package init(
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
package struct ValueFacts: Sendable, Hashable {
    /// How the value travelled.
    package enum Travel: UInt8, Sendable, Hashable {
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
        package var direction: PacketDirection {
            switch self {
            case .writeCommand, .writeRequest: .sent
            case .notification, .indication, .read: .received
            }
        }
    }

    /// By which ATT procedure the value travelled.
    package var travel: Travel
    /// Whose value it is, as the text names it.
    package var characteristic: CharacteristicName
    /// Address of the bottle, 48 bits as written, where the text names it.
    package var peer: UInt64?

    package init(travel: Travel, characteristic: CharacteristicName, peer: UInt64?) {
        self.travel = travel
        self.characteristic = characteristic
        self.peer = peer
    }
}

/// How a text names a characteristic.
package enum CharacteristicName: Sendable, Hashable {
    /// The 128 bits of its UUID, in the order in which UUIDs are written.
    case uuid(high: UInt64, low: UInt64)
    /// Only the handle of its value is known.
    case handle(UInt16)

    /// A 16-bit UUID on the Bluetooth base, `0000xxxx-0000-1000-8000-00805F9B34FB`.
    package static func short(_ value: UInt16) -> CharacteristicName {
        .uuid(high: UInt64(value) << 32 | 0x1000, low: 0x8000_0080_5F9B_34FB)
    }
}

/// A connection that a text capture says began or ended.
package struct ConnectionFacts: Sendable, Hashable {
    /// `true`: the connection begins; `false`: it ends.
    package var isBegin: Bool
    /// Address of the bottle, 48 bits as written, where the text names it.
    package var peer: UInt64?

    package init(isBegin: Bool, peer: UInt64?) {
        self.isBegin = isBegin
        self.peer = peer
    }
}
