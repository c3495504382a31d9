import Bluetooth
import Testing

@Suite struct GATTServerTests {
    /// Requests that the table answers without the application, at MTU 23: exact responses, errors included (Vol 3 Part
    /// F, 3.4).
    @Test(arguments: [
        ("mtu 517", "02 05 02", "03 05 02"),
        ("mtu below 23", "02 05 00", "03 05 02"),
        (
            "services, short UUIDs first", "10 01 00 FF FF 00 28",
            "11 06 01 00 05 00 00 18 06 00 09 00 01 18 0A 00 10 00 E0 FF"
        ),
        (
            "services, then the long one alone", "10 11 00 FF FF 00 28",
            "11 14 11 00 13 00 12 19 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00"
        ),
        ("services, the last", "10 14 00 FF FF 00 28", "11 06 14 00 19 00 0A 18"),
        ("services, no more", "10 1A 00 FF FF 00 28", "01 10 1A 00 0A"),
        ("secondary services: none", "10 01 00 FF FF 01 28", "01 10 01 00 0A"),
        ("unsupported group type", "10 01 00 FF FF 03 28", "01 10 01 00 10"),
        ("handle 0", "10 00 00 FF FF 00 28", "01 10 00 00 01"),
        ("range backwards", "10 05 00 04 00 00 28", "01 10 05 00 01"),
        ("service by UUID", "06 01 00 FF FF 00 28 E0 FF", "07 0A 00 10 00"),
        (
            "service by long form of a short UUID",
            "06 01 00 FF FF 00 28 FB 34 9B 5F 80 00 00 80 00 10 00 00 E0 FF 00 00", "07 0A 00 10 00"
        ),
        ("service by UUID: none", "06 01 00 FF FF 00 28 E1 FF", "01 06 01 00 0A"),
        ("description by value", "06 01 00 FF FF 01 29 52 65 73 70 6F 6E 73 65", "07 0E 00 0E 00"),
        ("find by type value, handle 0", "06 00 00 FF FF 00 28 E0 FF", "01 06 00 00 01"),
        ("characteristics", "08 0A 00 10 00 03 28", "09 07 0B 00 12 0C 00 E4 FF 0F 00 04 10 00 E9 FF"),
        (
            "characteristics, long UUID", "08 11 00 13 00 03 28",
            "09 15 12 00 0A 13 00 12 2B 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00"
        ),
        ("characteristics: none", "08 13 00 13 00 03 28", "01 08 13 00 0A"),
        ("name by type", "08 01 00 FF FF 00 2A", "09 13 03 00 57 61 74 65 72 48 2D 42 6F 6F 73 74 2D 32 34 6F 7A"),
        ("by type, not readable", "08 01 00 FF FF E9 FF", "01 08 10 00 02"),
        ("by type, handle 0", "08 00 00 FF FF 00 2A", "01 08 00 00 01"),
        ("descriptors", "04 0D 00 0E 00", "05 01 0D 00 02 29 0E 00 01 29"),
        ("descriptors end before a long type", "04 12 00 FF FF", "05 01 12 00 03 28"),
        ("a long type alone", "04 13 00 FF FF", "05 02 13 00 12 2B 0D 0C 0B 0A 09 08 07 06 05 04 03 02 01 00"),
        ("descriptors past the end", "04 1A 00 FF FF", "01 04 1A 00 0A"),
        ("descriptors backwards", "04 0E 00 0D 00", "01 04 0E 00 01"),
        ("read the name", "0A 03 00", "0B 57 61 74 65 72 48 2D 42 6F 6F 73 74 2D 32 34 6F 7A"),
        ("read appearance", "0A 05 00", "0B 00 00"),
        ("read a service declaration", "0A 0A 00", "0B E0 FF"),
        ("read a CCCD", "0A 0D 00", "0B 00 00"),
        ("read a user description", "0A 0E 00", "0B 52 65 73 70 6F 6E 73 65"),
        ("read nothing", "0A 1A 00", "01 0A 1A 00 01"),
        ("read handle 0", "0A 00 00", "01 0A 00 00 01"),
        ("read what only indicates", "0A 08 00", "01 0A 08 00 02"),
        ("read what only takes", "0A 10 00", "01 0A 10 00 02"),
        ("blob inside", "0C 03 00 0F 00", "0D 6F 7A"),
        ("blob at the end", "0C 03 00 11 00", "0D"),
        ("blob past the end", "0C 03 00 12 00", "01 0C 03 00 07"),
        ("blob of nothing", "0C 30 00 00 00", "01 0C 30 00 01"),
        ("multiple", "0E 05 00 18 00", "0F 00 00 61"),
        ("multiple, one missing", "0E 05 00 30 00", "01 0E 30 00 01"),
        ("multiple, one not readable", "0E 05 00 10 00", "01 0E 10 00 02"),
        ("multiple variable", "20 05 00 18 00", "21 02 00 00 00 01 00 61"),
        (
            "multiple variable, cut", "20 03 00 03 00",
            "21 11 00 57 61 74 65 72 48 2D 42 6F 6F 73 74 2D 32 34 6F 7A 11 00 57"
        ),
        ("write to nothing", "12 30 00 01", "01 12 30 00 01"),
        ("write a declaration", "12 0B 00 01", "01 12 0B 00 03"),
        ("write with response where only commands are taken", "12 10 00 01", "01 12 10 00 03"),
        ("CCCD too short", "12 0D 00 01", "01 12 0D 00 0D"),
        ("CCCD too long", "12 0D 00 01 00 00", "01 12 0D 00 0D"),
        ("CCCD asks for what is not offered", "12 0D 00 02 00", "01 12 0D 00 FD"),
        ("CCCD with reserved bits", "12 0D 00 01 80", "01 12 0D 00 FD"),
        ("prepare to nothing", "16 30 00 00 00 01", "01 16 30 00 01"),
        ("prepare what takes no writes", "16 0C 00 00 00 01", "01 16 0C 00 03"),
        ("execute with odd flags", "18 02", "01 18 00 00 04"),
        ("execute nothing", "18 01", "19"),
        ("short request", "0A 03", "01 0A 00 00 04"),
        ("over-long request", "0A 03 00 00", "01 0A 00 00 04"),
        (
            "a request over the MTU", "12 13 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 12 13 14 15",
            "01 12 00 00 04"
        ),
        ("unknown request", "3E 01", "01 3E 00 00 06"),
        ("unknown command", "7E 01", ""),
        ("short command", "52 10", ""),
        ("signed write", "D2 10 00 01 02 03 04 05 06 07 08 09 0A 0B 0C", ""),
        ("command to nothing", "52 30 00 01", ""),
        ("command to what takes none", "52 0C 00 01", ""),
        ("confirmation of nothing", "1E", ""),
        ("indication to a server", "1D 01 00 01", "1E"),
        ("a response to a server", "0B 01", ""),
        ("nothing at all", "", ""),
    ])
    func `a server answers valid and invalid PDUs as specified`(name: String, request: String, answer: String) throws {
        var conversation = try Conversation()
        #expect(conversation.exchange(request) == answer, "\(name)")
        #expect(!conversation.isClosed)
    }

