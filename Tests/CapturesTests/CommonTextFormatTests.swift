import Bluetooth
import Captures
import Testing

/// Common text sources: a log in a README or an email, dumps of `hcidump` and tshark, and tshark's JSON.
@Suite struct CommonTextFormatTests {
    static let log = """
        nRF Connect, 2026-02-02
        WaterH-Boost-24oz (A4:C1:38:01:02:03)
        I\t22:21:20.100\tConnected to A4:C1:38:01:02:03
        I\t22:21:20.400\tData written to 0000ffe9-0000-1000-8000-00805f9b34fb, value: (0x) 47-54-00-01-06
        I\t22:21:20.450\tNotification received from 0000ffe4-0000-1000-8000-00805f9b34fb, value: (0x) \
        52-50-00-03-02-06-01
        I\t22:21:21.000\tDisconnected

        """

    private static func isSame(_ one: Reading, _ other: Reading) -> Bool {
        one.packets.count == other.packets.count
            && zip(one.packets, other.packets).allSatisfy { $0.packet == $1.packet && $0.bytes == $1.bytes }
            && one.info.name == other.info.name && one.error == nil && other.error == nil
    }

    // MARK: around a log

    @Test(arguments: [
        "# What my bottle says\n\nIt began on a Monday.\n\n```\n%```\n\nThat was all: no values (0x) here.\n",
        "A letter.\n\n~~~text\n%~~~\n", "Somebody wrote:\n>\n> ```\n%> ```\n",
        "Notes: I 22:21 went home.\n\n%",
    ])
    func `a log of nRF Connect inside another text is found`(around: String) {
        let plain = Reading(Self.log)
        #expect(plain.packets.count == 4)
        for indent in ["", "    ", "\t", "> "] {
            let inside = Self.log.split(separator: "\n", omittingEmptySubsequences: false).map {
                $0.isEmpty ? "" : indent + $0
            }.joined(separator: "\n")
            for text in [
                around.replacing("%", with: inside), around.replacing("%", with: inside).replacing("\n", with: "\r\n"),
                around.replacing("%", with: inside.replacing("\t", with: "  ")),
            ] {
                let reading = Reading(text)
                #expect(
                    Self.isSame(reading, plain),
                    "\(indent.debugDescription): \(reading.error.map { "\($0)" } ?? "") \(reading.packets.count)")
                #expect(reading.info.format == CaptureFormat(.nrfConnect, .text))
                #expect(Reading(text, step: 7).isEqual(to: reading))
            }
        }
    }

    @Test func `a log without a header is recognised by two values`() {
        let lines = Self.log.split(separator: "\n").map(String.init)
        #expect(Reading("Dear diary,\n\(lines[3])\n").error?.kind == .unrecognised)
        #expect(Reading("Dear diary,\n\(lines[3])\n\(lines[4])\n").packets.count == 2)
        #expect(Reading("Dear diary,\nI 22:21:20 drank.\nI 22:22:20 drank again.\n").error?.kind == .unrecognised)
    }

    // MARK: dumps

    static let dump = corpusText("dump/sample")
    static let raw = corpusText("hcidump/sample")
    static let packets = [
        bytes("3e13010041000000d2d13138c1a418000000f40100"), bytes("4100 0700 0300 0400 02 0502"),
        bytes("4120 0700 0300 0400 03 0502"),
    ]

    @Test func `hex dumps of tshark and hcidump are parsed`() {
        let dump = Reading(Self.dump)
        #expect(dump.error == nil)
        #expect(dump.payloads == Self.packets)
        #expect(dump.contents == [.hci(.event), .hci(.acl), .hci(.acl)])
        #expect(
            dump.packets.allSatisfy { $0.packet.time == nil && $0.packet.direction == nil && $0.packet.missing == 0 })
        for text in [Self.raw, Self.raw.split(separator: "\n").dropFirst(2).joined(separator: "\n") + "\n"] {
            let raw = Reading(text)
            #expect(raw.error == nil)
            #expect(raw.payloads == Self.packets)
            #expect(raw.directions == [.received, .sent, .received])
            #expect(raw.times == ["1770070880.100000000", "1770070880.200000000", "1770070880.300000000"])
        }
        let bare = Reading("> 04 0E 04 01 03 0C 00 \n< 01 03 0C 00 \n")
        #expect(bare.payloads == [bytes("0e 04 01 03 0c 00"), bytes("03 0c 00")])
    }

    @Test(arguments: [dump, raw], ["> ", ">> ", "> > "])
    func `a hex dump in a reply to an email is parsed`(dump: String, mark: String) {
        let quoted = dump.split(separator: "\n", omittingEmptySubsequences: false).map { mark + $0 }
        let reading = Reading(quoted.joined(separator: "\n"))
        #expect(reading.error == nil && reading.payloads == Self.packets)
        let plain = Reading(dump)
        #expect(reading.directions == plain.directions)
    }

    @Test func `no-break spaces separate words like spaces`() {
        let reading = Reading(Self.dump.replacing("  ", with: "\u{A0} "))
        #expect(reading.error == nil && reading.payloads == Self.packets)
    }

    /// The dump of a monitor or PacketLogger capture has other packet types, or none.
    @Test(arguments: [
        "0000  03 0c 00                                          ...\n\n"
            + "0000  0e 04 01 03 0c 00                                 ......\n\n"
            + "0000  40 20 05 00 01 00 04 00 13                        @ .......\n",
        "0000  01 0e 04 01 03 0c 00                              .......\n\n"
            + "0000  03 40 20 05 00 01 00 04 00 13                     .@ .......\n",
    ])
    func `a dump of packets that are not H4 is rejected`(dump: String) {
        let error = Reading(dump).error
        #expect(error?.kind == .unsupported && error.map { "\($0)".contains("tshark -T json -x") } == true)
    }

    @Test(arguments: [dump, raw])
    func `truncated and damaged hex dumps do not trap`(dump: String) {
        let file = Array(dump.utf8), whole = Reading(file)
        for length in 0..<file.count {
            let cut = Reading(Array(file.prefix(length)))
            #expect(cut.isPrefix(of: whole), "cut at \(length)")
            if let error = cut.error {
                #expect(
                    error.offset <= length && [.truncated, .unrecognised].contains(error.kind),
                    "cut at \(length): \(error)")
            }
        }
        expectNoTrap(file, rounds: 200)
        #expect(Reading(Self.dump.replacing("0010", with: "0020")).error?.kind == .malformed)
    }

    /// A value in two packets, as tshark dumps it: the second packet, and the reassembled data, which starts like an
    /// ACL packet.
    static let inTwo = """
        0000  02 40 20 0b 00 02 01 04 00 1b 05 00 01 02 03 04   .@ .............

        Frame (8 bytes):
        0000  02 40 10 03 00 05 06 07                           .@......
        Reassembled BTHCI ACL (14 bytes):
        0000  02 01 04 00 1b 05 00 01 02 03 04 05 06 07         ..............

        0000  02 40 20 05 00 01 00 04 00 13                     .@ .......

        """

    @Test func `data that tshark reassembled is skipped`() {
        for text in [
            Self.inTwo, Self.inTwo.replacing("\n", with: "\r\n"), String(Self.inTwo.prefix { $0 != "R" }),
            Self.inTwo + Self.inTwo,
        ] {
            let reading = Reading(text)
            let once = [bytes("40200b00 020104001b0500 01020304"), bytes("40100300 050607")],
                whole = once + [bytes("40200500 01000400 13")]
            #expect(reading.error == nil && reading.info.unreadableRecords == 0)
            let count = reading.packets.count
            #expect(reading.payloads == (count == 2 ? once : count == 3 ? whole : whole + whole))
            #expect(Reading(text, step: 5).isEqual(to: reading))
        }
        // The reassembled data is last in the file, and nothing of it is missing.
        let end = Self.inTwo.split(separator: "\n", omittingEmptySubsequences: false).prefix(6).joined(separator: "\n")
        #expect(Reading(end).packets.count == 2 && Reading(end).error == nil)
    }

    /// `tshark -V -x`, of a capture with interfaces, with packet flags, and of one without.
    @Test(arguments: [
        "", "    Section number: 1\n    Interface id: 0 (hci0)\n        Interface name: hci0\n",
        "    Interface id: 1 (hci1)\n    Packet flags: 0x00000001\n"
            + String(repeating: "        .... ...0 .... .... = CRC error: Not set\n", count: 16),
    ])
    func `time and direction are read from tshark -V`(of interface: String) {
        func packet(_ number: Int, _ time: String, _ direction: String, _ dump: String) -> String {
            """
            Frame \(number): 10 bytes on wire (80 bits), 10 bytes captured (80 bits)
            \(interface)    Encapsulation type: Bluetooth H4 with linux header (99)
                Arrival Time: Feb  2, 2026 02:40:00.018265000 UTC
                Epoch Time: \(time) seconds
                Frame Number: \(number)
                Point-to-Point Direction: \(direction)
            Bluetooth HCI ACL Packet
                .... 0000 0100 0000 = Connection Handle: 0x040

            0000  \(dump)   .@ .......


            """
        }
        let text =
            packet(1, "1770000000.018265000", "Sent (0)", "02 40 00 05 00 01 00 04 00 0a")
            + packet(2, "1770000001.5", "Received (1)", "02 40 20 05 00 01 00 04 00 13")
        let reading = Reading(text)
        #expect(reading.error == nil && reading.info.format == CaptureFormat(.hexDump, .h4))
        #expect(reading.directions == [.sent, .received])
        #expect(reading.packets.allSatisfy { $0.packet.adapter == (interface.contains("id: 1") ? 1 : 0) })
        #expect(reading.times == ["1770000000.018265000", "1770000001.500000000"])
        #expect(reading.payloads == ["4000050001000400 0a", "4020050001000400 13"].map { bytes($0) })
        #expect(Reading(text, step: 9).isEqual(to: reading))
        // tshark 4.2 and newer.
        let newer = Reading(
            text.replacing("Epoch Time: ", with: "Epoch Arrival Time: ").replacing(" seconds", with: ""))
        #expect(newer.packets.map(\.packet.time) == reading.packets.map(\.packet.time))
        // Without -x the text has no bytes.
        let fields = text.split(separator: "\n").filter { !$0.hasPrefix("0000") }.joined(separator: "\n")
        #expect(Reading(fields).error?.kind == .unsupported)
        // Packets from the air are not read from a dump.
        #expect(
            Reading(
                text.replacing("Bluetooth H4 with linux header (99)", with: "Bluetooth Low Energy Link Layer (154)")
            ).error?.kind == .unrecognised)
    }

    // MARK: tshark's JSON

    static func json(_ packets: [(hex: String, direction: Int, protocols: String)]) -> String {
        "[\n"
            + packets.enumerated().map { index, packet in
                """
                  {
                    "_index": "packets-2026-02-02",
                    "_type": "doc",
                    "_score": null,
                    "_source": {
                      "layers": {
                        "frame_raw": [
                          "\(packet.hex)",
                          0,
                          \(packet.hex.count / 2),
                          0,
                          1
                        ],
                        "frame": {
                          "frame.encap_type": "99",
                          "frame.time_epoch": "177007088\(index).100000000",
                          "frame.number": "\(index * 2 + 1)",
                          "frame.p2p_dir": "\(packet.direction)",
                          "frame.protocols": "\(packet.protocols)"
                        },
                        "bluetooth": "Bluetooth"
                      }
                    }
                  }
                """
            }.joined(separator: ",\n") + "\n]\n"
    }

    static let sample = json([
        ("043e13010041000000d2d13138c1a418000000f40100", 1, "bluetooth:hci_h4:bthci_evt"),
        ("024100070003000400020502", 0, "bluetooth:hci_h4:bthci_acl:btl2cap:btatt"),
        ("024120070003000400030502", 1, "bluetooth:hci_h4:bthci_acl:btl2cap:btatt"),
    ])

    @Test func `JSON output of tshark is parsed`() {
        let reading = Reading(Self.sample)
        #expect(reading.error == nil)
        #expect(reading.payloads == Self.packets)
        #expect(reading.directions == [.received, .sent, .received])
        #expect(reading.packets.map(\.packet.number) == [1, 3, 5])
        #expect(reading.times.first == "1770070880.100000000")
        #expect(reading.info.format == CaptureFormat(.tsharkJSON, .h4WithDirection))
        // tshark 4.6 and newer.
        let newer = Reading(Self.sample.replacing("1770070880.100000000", with: "2026-02-02T22:21:20.100000000Z"))
        #expect(newer.packets.map(\.packet.time) == reading.packets.map(\.packet.time))
        let air = Reading(Self.json([("d6be898e25060403020100aa010203", 0, "btle"), ("00", 0, "eth:ip")]))
        #expect(air.contents == [.linkLayer(LinkLayerInfo()), .unknown])
        #expect(air.info.unreadableRecords == 1)
        // Nordic's sniffer prepends a header; PacketLogger, H1 and the Linux monitor have the packet type elsewhere.
        let nordic = Reading(
            Self.json([("000619010300060a03033c010096000000" + "d6be898e25060403020100aa010203", 0, "nordic_ble:btle")])
        )
        #expect(
            nordic.payloads == air.packets.prefix(1).map(\.bytes) && nordic.info.unreadableRecords == 0
                && nordic.info.linkTypes == [.nordic])
        let logged = Reading(
            Self.json([("034120070003000400030502", 0, "bluetooth:packetlogger:bthci_acl:btl2cap:btatt")]))
        let bare = Reading(Self.json([("4120070003000400030502", 1, "bluetooth:hci_h1:bthci_acl:btl2cap:btatt")]))
        let monitored = Reading(
            Self.json([("4120070003000400030502", 0, "bluetooth:hci_mon:bthci_acl:btl2cap:btatt")]).replacing(
                "\"bluetooth\": \"Bluetooth\"",
                with: "\"hci_mon\": {\n\"hci_mon.adapter_id\": \"3\",\n\"hci_mon.opcode\": \"5\"\n}"
            ))
        for reading in [logged, bare, monitored] {
            #expect(reading.payloads == [Self.packets[2]] && reading.directions == [.received])
            #expect(reading.contents == [.hci(.acl)] && reading.packets.map(\.packet.number) == [1])
        }
        #expect(monitored.adapters == [3])
        let second = Reading(
            Self.sample.replacing("\"frame.encap_type\"", with: "\"frame.interface_id\": \"1\",\n\"frame.encap_type\""))
        #expect(second.adapters == [1, 1, 1])
        let without = Self.sample.replacing("\"frame_raw\": [", with: "\"other\": [")
        #expect(Reading(without).error?.sentence.contains("tshark -T json -x") == true)
    }

    @Test func `truncated and damaged JSON is rejected`() {
        let file = Array(Self.sample.utf8), whole = Reading(file)
        for length in 0..<(file.count - 2) {
            let cut = Reading(Array(file.prefix(length)))
            #expect(cut.isPrefix(of: whole), "cut at \(length)")
            #expect(cut.error != nil, "cut at \(length)")
        }
        expectNoTrap(file, rounds: 200)
    }
}
