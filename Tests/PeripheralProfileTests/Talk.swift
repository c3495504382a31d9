import Bluetooth
import Replay
import Emulator

/// A conversation as a list of PDUs, passed to the reader as the reassembly does.
struct Talk {
    private(set) var events: [(ConversationEvent, [UInt8])] = []
    private var connection: ObservedConnection
    private var frame = 0
    /// The time of the next PDU, in milliseconds.
    var ms = 0

    static let address = BluetoothAddress(0xC0FF_EE00_0001)

    init(peer: BluetoothAddress? = address, isCentral: Bool? = true) {
        connection = ObservedConnection(id: 1, handle: 0x40, peer: peer, isPeerRandom: false, isCentral: isCentral)
        events.append((.connected(connection), []))
    }

    mutating func connect(_ id: Int, peer: BluetoothAddress? = address) {
        events.append((.disconnected(connection, reason: 0x13), []))
        connection = ObservedConnection(id: id, handle: 0x40, peer: peer, isPeerRandom: false, isCentral: true)
        events.append((.connected(connection), []))
    }

    mutating func encrypt() { events.append((.encrypted(connection), [])) }

    mutating func advertise(_ data: [UInt8], isScanResponse: Bool = false) {
        events.append(
            (
                .advertised(
                    ObservedAdvertiser(
                        frame: 0, time: nil, address: Self.address, isRandom: true, isScanResponse: isScanResponse)),
                data
            ))
    }

    /// A PDU from the host, `after` milliseconds later.
    mutating func ask(_ pdu: [UInt8], after: Int = 10) { add(pdu, .sent, after) }
    /// A PDU from the peripheral.
    mutating func answer(_ pdu: [UInt8], after: Int = 5) { add(pdu, .received, after) }

    mutating func add(_ pdu: [UInt8], _ direction: TrafficDirection?, _ after: Int) {
        frame += 1
        ms += after
        let observation = ATTObservation(
            frame: frame, time: .seconds(1_770_000_000) + .milliseconds(ms), connection: connection,
            direction: direction)
        events.append((.att(observation), pdu))
    }

    /// One service 1–9 (180F): 2A19 at 3 with 2902 at 4, FF01 at 6 (read, write), its description 2901 at 7.
    mutating func discover() {
        ask([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28])
        answer([0x11, 6, 1, 0, 9, 0, 0x0F, 0x18])
        ask([0x08, 1, 0, 9, 0, 0x03, 0x28])
        answer([0x09, 7, 2, 0, 0x12, 3, 0, 0x19, 0x2A, 5, 0, 0x0A, 6, 0, 0x01, 0xFF])
        ask([0x04, 4, 0, 4, 0])
        answer([0x05, 1, 4, 0, 0x02, 0x29])
        ask([0x04, 7, 0, 9, 0])
        answer([0x05, 1, 7, 0, 0x01, 0x29])
    }

    func peripherals() throws -> [ObservedPeripheral] {
        let reader = ProfileReader()
        for (event, bytes) in events { try reader.receive(event, bytes.span.bytes) }
        return reader.finish()
    }

    func profile() throws -> PeripheralProfile {
        let found = try peripherals()
        guard let profile = found.first(where: \.hasResponded)?.profile ?? found.first?.profile else {
            throw ProfileError("", "the capture has no peripheral")
        }
        try profile.check()
        return profile
    }
}
