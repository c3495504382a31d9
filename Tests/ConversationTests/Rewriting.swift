import Bluetooth
import Captures
import Replay

/// A conversation as a test defines it: one connection, PDUs with times.
struct Conversation {
    var peer: BluetoothAddress? = BluetoothAddress(0xA4C1_3801_0203)
    var start = Duration.seconds(1_770_000_000)
    var pdus: [(TrafficDirection, [UInt8])] = []
    var gap = Duration.milliseconds(20)

    /// The sync of a retail bottle, with discovery and with a PDU longer than any fragment.
    static let sync: Conversation = {
        var made = Conversation()
        made.pdus = [
            (.sent, bytes("02 05 02")), (.received, bytes("03 05 02")),
            (.sent, bytes("08 01 00 ff ff 03 28")),
            (.received, bytes("09 07 02 00 02 03 00 00 2a 11 00 04 12 00 e9 ff 21 00 10 22 00 e4 ff")),
            (.sent, bytes("12 23 00 01 00")), (.received, bytes("13")),
            (.sent, bytes("52 12 00 47 54 00 01 06")),
            (.received, bytes("1b 22 00 50 54 00 0f 0e 06 1a 02 02 16 15 0f 00 10 00 00 01 61 00")),
            (.received, bytes("1b 22 00 50 54 01 f2") + (0..<498).map { UInt8(truncatingIfNeeded: $0) }),
            (.sent, bytes("52 12 00 52 50 00 04 03 06 00 0d")),
        ]
        return made
    }()

    var events: [(ConversationEvent, [UInt8], Duration)] {
        let connection = ObservedConnection(id: 1, handle: 0x40, peer: peer, isPeerRandom: false, isCentral: true)
        var time = start
        var events: [(ConversationEvent, [UInt8], Duration)] = [(.connected(connection), [], time)]
        for (direction, pdu) in pdus {
            time += gap
            events.append(
                (.att(ATTObservation(frame: 0, time: time, connection: connection, direction: direction)), pdu, time))
        }
        events.append((.disconnected(connection, reason: 0x13), [], time + gap))
        return events
    }

    func file(_ format: CaptureFormat) throws -> [UInt8] {
        var writer = CaptureWriter(format)
        var synthesiser = ConversationSynthesiser(format.layer == .hci ? .hci : .linkLayer)
        for (event, pdu, time) in events {
            try synthesiser.receive(event, pdu.span.bytes, frame: 0, time: time) { packet, bytes in
                try writer.write(packet, bytes)
            }
        }
        return writer.takeOutput()
    }
}
