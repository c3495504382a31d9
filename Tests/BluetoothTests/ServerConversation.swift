import Bluetooth
import Testing

/// A small bottle's attribute table: handles 1-5 GAP, 6-9 GATT, then these:
///
/// ```
/// 10 service FFE0 · 11 declaration, 12 FFE4 (notify, read), 13 CCCD, 14 "Response" ·
/// 15 declaration, 16 FFE9 (write without response)
/// 17 service 00010203-…1912 · 18 declaration, 19 …2B12 (write, read)
/// 20 service 180A · 21 declaration, 22 2A25 (constant) · 23 declaration, 24 2A19 (indicate, read constant), 25 CCCD
/// ```
let smallBottle = GATTApplication(
    name: "WaterH-Boost-24oz", advertisedServices: [],
    services: [
        LocalService(
            uuid: 0xFFE0,
            characteristics: [
                LocalCharacteristic(uuid: 0xFFE4, properties: [.notify, .read], userDescription: "Response"),
                LocalCharacteristic(uuid: 0xFFE9, properties: .writeWithoutResponse),
            ]),
        LocalService(
            uuid: BluetoothUUID("00010203-0405-0607-0809-0A0B0C0D1912")!,
            characteristics: [LocalCharacteristic(uuid: firmware, properties: [.write, .read])]),
        LocalService(
            uuid: 0x180A,
            characteristics: [
                LocalCharacteristic(uuid: 0x2A25, properties: .read, constant: Array("A4:C1:38:01:02:03".utf8)),
                LocalCharacteristic(uuid: 0x2A19, properties: [.indicate, .read], constant: [97]),
            ]),
    ])

let firmware = BluetoothUUID("00010203-0405-0607-0809-0A0B0C0D2B12")!

/// A server and its last output.
struct Conversation {
    var server: GATTServer
    let central = CentralID("one")
    var now = MonotonicInstant.start
    var events: [PeripheralEvent] = []
    var log: [String] = []
    var isClosed = false

    init(_ application: GATTApplication = smallBottle, mtu: Int? = nil) throws {
        server = try GATTServer(application)
        _ = feed(.opened(central))
        if let mtu {
            var request = ATTPDU.exchangeMTURequest(mtu: UInt16(mtu)).encoded
            request = feed(.received(central, request)).first ?? []
            #expect(request == [0x03, 0x05, 0x02])
        }
        events = []
    }

    /// The PDUs from the server to the central for this input.
    mutating func feed(_ input: GATTServer.Input) -> [[UInt8]] {
        var sent: [[UInt8]] = []
        for effect in server.handle(input, at: now) {
            switch effect {
            case .send(_, let pdu): sent.append(pdu)
            case .event(let event): events.append(event)
            case .close: isClosed = true
            case .log(let line): log.append(line)
            case .advertise: break
            }
        }
        return sent
    }

    /// The responses to one PDU as text; a token in an event is answered with `value`.
    mutating func exchange(_ pdu: String, value: [UInt8]? = nil) -> String {
        var sent = feed(.received(central, bytes(pdu)))
        if let value, let token { sent += feed(.request(.respond(token: token, .value(value)))) }
        return sent.map(hex).joined(separator: " | ")
    }

    /// The token of the last event that has one.
    var token: UInt64? { events.reversed().lazy.compactMap(\.token).first }
}

extension PeripheralEvent {
    /// The token of a read, or of a write that needs a response.
    var token: UInt64? {
        switch self {
        case .read(_, _, _, let token): token
        case .write(_, _, _, let token): token
        default: nil
        }
    }
}
