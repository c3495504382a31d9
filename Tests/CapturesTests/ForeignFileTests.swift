import Captures
import Testing

@Suite struct ForeignFileTests {
    static let refusals: [(name: String, bytes: [UInt8], says: String)] = [
        ("empty", [], "empty"),
        ("gzip", bytes("1f8b0800000000000003"), "gzip"),
        ("zip", Array("PK\u{3}\u{4}".utf8) + [0, 0, 0, 0], "zip"),
        ("xz", [0xFD] + Array("7zXZ".utf8) + [0, 0], "xz"),
        ("zstd", bytes("28b52ffd00000000"), "zstd"),
        ("lz4", bytes("04224d18 64 40 a7"), "lz4"),
        ("compress", bytes("1f9d90 00"), ".Z"),
        ("7z", bytes("377abcaf271c 0004"), "7z"),
        ("tar", [UInt8](repeating: 0x61, count: 257) + Array("ustar".utf8) + [0], "tar"),
        ("sqlite", Array("SQLite format 3\0".utf8), "SQLite"),
        ("elf", bytes("7f454c4602010100"), "program"),
        ("UTF-16", [0xFF, 0xFE, 0x6E, 0x00], "iconv"),
        ("prose", Array("Dear diary,\ntoday I drank water.\n".utf8), "text"),
        ("a page of this project", Array("# waterh-bench\n\nA gateway and a test bench.\n".utf8), "text"),
        (
            "PDML", Array("<?xml version=\"1.0\"?>\n<!-- A comment. -->\n<pdml version=\"0\">\n".utf8),
            "tshark -T json -x"
        ),
        ("PSML", Array("<?xml version=\"1.0\"?>\n<psml version=\"0\">\n".utf8), "tshark -T json -x"),
        ("Elasticsearch", Array("{\"index\":{\"_index\":\"packets\"}}\n".utf8), "tshark -T json -x"),
        ("noise", bytes("8f02e1a4776699cc0012"), "first bytes are 8F 02 E1"),
        ("solaris snoop", Array("snoop".utf8) + [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4], "Solaris"),
        ("btsnooz", Array("--- BEGIN:BTSNOOP_LOG_SUMMARY (10 bytes in) ---\n".utf8), "btsnooz"),
        (
            "btsnoop damaged by a text conversion: datalink 768",
            Array("btsnoop\0".utf8) + be(UInt32(1)) + be(UInt32(768)), "transfer in text mode"
        ),
        ("btsnoop BCSP", Array("btsnoop\0".utf8) + be(UInt32(1)) + be(UInt32(1003)), "BCSP"),
        ("btsnoop H5", Array("btsnoop\0".utf8) + be(UInt32(1)) + be(UInt32(1004)), "H5"),
        ("btsnoop simulator", Array("btsnoop\0".utf8) + be(UInt32(1)) + be(UInt32(2002)), "simulator"),
        ("btsnoop version 2", Array("btsnoop\0".utf8) + be(UInt32(2)) + be(UInt32(1002)), "version 2"),
        (
            "pcap of Ethernet", be(UInt32(0xA1B2_C3D4)) + bytes("0002000400000000000000000000ffff") + be(UInt32(1)),
            "Ethernet (link type 1)"
        ),
        (
            "pcap of USB", be(UInt32(0xA1B2_C3D4)) + bytes("0002000400000000000000000000ffff") + be(UInt32(249)),
            "USBPcap (link type 249)"
        ),
        ("pcapng with an invalid byte-order magic", bytes("0a0d0d0a 1c000000 11111111 01000000"), "byte-order magic"),
    ]

    @Test(arguments: refusals)
    func `a file of another kind is rejected with a reason`(_ name: String, _ file: [UInt8], _ text: String) throws {
        let reading = Reading(file)
        #expect(reading.packets.isEmpty)
        let error = try #require(reading.error)
        #expect("\(error)".contains(text), "\(error)")
    }

    @Test func `the bytes before a broken record are counted`() throws {
        for format in [
            CaptureFormat(.btsnoop, .h4), CaptureFormat(.pcap, .h4WithDirection),
            CaptureFormat(.pcapng, .h4WithDirection),
        ] {
            let whole = try Samples.file(format)
            var broken = whole + [UInt8](repeating: 0xFF, count: 40)
            #expect(Reading(broken).info.offset == whole.count, "\(format)")
            #expect(Reading(broken).info.packets == Samples.hci.count)
            broken = Array(whole.dropLast(3))
            #expect((1..<whole.count).contains(Reading(broken).info.offset), "\(format)")
        }
    }
}
