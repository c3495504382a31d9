import Bluetooth
import Captures
import Testing

@Suite struct HexTextTests {
    private static func value(_ reading: Reading, _ index: Int = 0) -> ValueInfo? {
        guard reading.packets.indices.contains(index), case .value(let info) = reading.packets[index].packet.content
        else { return nil }
        return info
    }

    /// Valid notations of the verified one-record sample.
    static let spellings = [
        "2026-02-02T22:21:20Z < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00",
        "2026-02-02T23:21:20+01:00 < ffe4 5054000f0e061a020216150f001000000161 00\n", "2026-02-02 < FFE4 50",
        "1770070880\t<\t0xFFE4\t50-54-00-0F-0E-06-1A-02-02-16-15-0F-00-10-00-00-01-61-00\r\n",
        "< FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00",
        "- received 0000ffe4-0000-1000-8000-00805f9b34fb 0x50 0x54 0x00 0F0E061A020216150F00100000016100",
        """
        # a comment\n\n  \nname: Bottle\nstart: 2026-02-02T22:21:00Z\n20 notify FFE4 \
        50:54:00:0F:0E:06:1A:02:02:16:15:0F:00:10:00:00:01:61:00 # one drink
        """,
        "date: 2026-02-02\n22:21:20 < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00",
    ]

    @Test(arguments: spellings)
    func `valid notations of a record give the same packet`(text: String) {
        let reading = Reading(text)
        if text.hasPrefix("2026-02-02 ") {
            // A date without a time is invalid.
            #expect(reading.error != nil)
            return
        }
        #expect(reading.error == nil)
        #expect(reading.payloads == [bytes("50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00")])
        #expect(Self.value(reading)?.characteristic == BluetoothUUID(0xFFE4))
        #expect(Self.value(reading)?.kind == .notification)
        let time = reading.packets.first?.packet.time
        #expect(time == nil || time == Duration(seconds: 1_770_070_880))
    }

    static let directions: [(String, ValueInfo.Kind, TrafficDirection)] = [
        (">", .writeCommand, .sent), (">>", .writeRequest, .sent), ("<", .notification, .received),
        ("<<", .indication, .received),
        ("=", .read, .received), ("write", .writeCommand, .sent), ("request", .writeRequest, .sent),
        ("Read", .read, .received),
    ]

    @Test(arguments: directions)
    func `direction words are parsed`(_ word: String, _ kind: ValueInfo.Kind, _ direction: TrafficDirection) {
        let reading = Reading("1 \(word) FF02 00")
        #expect(Self.value(reading)?.kind == kind)
        #expect(reading.packets.first?.packet.direction == direction)
    }

    @Test func `times of day continue after midnight`() {
        let reading = Reading("date: 2026-12-31\n23:59:59.5 < FFE4 00\n00:00:01 < FFE4 00\n00:00:00.9 < FFE4 00")
        #expect(reading.times == ["1798761599.500000000", "1798761601.000000000", "1798761600.900000000"])
    }

    @Test func `several bottles in one text are distinct`() {
        let text =
            """
            address: A4:C1:38:00:00:01\nname: One\n1 connected\n1 < FFE4 01\naddress: A4:C1:38:00:00:02\nname: \
            Two\n2 connected\n2 < FFE4 02\naddress: A4:C1:38:00:00:01\n3 < FFE4 03\n4 disconnected \
            a4:c1:38:00:00:02
            """
        let reading = Reading(text)
        #expect(reading.error == nil)
        #expect(
            reading.info.names == [
                BluetoothAddress(0xA4C1_3800_0001): "One", BluetoothAddress(0xA4C1_3800_0002): "Two",
            ])
        #expect(
            [1, 3, 4].map { Self.value(reading, $0)?.peer } == [
                BluetoothAddress(0xA4C1_3800_0001), BluetoothAddress(0xA4C1_3800_0002),
                BluetoothAddress(0xA4C1_3800_0001),
            ])
        #expect(
            reading.packets.last?.packet.content
                == .connection(isStart: false, peer: BluetoothAddress(0xA4C1_3800_0002))
        )
    }

    static let bad: [(String, String)] = [
        ("1 < FFE4 5G", "line 1: the bytes are not pairs"), ("1 < FFE4 505\n2 < FFE4 00", "line 1"),
        ("1 > FFE\n", "characteristic"),
        ("1 <\n", "characteristic"), ("1 ! FFE4 00\n1 < FFE4 00", "not a capture"),
        ("1 < FFE4 00\n1 ! FFE4 00\n", "line 2: '!' is not a direction"),
        ("1 < FFE4 00\nsoon < FFE4 00\n", "line 2: 'soon'"), ("address: nowhere\n1 < FFE4 00", "not an address"),
        ("start: soon\n1 < FFE4 00", "not a start"), ("date: 2026-13-01\n", "not a date"),
        ("1 connected 12\n", "not an address"), ("HCI sniffer\n< ACL data: handle 65\n    0000: 02\n", "hcidump -R"),
        ("name: x\n99999999999999999999 < FFE4 00\n", "line 2"), ("1 < handle:12345 00\n", "characteristic"),
    ]

    @Test(arguments: bad)
    func `an invalid line is reported with its number`(_ text: String, _ fragment: String) throws {
        let error = try #require(Reading(text).error)
        #expect("\(error)".contains(fragment) || error.kind == .truncated, "\(error)")
    }

    /// Quoted content has no control characters, and a long word is shortened.
    @Test func `an error quotes a line shortened and without control characters`() throws {
        let error = try #require(
            Reading("1 < FFE4 00\n\u{1B}[31m\(String(repeating: "x", count: 5000)) < FFE4 00\n").error)
        #expect(error.sentence.contains("line 2: '[31mxxx"))
        #expect(!error.sentence.contains("\u{1B}") && error.sentence.utf8.count < 300)
    }

    @Test func `the last line needs no newline`() {
        #expect(Reading("1 < FFE4 0102").packets.count == 1)
        #expect(Reading("1 < FFE4 010").error?.kind == .truncated)
    }

    @Test func `a line without an end is rejected`() {
        let text = "1 < FFE4 00\n1 < FFE4 " + String(repeating: "00", count: 200_000)
        #expect(Reading(text, step: 50_000).error?.kind == .malformed)
    }

    @Test func `line breaks in device names are removed`() throws {
        var info = CaptureFileInfo()
        info.name = "Water\n1 < FFE4 00\u{1B}[31m"
        var writer = CaptureWriter(CaptureFormat(.hexText, .text), info: info)
        try writer.write(Samples.text[0].0, RawSpan())
        #expect(Reading(writer.takeOutput()).packets.count == 1)
    }
}
