import Bluetooth
import Captures
import Testing

/// Output of btmon: the samples are from BlueZ 5.66, the characteristics' request as in 5.7x.
@Suite struct MonitorTextTests {
    static let text = corpusText("any/btmon")

    static let packets = [
        "3e13010041000000d2d13138c1a418000000f40100", "4100 0700 0300 0400 02 0502",
        "4100 0b00 0700 0400 10 0100 ffff 0028", "4120 1a00 1600 0400 11 14 1600 1900 12190d0c0b0a09080706050403020100",
        "4120 1200 0e00 0400 11 06 0100 0500 0018 1100 1500 e0ff", "4100 0b00 0700 0400 08 1100 1500 0328",
        "4120 0d00 0900 0400 09 07 1200 10 1300 e4ff", "4120 0a00 0600 0400 05 01 1400 0229",
        "4100 0900 0500 0400 12 1400 0100", "4120 0500 0100 0400 13", "4100 0c00 0800 0400 52 0f00 4754000106",
        "4120 0e00 0a00 0400 1b 1300 52500003020601", "4120 0900 0500 0400 01 08 0500 0a", "0504004100 13",
    ].map(bytes)

    @Test func `btmon packets are rebuilt from their fields`() {
        let reading = Reading(Self.text)
        #expect(reading.error == nil)
        let known = reading.packets.filter { $0.packet.content != .unknown }
        #expect(known.map(\.bytes) == Self.packets)
        #expect(reading.info.format == CaptureFormat(.monitorText, .h4))
        // btmon numbers commands too.
        #expect(reading.packets.map(\.packet.number) == Array(1...15))
        #expect(known.allSatisfy { $0.packet.adapter == 1 })
        #expect(known.last?.packet.time.map(TextEncoding.epoch) == "0.173242000")
        #expect(reading.info.remarks == ["the text has no date: its times are shown as of 1970-01-01"])
        for step in [1, 3, 64, 511] {
            #expect(Reading(Self.text, step: step).isEqual(to: reading), "\(step) bytes at a time")
        }
    }

    @Test func `text with dates and without a header line is parsed`() {
        let dated =
            Self.text.replacing(" 0.0", with: " 2026-11-21 05:02:15.0").split(separator: "\n").dropFirst(3).joined(
                separator: "\n") + "\n"
        let reading = Reading(dated)
        #expect(reading.packets.filter { $0.packet.content != .unknown }.map(\.bytes) == Self.packets)
        #expect(reading.times.first == "1795237335.059490000")
    }

    /// Variants of the lines as files contain them: a transformation of each line of `text`.
    static let forms: [(name: String, line: @Sendable (String) -> String)] = [
        ("coloured", { "\u{1B}[0;36m\($0)\u{1B}[0m" }),
        (
            "coloured in parts",
            {
                $0.replacing("< ACL Data TX", with: "\u{1B}[0;36m< ACL Data TX\u{1B}[0m")
                    .replacing("[hci1]", with: "\u{1B}[0;34m[hci1]\u{1B}[0;33m")
            }
        ),
        ("indented", { "    " + $0 }), ("tabulated", { "\t" + $0 }), ("quoted", { "| " + $0 }),
        ("quoted in an email", { "> " + $0 }),
        ("journald", { "Nov  8 05:02:15 pi btmon[123]: " + $0 }),
        ("journald with ISO times", { "2026-11-08T05:02:15+0100 pi btmon[123]: " + $0 }),
        ("ts", { "Nov 08 05:02:15 " + $0 }), ("ts -s", { "00:00:09 " + $0 }), ("ts %.s", { "1795237335.059490 " + $0 }),
        (
            "5.86",
            {
                $0.replacing("< ACL Data TX: Handle 65", with: "< LE-ACL: Handle 65 [1/6] [A4:C1:38:31:D1:D2 (Static)]")
                    .replacing("> ACL Data RX: Handle 65", with: "> LE-ACL: Handle 65 [A4:C1:38:31:D1:D2 (Public)]")
                    .replacing("> ACL Data RX: Handl..", with: "> LE-ACL: Handl..")
                    .replacing("Handle: 65", with: "Handle: 65 Address: A4:C1:38:31:D1:D2 (Public)")
            }
        ),
        ("an unknown handle", { $0.replacing("ACL Data TX:", with: "ACL:").replacing("ACL Data RX:", with: "ACL:") }),
        ("-t", { $0.replacing(" 0.0", with: " 05:02:15.0") }),
        ("-T", { $0.replacing(" 0.0", with: " 2026-11-21 05:02:15.0") }),
    ]

