/// What a capture shows of one connection's life, in the order in which it is known.
///
/// The bytes belonging to an event (the PDU of `att`, the advertising data of `advertised`) are passed beside it,
/// borrowed.
package enum ConversationEvent: Sendable, Hashable {
    /// A whole ATT PDU.
    case att(ATTObservation)
    /// A connection was made.
    case connected(ObservedConnection)
    /// It ended; `reason` is the HCI or LL error code where one was seen. Halves of PDUs died with it.
    case disconnected(ObservedConnection, reason: UInt8?)
    /// A payload of this connection was ciphertext: nothing encrypted is decoded (link layer only). Told once.
    case encrypted(ObservedConnection)
    /// Bytes that became no PDU, and why. Counted in `ConversationReassembler.drops`.
    case dropped(DropReason, ObservedConnection?)
    /// Somebody advertised; the bytes are the AD structures.
    case advertised(ObservedAdvertiser)
}

/// One ATT PDU as a capture shows it, without its bytes.
package struct ATTObservation: Sendable, Hashable {
    /// Number of the record in which its last byte came.
    package var frame: Int
    /// Time of that record, since 1970.
    package var time: Duration?
    /// The connection on which it passed.
    package var connection: ObservedConnection
    /// Seen from the host (HCI), the central (link layer), the phone or gateway (text).
    package var direction: TrafficDirection?
    /// The L2CAP channel: 4, or a dynamic one of the Enhanced ATT bearer. Each bearer has its own requests and answers.
    package var bearer: UInt16
    /// The characteristic that a text capture names; binary captures leave it to the discovery.
    package var characteristic: BluetoothUUID?
    /// It is not in the capture: the discovery and acknowledgements that a text capture leaves out are added, so that
    /// everything that reads binary captures reads it too.
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

/// Which way something went, seen from the host whose log it is.
package enum TrafficDirection: UInt8, Sendable, Hashable {
    case sent
    case received

    /// The other way.
    package var opposite: TrafficDirection { self == .sent ? .received : .sent }
}

/// A connection of a capture. A reused handle is a new connection, with a new `id`.
package struct ObservedConnection: Sendable, Hashable {
    /// 1, 2, 3… in order of first sight.
    package var id: Int
    /// Adapter (monitor formats) or interface (pcapng) that saw it.
    package var adapter: UInt32
    /// HCI connection handle (12 bits), or access address on the air.
    package var handle: UInt32
    /// The other side, seen from the host; on the air the peripheral (the advertiser). `nil` where the capture does not
    /// hold the beginning.
    package var peer: BluetoothAddress?
    /// Whether `peer` is a random address; `nil` where unknown.
    package var isPeerRandom: Bool?
    /// On the air: the central.
    package var central: BluetoothAddress?
    /// Whether the capturing host is the central; `nil` where unknown.
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

/// Who sent an advertisement or scan response, in which record.
package struct ObservedAdvertiser: Sendable, Hashable {
    /// Number of the record.
    package var frame: Int
    /// Time of that record, since 1970.
    package var time: Duration?
    /// Who advertised.
    package var address: BluetoothAddress
    /// Whether the address is a random one.
    package var isRandom: Bool
    /// dBm, where the capture says.
    package var rssi: Int8?
    /// The answer to a scan request, not the advertisement itself.
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

/// Why bytes of a capture became no PDU.
package enum DropReason: String, Sendable, Hashable, CaseIterable {
    case cutRecord = "the capture kept only part of the packet"
    case shortPacket = "the packet is shorter than its own header says"
    case continuationWithoutStart = "a continuation whose beginning is not in the capture"
    case supersededHalf = "a new packet began before the last was complete"
    case overrun = "more bytes came than the packet's header announced"
    case unknownDirection =
        "a part of a packet, and the capture does not say of whose: both directions have one under way"
    case disconnectedHalf = "the connection ended in the middle of a packet"
    case missedPart = "the sniffer missed a part of the packet"
    case unfinishedAtEnd = "the capture ended in the middle of a packet"
    case retransmission = "a retransmission on the air"
    case badCRC = "the CRC on the air is wrong"
    case ciphertext = "the link is encrypted"
    case reservedLLID = "a data packet on the air of a kind that does not exist (LLID 0)"
    case emptyPDU = "an ATT PDU without a byte"
    case diagnostics = "a Qualcomm controller's own diagnostics (ACL handle 0xEDC), no connection"
    case classic = "classic Bluetooth, where no bottle speaks (it speaks Bluetooth LE)"
}
