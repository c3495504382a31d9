import Bluetooth
import Captures
import Testing

@Suite struct CaptureTimeTests {
    static let texts: [(Duration, String)] = [
        (Duration(seconds: 0), "0.000000000"),
        (Duration(seconds: 1_612_150_079, nanoseconds: 92_423_000), "1612150079.092423000"),
        (Duration(seconds: 0, nanoseconds: -1), "-0.000000001"),
        (Duration(seconds: -1, nanoseconds: -500_000_000), "-1.500000000"),
        (Duration(seconds: .max), "9223372036854775807.000000000"),
    ]

    @Test(arguments: texts)
    func `times are formatted as text`(_ time: Duration, _ text: String) { #expect(TextEncoding.epoch(time) == text) }

    @Test func `times that a format cannot store count from the first packet`() throws {
        let packet = CapturePacket(number: 1, time: Duration(seconds: -5), direction: .sent, content: .hci(.command))
        for name in ["pcap", "pcapng", "pklg"] {
            var writer = CaptureWriter(CaptureFormat(name: name) ?? CaptureFormat(.pcap, .h4))
            try writer.write(packet, [3, 12, 0].span.bytes)
            #expect(writer.retimedRecords == 1)
            #expect(Reading(writer.takeOutput()).packets.map(\.packet.time?.wholeSeconds) == [0])
        }
        var writer = CaptureWriter(CaptureFormat(.btsnoop, .h4))
        #expect(throws: Never.self) { try writer.write(packet, [3, 12, 0].span.bytes) }
    }

    @Test func `data that a format cannot store is reported`() {
        let stump = CapturePacket(number: 3, time: nil, direction: .sent, missing: 4, content: .hci(.acl))
        let air = CapturePacket(number: 1, time: nil, direction: nil, content: .linkLayer(LinkLayerInfo()))
        let unnamed = CapturePacket(
            number: 1, time: Duration(seconds: 1), direction: .sent,
            content: .value(ValueInfo(kind: .writeCommand, characteristic: nil, handle: 9, peer: nil)))
        let refused: [(String, CapturePacket)] = [
            ("pklg", stump), ("btsnoop", air), ("hex", air), ("pcap-ll", stump), ("nrf", unnamed), ("nrf", stump),
        ]
        for (name, packet) in refused {
            var writer = CaptureWriter(CaptureFormat(name: name) ?? CaptureFormat(.pcap, .h4))
            #expect(throws: CaptureError.self, "\(name)") { try writer.write(packet, [1, 2, 3, 4].span.bytes) }
        }
    }

    @Test(arguments: [
        (Int64.min, -292_277_022_657, 30_592), (-86_401, 1969, 86_399), (-1, 1969, 86_399), (0, 1970, 0),
        (.max, 292_277_026_596, 55_807),
    ])
    func `every second has a date`(second: Int64, year: Int, secondOfDay: Int) {
        let civil = CivilTime(secondsSince1970: second)
        #expect(civil.year == year && civil.secondOfDay == secondOfDay)
    }

    @Test func `the writer skips notes of another format`() throws {
        let note = CapturePacket(number: 1, time: nil, direction: nil, content: .note(.packetLogger(0xFC)))
        var writer = CaptureWriter(CaptureFormat(.btsnoop, .monitor))
        #expect(try writer.write(note, [1].span.bytes) == false)
        #expect(writer.output.count == 16)
    }
}