    @Test(arguments: forms.indices) func `colours, prefixes and indentation of btmon lines have no effect`(index: Int) {
        let form = Self.forms[index]
        let text = Self.text.split(separator: "\n").map { form.line(String($0)) }.joined(separator: "\n") + "\n"
        let reading = Reading(text)
        #expect(reading.packets.filter { $0.packet.content != .unknown }.map(\.bytes) == Self.packets, "\(form.name)")
        #expect(reading.info.skippedLinesMessage == nil, "\(form.name)")
        for step in [1, 64] {
            #expect(Reading(text, step: step).isEqual(to: reading), "\(form.name)")
        }
    }

    @Test func `lines that are not understood are counted, and the first is shown`() {
        let text = Self.text.replacing("< ACL Data TX", with: "< XX-ACL Daten")
        let reading = Reading(text)
        #expect(
            reading.info.skippedLinesMessage?.hasPrefix(
                "5 lines were not understood, first line 14: < XX-ACL Daten: Handle 65 flags 0x00 dlen 7") == true,
            "\(reading.info.skippedLinesMessage ?? "")")
    }

    @Test func `advertised names are read from btmon text`() {
        let text = """
            > HCI Event: LE Meta Event (0x3e) plen 43                #1 [hci0] 1.5
                  LE Advertising Report (0x02)
                    Num reports: 1
                    Event type: Scan response - SCAN_RSP (0x04)
                    Address type: Public (0x00)
                    Address: A4:C1:38:31:D1:D2 (Telink Semiconductor (Taipei) Co. Ltd.)
                    Data length: 8
                    Name (complete): WaterH
                    RSSI: -60 dBm (0xc4)

            """
        #expect(Reading(text).payloads == [bytes("3e 14 02 01 00 00 d2d13138c1a4 08 07 09 576174657248 00")])
    }

    @Test func `names of extended advertisements are read from btmon text`() {
        let text = """
            > HCI Event: LE Meta Event (0x3e) plen 66                #1 [hci0] 1.5
                  LE Extended Advertising Report (0x0d)
                    Num reports: 2
                    Entry 0
                      Event type: 0x0000
                        Props: 0x0000
                        Data status: Complete
                      Address type: Public (0x00)
                      Address: 11:22:33:44:55:66 (OUI 11-22-33)
                      Data length: 0x00
                    Entry 1
                      Event type: 0x0013
                        Props: 0x0013
                          Connectable
                        Data status: Complete
                      Legacy PDU Type: ADV_IND (0x0013)
                      Address type: Public (0x00)
                      Address: A4:C1:38:31:D1:D2 (Telink Semiconductor (Taipei) Co. Ltd.)
                      Primary PHY: LE 1M
                      RSSI: -60 dBm (0xc4)
                      Direct address type: Public (0x00)
                      Direct address: 00:00:00:00:00:00 (OUI 00-00-00)
                      Data length: 0x08
                    07 09 57 61 74 65 72 48                          ..WaterH
                    Name (complete): WaterH

            """
        #expect(Reading(text).payloads == [bytes("3e 14 02 01 00 00 d2d13138c1a4 08 07 09 576174657248 00")])
        #expect(Reading(text).info.skippedLines == 0)
    }

    @Test func `incomplete packets are skipped and reported`() {
        let text = Self.text.replacing("  Data: 52500003020601", with: "  Data: 525000").replacing(
            "Client RX MTU: 517", with: "?")
        let reading = Reading(text)
        #expect(reading.packets.filter { $0.packet.content != .unknown }.count == Self.packets.count - 2)
        #expect(reading.info.remarks.contains("the text does not have all bytes of 2 ATT PDUs: they were skipped"))
    }

    @Test func `truncated and damaged btmon text does not trap`() {
        let whole = Array(Self.text.utf8), plain = Reading(whole)
        for length in stride(from: 0, to: whole.count, by: 3) {
            let cut = Reading(Array(whole.prefix(length)))
            #expect(
                zip(cut.packets.dropLast(), plain.packets).allSatisfy {
                    $0.packet == $1.packet && $0.bytes == $1.bytes
                }, "cut at \(length)")
            if let error = cut.error {
                #expect(error.offset <= length && error.kind != .malformed, "cut at \(length): \(error)")
            }
        }
        expectNoTrap(whole)
    }
}