    @Test(arguments: [
        "7E 01", "52 10", "52 30 00 01", "52 0C 00 01", "1E", "0B 01", "", "0A 03", "3E 01", "52 0D 00 05",
    ])
    func `an unusual PDU logs one line`(request: String) throws {
        var conversation = try Conversation()
        _ = conversation.exchange(request)
        #expect(conversation.log.count == 1)
    }

    @Test func `the application answers reads`() throws {
        var conversation = try Conversation()
        #expect(conversation.exchange("0A 0C 00", value: [1, 2, 3]) == "0B 01 02 03")
        #expect(conversation.events == [.read(conversation.central, 0xFFE4, offset: 0, token: 1)])
        #expect(conversation.exchange("0A 0C 00") == "")
        #expect(conversation.feed(.request(.respond(token: 2, .error(0x85)))) == [bytes("01 0A 0C 00 85")])
        // An unexpected response is dropped.
        #expect(conversation.feed(.request(.respond(token: 2, .value([1])))).isEmpty)
        #expect(conversation.exchange("08 01 00 FF FF E4 FF", value: [7]) == "09 03 0C 00 07")
        #expect(conversation.exchange("0E 0C 00 18 00", value: [7]) == "0F 07 61")
    }

    /// The first response serves the later parts. A read at offset 0 asks again, which the draft profile requires.
    @Test func `a long read requests the value from the application once`() throws {
        var conversation = try Conversation()
        let value = (0..<50).map { UInt8($0) }
        #expect(conversation.exchange("0A 0C 00", value: value) == hex([0x0B] + value[..<22]))
        #expect(conversation.exchange("0C 0C 00 16 00") == hex([0x0D] + value[22..<44]))
        #expect(conversation.exchange("0C 0C 00 2C 00") == hex([0x0D] + value[44...]))
        #expect(conversation.exchange("0C 0C 00 32 00") == "0D")
        #expect(conversation.exchange("0C 0C 00 33 00") == "01 0C 0C 00 07")
        #expect(conversation.events.count == 1)
        #expect(conversation.exchange("0A 0C 00", value: [9]) == "0B 09")
        #expect(conversation.exchange("0C 0C 00 00 00", value: [8, 8]) == "0D 08 08")
        #expect(conversation.events.count == 3)
    }

    @Test func `the application receives the offset of a read that starts in the middle`() throws {
        var conversation = try Conversation()
        #expect(conversation.exchange("0C 0C 00 16 00", value: [5]) == "0D 05")
        #expect(conversation.events == [.read(conversation.central, 0xFFE4, offset: 22, token: 1)])
    }

    @Test func `values are truncated to 512 bytes`() throws {
        var conversation = try Conversation(mtu: 517)
        let sent = conversation.exchange("0A 0C 00", value: Array(repeating: 1, count: 600))
        #expect(bytes(sent.replacing("|", with: "")).count == 513)
        #expect(conversation.log.count == 1)
    }

