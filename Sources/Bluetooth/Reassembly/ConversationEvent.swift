/// Receives an event with its bytes, which are borrowed for the call.
package typealias ConversationHandler = (ConversationEvent, RawSpan) throws -> Void

/// An event of a connection in a capture. Its bytes are a separate, borrowed parameter.
package enum ConversationEvent: Sendable, Hashable {
    case att(ATTObservation)
    case connected(ObservedConnection)
    /// `reason` is the HCI or LL error code, if the capture has it. Incomplete PDUs are dropped.
    case disconnected(ObservedConnection, reason: UInt8?)
    /// A payload was encrypted (link layer only) and is not decoded. There is one event per connection.
    case encrypted(ObservedConnection)
    /// Bytes that are not a PDU, with the reason. Counted in `ConversationReassembler.drops`.
    case dropped(DropReason, ObservedConnection?)
    case advertised(ObservedAdvertiser)
}

/// An ATT PDU of a capture, without its bytes.
package struct ATTObservation: Sendable, Hashable {
    /// The number of the record with the last byte of the PDU.
    package var frame: Int
    package var time: Duration?
    package var connection: ObservedConnection
    /// The direction seen from the host (HCI), the central (link layer), or the phone or gateway (text).
    package var direction: TrafficDirection?
    /// The L2CAP channel: 4, or a dynamic one of an Enhanced ATT bearer. Each bearer has its own transactions.
    package var bearer: UInt16
    /// The characteristic that a text capture names; `nil` in binary captures.
    package var characteristic: BluetoothUUID?
    /// Whether the PDU is not in the capture. PDUs that a text capture lacks are added.
    package var isSynthetic: Bool

    package init(
        frame: Int, time: Duration?, connection: ObservedConnection, direction: TrafficDirection?, bearer: UInt16 = 4,
        characteristic: BluetoothUUID? = nil, isSynthetic: Bool = false
    ) {
        self.frame = frame
        self.time = time
        self.connection = connection
        self.direction = direction
        self.bearer = bearer
        self.characteristic = characteristic
        self.isSynthetic = isSynthetic
    }
}

package enum TrafficDirection: UInt8, Sendable, Hashable {
    case sent
    case received

    package var opposite: TrafficDirection { self == .sent ? .received : .sent }
}

/// A connection of a capture. Another connection with the same handle has another `id`.
package struct ObservedConnection: Sendable, Hashable {
    /// 1, 2, 3… in order of the first packet.
    package var id: Int
    /// The adapter (monitor formats) or interface (pcapng).
    package var adapter: UInt32
    /// The HCI connection handle (12 bits), or the access address on the air.
    package var handle: UInt32
    /// The address of the host's peer; on the air, of the peripheral. `nil` without the start of the connection.
    package var peer: BluetoothAddress?
    /// Whether `peer` is a random address; `nil` if unknown.
    package var isPeerRandom: Bool?
    package var central: BluetoothAddress?
    /// Whether the capturing host is the central; `nil` if unknown.
    package var isCentral: Bool?

    package init(
        id: Int, adapter: UInt32 = 0, handle: UInt32, peer: BluetoothAddress? = nil, isPeerRandom: Bool? = nil,
        central: BluetoothAddress? = nil, isCentral: Bool? = nil
    ) {
        self.id = id
        self.adapter = adapter
        self.handle = handle
        self.peer = peer
        self.isPeerRandom = isPeerRandom
        self.central = central
        self.isCentral = isCentral
    }
}

/// The sender of an advertisement or scan response.
package struct ObservedAdvertiser: Sendable, Hashable {
    package var frame: Int
    package var time: Duration?
    package var address: BluetoothAddress
    package var isRandom: Bool
    package var rssi: Int8?
    package var isScanResponse: Bool

    package init(
        frame: Int, time: Duration?, address: BluetoothAddress, isRandom: Bool, rssi: Int8? = nil,
        isScanResponse: Bool = false
    ) {
        self.frame = frame
        self.time = time
        self.address = address
        self.isRandom = isRandom
        self.rssi = rssi
        self.isScanResponse = isScanResponse
    }
}

/// The reason why bytes of a capture are not a PDU.
package enum DropReason: String, Sendable, Hashable, CaseIterable {
    case truncatedRecord = "the capture has only a part of the packet"
    case shortPacket = "the packet is shorter than the length in its header"
    case continuationWithoutStart = "a continuation without its start"
    case supersededFrame = "a new packet started before the last one was complete"
    case overrun = "more bytes than the length in the packet's header"
    case unknownDirection = "a part of a packet of unknown direction"
    case disconnectedDuringFrame = "the connection ended in the middle of a packet"
    case missedPart = "the sniffer missed a part of the packet"
    case unfinishedAtEnd = "the capture ended in the middle of a packet"
    case retransmission = "a retransmission on the air"
    case badCRC = "the CRC of the packet is wrong"
    case ciphertext = "the link is encrypted"
    case reservedLLID = "a data packet with the reserved LLID 0"
    case emptyPDU = "an empty ATT PDU"
    case diagnostics = "diagnostics of a Qualcomm controller (ACL handle 0xEDC)"
    case classic = "Bluetooth Classic; the bottle uses Bluetooth LE"
}
