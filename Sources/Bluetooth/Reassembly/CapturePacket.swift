/// One record of a capture. Its bytes are a separate parameter, borrowed from the reader's buffer.
///
/// The fields hold the data of the headers: record headers, direction flags, H4 type bytes, monitor opcodes, radio
/// headers. The bytes are the packet of the controller or the air, without these headers.
package struct CapturePacket: Sendable, Hashable {
    /// The number of the record in the file from 1, counted as tshark counts frames.
    package var number: Int
    /// The time since 1970; `nil` if the format has none.
    package var time: Duration?
    /// The adapter (monitor formats) or interface (pcapng); 0 in other formats.
    package var adapter: UInt32
    /// The direction seen from the host (HCI), the central (link layer) or the phone (text); `nil` if unknown.
    package var direction: TrafficDirection?
    /// The number of bytes of the packet that the file does not contain.
    package var missing: Int
    package var content: PacketContent

    package init(
        number: Int, time: Duration?, adapter: UInt32 = 0, direction: TrafficDirection?, missing: Int = 0,
        content: PacketContent
    ) {
        self.number = number
        self.time = time
        self.adapter = adapter
        self.direction = direction
        self.missing = missing
        self.content = content
    }

    package var isTruncated: Bool { missing > 0 }
    /// The reason to drop the packet if it is shorter than its header states.
    var shortReason: DropReason { isTruncated ? .truncatedRecord : .shortPacket }
}

/// Receives a packet with its bytes, which are borrowed for the call.
package typealias PacketSink = (CapturePacket, RawSpan) throws -> Void

package enum PacketContent: Sendable, Hashable {
    case hci(HCIPacketType)
    /// A note of the monitor or of PacketLogger: adapters, versions, text.
    case note(CaptureNote)
    /// A packet from the air: access address (4 bytes), header (2), payload, CRC (3).
    case linkLayer(LinkLayerInfo)
    /// A characteristic's value, from a text capture.
    case value(ValueInfo)
    /// The start or end of a connection in a text capture, without bytes.
    case connection(isStart: Bool, peer: BluetoothAddress?)
    /// An unreadable record. It keeps the record numbers correct.
    case unknown
}

/// The packet types of H4 (Core 5.4, Vol 4 Part A, 2).
package struct HCIPacketType: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let command = Self(rawValue: 1)
    /// Asynchronous data, which carries L2CAP.
    package static let acl = Self(rawValue: 2)
    /// Synchronous data (audio).
    package static let sco = Self(rawValue: 3)
    package static let event = Self(rawValue: 4)
    package static let iso = Self(rawValue: 5)

    /// The length of a packet with its type byte, according to its length field. If the bytes end before that field,
    /// the length up to the end of the field. `nil` for an unknown type.
    package static func length(ofH4 packet: ArraySlice<UInt8>) -> Int? {
        let (offset, size): (Int, Int)
        switch packet.first.map(Self.init(rawValue:)) {
        case .command, .sco: (offset, size) = (3, 1)
        case .acl, .iso: (offset, size) = (3, 2)
        case .event: (offset, size) = (2, 1)
        default: return nil
        }
        guard packet.count >= offset + size else { return offset + size }
        let at = packet.startIndex + offset
        guard size == 2 else { return offset + size + Int(packet[at]) }
        // The two highest bits of the ISO data length field are reserved.
        return offset + size + Int(packet.uint16(at: at) & (packet.first == iso.rawValue ? 0x3FFF : 0xFFFF))
    }
}

/// A record without traffic, with its number in the format.
package enum CaptureNote: Sendable, Hashable {
    /// Linux monitor opcode (0 new index, 1 del index, 8 open, 9 close, 10 index info, 12 system note, …).
    case monitor(UInt16)
    /// Apple PacketLogger type (0xFC note, 0xFD configuration, 0xFE new controller, LMP, …).
    case packetLogger(UInt8)

    /// Whether the note ends all connections: the adapter was added, removed or switched on or off.
    package var endsConnections: Bool {
        switch self {
        case .monitor(let opcode): opcode == 0 || opcode == 1 || opcode == 8 || opcode == 9
        case .packetLogger(let type): type == 0xFE
        }
    }
}

/// The access address of all advertising packets (Core 5.4, Vol 6 Part B, 2.1.2).
package let advertisingAccessAddress: UInt32 = 0x8E89_BED6

/// The sniffer's data about a packet on the air.
package struct LinkLayerInfo: Sendable, Hashable {
    /// The RF channel 0–39 (2402 + 2 n MHz); `nil` if the format has none. Channel indices 37, 38, 39 are RF 0, 12, 39.
    package var rfChannel: UInt8?
    /// Signal strength in dBm.
    package var signal: Int8?
    package var isDecrypted: Bool
    /// Whether the CRC is valid; `nil` if the sniffer did not check it.
    package var isCRCValid: Bool?
    /// The modulation. On the coded PHY a coding indicator byte follows the access address.
    package var phy: PHY

    /// LE 1M, LE 2M, LE Coded (Core 5.4, Vol 6 Part A, 1). The numbers are those of the sniffers' headers.
    package enum PHY: UInt8, Sendable, Hashable { case le1M, le2M, coded }

    package init(
        rfChannel: UInt8? = nil, signal: Int8? = nil, isDecrypted: Bool = false, isCRCValid: Bool? = nil,
        phy: PHY = .le1M
    ) {
        self.rfChannel = rfChannel
        self.signal = signal
        self.isDecrypted = isDecrypted
        self.isCRCValid = isCRCValid
        self.phy = phy
    }
}

/// A text capture's data about a value.
package struct ValueInfo: Sendable, Hashable {
    /// The ATT procedure that carried the value.
    package enum Kind: UInt8, Sendable, Hashable {
        case writeCommand, writeRequest, notification, indication, read

        /// The direction seen from the phone.
        package var direction: TrafficDirection {
            switch self {
            case .writeCommand, .writeRequest: .sent
            case .notification, .indication, .read: .received
            }
        }
    }

    package var kind: Kind
    /// The characteristic; `nil` if the text has only the handle.
    package var characteristic: BluetoothUUID?
    /// The value handle, if the text has it.
    package var handle: UInt16?
    package var peer: BluetoothAddress?

    package init(kind: Kind, characteristic: BluetoothUUID?, handle: UInt16? = nil, peer: BluetoothAddress?) {
        self.kind = kind
        self.characteristic = characteristic
        self.handle = handle
        self.peer = peer
    }
}

extension Duration {
    /// A time since 1970. `nanoseconds` can be negative or above one second.
    package init(seconds: Int64, nanoseconds: Int64 = 0) {
        self = .seconds(seconds) + .nanoseconds(nanoseconds)
    }

    /// Whole seconds, rounded down.
    package var wholeSeconds: Int64 {
        let (seconds, attoseconds) = components
        return attoseconds < 0 && seconds > .min ? seconds - 1 : seconds
    }

    /// Nanoseconds after `wholeSeconds`, 0..<1 000 000 000.
    package var nanosecond: Int64 {
        let attoseconds = components.attoseconds
        return (attoseconds < 0 ? attoseconds + 1_000_000_000_000_000_000 : attoseconds) / 1_000_000_000
    }
}
