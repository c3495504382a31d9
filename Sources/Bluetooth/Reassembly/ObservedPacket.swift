/// One packet of a capture as `ConversationReassembler` takes it; its bytes are passed beside it.
///
/// The same facts as `CapturePacket` of the Captures target, which knows nothing of Bluetooth's: Replay joins the two.
package struct ObservedPacket: Sendable, Hashable {
    /// What kind of packet it is, with what only this kind has.
    package enum Content: Sendable, Hashable {
        /// HCI, without the H4 type byte: 1 command, 2 ACL, 3 SCO, 4 event, 5 ISO.
        case hci(type: UInt8)
        /// The adapter came, went or was switched: all its connections are over.
        case adapterReset
        /// From the air: access address, header, payload, CRC.
        case linkLayer(AirFacts)
        /// A characteristic's value, from text.
        case value(ObservedValue)
        /// Text says that a connection begins (`true`) or ends.
        case connection(isBegin: Bool, peer: BluetoothAddress?)
        /// Nothing of interest.
        case other
    }

    /// What the sniffer says beside the bytes.
    package struct AirFacts: Sendable, Hashable {
        /// RF channel 0–39 (2402 MHz + 2 n); `nil` where the format has none.
        package var rfChannel: UInt8?
        /// Strength in dBm.
        package var signal: Int8?
        /// The sniffer decrypted the payload.
        package var isDecrypted: Bool
        /// `nil`: not checked by the sniffer.
        package var isCRCValid: Bool?
        /// The bytes end without a CRC.
        package var lacksCRC: Bool
        /// The modulation: airtime depends on it, and on the coded PHY a coding indicator byte follows the access
        /// address.
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

    /// A value from text.
    package struct ObservedValue: Sendable, Hashable {
        /// By which ATT procedure the value travelled.
        package enum Travel: UInt8, Sendable, Hashable {
            case writeCommand, writeRequest, notification, indication, read
        }
        /// By which ATT procedure the value travelled.
        package var travel: Travel
        /// `nil` where the text knows only the handle.
        package var characteristic: BluetoothUUID?
        /// Handle of the value, where the text knows it.
        package var handle: UInt16?
        /// Address of the other side, where the text names it.
        package var peer: BluetoothAddress?

        package init(travel: Travel, characteristic: BluetoothUUID?, handle: UInt16?, peer: BluetoothAddress?) {
            self.travel = travel
            self.characteristic = characteristic
            self.handle = handle
            self.peer = peer
        }
    }

    /// 1-based record number.
    package var frame: Int
    /// Since 1970.
    package var time: Duration?
    /// Adapter (monitor formats) or interface (pcapng); else 0.
    package var adapter: UInt32
    /// Which way it went, seen from the host; `nil` where the file does not say.
    package var direction: TrafficDirection?
    /// The capture kept only the first bytes.
    package var isCut: Bool
    /// What the packet is.
    package var content: Content

    package init(
        frame: Int, time: Duration?, adapter: UInt32 = 0, direction: TrafficDirection?, isCut: Bool = false,
        content: Content
    ) {
        self.frame = frame
        self.time = time
        self.adapter = adapter
        self.direction = direction
        self.isCut = isCut
        self.content = content
    }
}