    @Test func `writes reach the application`() throws {
        var conversation = try Conversation()
        #expect(conversation.exchange("52 10 00 47 54") == "")
        #expect(conversation.exchange("12 13 00 AA", value: []) == "13")
        #expect(
            conversation.events == [
                .write(conversation.central, 0xFFE9, value: [0x47, 0x54], token: nil),
                .write(conversation.central, firmware, value: [0xAA], token: 1),
            ])
        #expect(conversation.exchange("12 13 00 AA") == "")
        #expect(conversation.feed(.request(.respond(token: 2, .error(0x80)))) == [bytes("01 12 13 00 80")])
    }

    @Test func `writes without the property reach a characteristic that accepts any write`() throws {
        var application = smallBottle
        application.services[0].characteristics[0].acceptsAnyWrite = true
        var conversation = try Conversation(application)
        #expect(conversation.exchange("12 0C 00 FF", value: []) == "13")
        #expect(conversation.exchange("52 0C 00 01 00") == "")
        #expect(
            conversation.events == [
                .write(conversation.central, 0xFFE4, value: [0xFF], token: 1),
                .write(conversation.central, 0xFFE4, value: [1, 0], token: nil),
            ])
    }

    @Test func `the parts of a long write arrive as one value`() throws {
        var conversation = try Conversation()
        #expect(conversation.exchange("16 13 00 00 00 01 02 03") == "17 13 00 00 00 01 02 03")
        #expect(conversation.exchange("16 13 00 03 00 04 05") == "17 13 00 03 00 04 05")
        #expect(conversation.exchange("16 13 00 01 00 22") == "17 13 00 01 00 22")
        #expect(conversation.events.isEmpty)
        #expect(conversation.exchange("18 01", value: []) == "19")
        #expect(conversation.events == [.write(conversation.central, firmware, value: [1, 0x22, 3, 4, 5], token: 1)])
        // The queue is empty.
        #expect(conversation.exchange("18 01") == "19")
        #expect(conversation.events.count == 1)
    }

    @Test func `long writes can be cancelled and rejected`() throws {
        var conversation = try Conversation()
        _ = conversation.exchange("16 13 00 00 00 01")
        #expect(conversation.exchange("18 00") == "19")
        _ = conversation.exchange("16 13 00 02 00 01")
        #expect(conversation.exchange("18 01") == "01 18 13 00 07")
        _ = conversation.exchange("16 13 00 00 00 01")
        #expect(conversation.exchange("18 01") == "")
        #expect(conversation.feed(.request(.respond(token: 1, .error(0x80)))) == [bytes("01 18 13 00 80")])
        _ = conversation.exchange("16 0D 00 00 00 02 00")
        #expect(conversation.exchange("18 01") == "01 18 0D 00 FD")
    }

    @Test func `a long write of more than 512 bytes is rejected`() throws {
        var conversation = try Conversation(mtu: 517)
        let half = hex(Array(repeating: 1, count: 300))
        _ = conversation.exchange("16 13 00 00 00 " + half)
        _ = conversation.exchange("16 13 00 2C 01 " + half)
        #expect(conversation.exchange("18 01") == "01 18 13 00 0D")
    }

    @Test func `the number of prepared writes is limited`() throws {
        for size in [1, 18] {
            var conversation = try Conversation()
            let part = hex(Array(repeating: 7, count: size))
            let answers = (0..<2000).map { _ in conversation.exchange("16 13 00 00 00 " + part) }
            #expect(answers.last == "01 16 13 00 09")
            #expect(answers.count { $0.hasPrefix("17") } == min(64, 1024 / size))
            #expect(conversation.log.count <= 21)
        }
    }

    @Test func `a read that the application does not answer becomes Unlikely Error`() throws {
        var conversation = try Conversation()
        _ = conversation.exchange("0A 0C 00")
        #expect(conversation.server.nextDeadline == .after(.seconds(25)))
        conversation.now = .after(.seconds(25))
        #expect(conversation.feed(.tick) == [bytes("01 0A 0C 00 0E")])
        #expect(conversation.server.nextDeadline == nil)
    }

    @Test func `a central that does not wait is served in order, then disconnected`() throws {
        var conversation = try Conversation()
        _ = conversation.exchange("0A 0C 00")
        #expect(conversation.exchange("0A 05 00") == "")
        // A command is not a request and does not wait.
        _ = conversation.exchange("52 10 00 01")
        #expect(conversation.events.last == .write(conversation.central, 0xFFE9, value: [1], token: nil))
        #expect(conversation.feed(.request(.respond(token: 1, .value([1])))) == [bytes("0B 01"), bytes("0B 00 00")])
        _ = conversation.exchange("0A 0C 00")
        for _ in 0..<8 { _ = conversation.exchange("0A 05 00") }
        #expect(!conversation.isClosed)
        _ = conversation.exchange("0A 05 00")
        #expect(conversation.isClosed)
        #expect(conversation.events.last == .disconnected(conversation.central))
        #expect(conversation.log.count == 1)
    }
}
