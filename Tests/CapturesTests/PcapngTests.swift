import Bluetooth
import Captures
import Testing

@Suite struct PcapngTests {
    static func block(_ type: UInt32, _ body: [UInt8]) -> [UInt8] {
        let padded = body + [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
        return le(type) + le(UInt32(padded.count + 12)) + padded + le(UInt32(padded.count + 12))
    }
    static let section = block(0x0A0D_0D0A, le(UInt32(0x1A2B_3C4D)) + le(UInt16(1)) + le(UInt16(0)) + le(Int64(-1)))
    static func interface(_ link: UInt16, snap: UInt32 = 0, options: [UInt8] = []) -> [UInt8] {
        block(1, le(link) + le(UInt16(0)) + le(snap) + options)
    }
    static func packet(
        _ interface: UInt32, ticks: UInt64, _ data: [UInt8], original: UInt32? = nil, options: [UInt8] = []
    ) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - data.count % 4) % 4)
        return block(
            6,
            le(interface) + le(UInt32(ticks >> 32)) + le(UInt32(truncatingIfNeeded: ticks)) + le(UInt32(data.count))
                + le(original ?? UInt32(data.count)) + data + padding + options)
    }
    static func option(_ code: UInt16, _ value: [UInt8]) -> [UInt8] {
        le(code) + le(UInt16(value.count)) + value + [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
    }
    static let event = bytes("00000001 04 0e 00")

    static let resolutions: [(option: UInt8?, ticks: UInt64, time: String)] = [
        (nil, 1_500_000, "1.500000000"), (0, 7, "7.000000000"), (3, 1500, "1.500000000"),
        (9, 1_500_000_001, "1.500000001"),
        (12, 1_500_000_000_001, "1.500000000"), (0x80 | 1, 3, "1.500000000"), (0x80 | 32, 0x1_8000_0000, "1.500000000"),
        (0x80 | 30, 0x4000_0000, "1.000000000"), (127, .max, "0.000000000"), (0xFF, .max, "0.000000000"),
    ]

    @Test(arguments: resolutions)
    func `the time resolution option is applied`(_ option: UInt8?, _ ticks: UInt64, _ time: String) {
        let options = option.map { Self.option(9, [$0]) } ?? []
        let reading = Reading(
            Self.section + Self.interface(201, options: options) + Self.packet(0, ticks: ticks, Self.event))
        #expect(reading.times.first == time)
    }

    /// `if_tsoffset` is signed, in whole seconds; a time out of range is dropped.
    @Test func `the time offset is applied`() {
        func time(_ offset: Int64, _ ticks: UInt64, _ resolution: UInt8 = 6) -> String? {
            let options = Self.option(9, [resolution]) + Self.option(14, le(offset)) + Self.option(0, [])
            let reading = Reading(
                Self.section + Self.interface(201, options: options) + Self.packet(0, ticks: ticks, Self.event))
            return reading.times.first ?? nil
        }
        #expect(time(1_770_000_000, 250_000) == "1770000000.250000000")
        #expect(time(-1, 250_000) == "-0.750000000")
        #expect(time(.max, .max, 0) == nil)
        #expect(time(.min, 0) == nil)
    }

    @Test func `each interface has its link type and clock`() {
        let reading = Reading(
            Self.section + Self.interface(201) + Self.interface(254, options: Self.option(9, [9]))
                + Self.packet(1, ticks: 5, bytes("0003 0003 0e 00")) + Self.packet(0, ticks: 5, Self.event))
        #expect(reading.times == ["0.000000005", "0.000005000"])
        #expect(reading.contents == [.hci(.event), .hci(.event)])
        #expect(reading.info.linkTypes == [.h4WithDirection, .monitor])
    }

    /// A new section clears the interfaces and can have another byte order.
    @Test func `several sections are read`() throws {
        let bigEndian = try Samples.file(CaptureFormat(.pcapng, .h4WithDirection, isBigEndian: true))
        let reading = Reading(
            Self.section + Self.interface(187) + Self.packet(0, ticks: 0, bytes("04 0e 00")) + bigEndian)
        #expect(reading.error == nil)
        #expect(reading.packets.count == 1 + Samples.hci.count)
        #expect(reading.adapters == [0] + Array(repeating: 1, count: Samples.hci.count), "another kind of interface")
        let orphan = Reading(Self.section + Self.interface(201) + Self.section + Self.packet(0, ticks: 0, Self.event))
        #expect(orphan.error?.sentence.contains("interface 0") == true)
    }

    @Test func `simple packet blocks have no time and use the interface's snap length`() {
        let data = Self.event + [UInt8](repeating: 7, count: 9)
        let reading = Reading(
            Self.section + Self.interface(201, snap: 8) + Self.block(3, le(UInt32(data.count)) + data.prefix(8))
                + Self.block(3, le(UInt32(7)) + Self.event))
        #expect(reading.packets.map(\.packet.time) == [nil, nil])
        #expect(reading.packets.map(\.packet.missing) == [8, 0])
        #expect(reading.packets.map(\.bytes.count) == [3, 2])
    }

    @Test func `the obsolete packet block is read`() {
        let body =
            le(UInt16(0)) + le(UInt16(0)) + le(UInt32(0)) + le(UInt32(9)) + le(UInt32(7)) + le(UInt32(7)) + Self.event
        let reading = Reading(Self.section + Self.interface(201) + Self.block(2, body))
        #expect(reading.times == ["0.000009000"])
    }

    @Test func `the direction is read from the epb_flags option`() {
        let reading = Reading(
            Self.section + Self.interface(187)
                + [UInt32(1), 2, 0].flatMap {
                    Self.packet(
                        0, ticks: 0, bytes("02 40 20 00 00"), options: Self.option(2, le($0)) + Self.option(0, []))
                })
        #expect(reading.directions == [.received, .sent, nil])
    }

    /// For packets from the air the flags mean that the sniffer received them.
    @Test(arguments: [UInt16(251), 256])
    func `the epb_flags option of link-layer packets gives no direction`(linkType: UInt16) {
        let radio = linkType == 256 ? bytes("05 d0 80 00 87b6c72b 1300") : []
        let reading = Reading(
            Self.section + Self.interface(linkType)
                + Self.packet(
                    0, ticks: 0, radio + bytes("87b6c72b 01 00 040506"),
                    options: Self.option(2, le(UInt32(1))) + Self.option(0, [])))
        #expect(reading.packets.count == 1)
        #expect(reading.packets.first?.packet.direction == nil)
    }

    @Test func `unknown blocks of any length are skipped`() {
        let long = Self.block(0x0BAD, [UInt8](repeating: 0x55, count: 700_000))
        let file =
            Self.section + long + Self.interface(201) + Self.block(5, [1, 2, 3, 4])
            + Self.packet(0, ticks: 0, Self.event)
        #expect(Reading(file).packets.count == 1)
        #expect(Reading(file, step: 50_000).packets.count == 1)
        #expect(Reading(Array(file.prefix(300_000))).error?.kind == .truncated)
    }

    static let broken: [(name: String, bytes: [UInt8], fragment: String)] = [
        ("an interface that does not exist", section + interface(201) + packet(4, ticks: 0, event), "interface 4"),
        ("a packet before any interface", section + packet(0, ticks: 0, event), "interface 0"),
        (
            "a captured length beyond its block",
            section + interface(201)
                + block(6, le(UInt32(0)) + le(UInt64(0)) + le(UInt32(4000)) + le(UInt32(4000)) + event), "4000"
        ),
        (
            "a block shorter than a block", section + le(UInt32(6)) + le(UInt32(8)) + le(UInt32(8)) + le(UInt32(0)),
            "invalid length 8"
        ),
        ("lengths that differ", section + le(UInt32(5)) + le(UInt32(16)) + le(UInt32(0)) + le(UInt32(20)), "16 and 20"),
        ("a packet block too short for its fields", section + interface(201) + block(6, [1, 2, 3, 4]), "too short"),
        ("only Ethernet", section + interface(1) + packet(0, ticks: 0, event), "Ethernet"),
        (
            "a huge packet",
            section + interface(201) + le(UInt32(6)) + le(UInt32(0x7FFF_FFF0)) + le(UInt32(0)) + le(UInt32(0)),
            "more than any"
        ),
    ]

    @Test(arguments: broken)
    func `an invalid block is reported`(_ name: String, _ file: [UInt8], _ fragment: String) throws {
        let error = try #require(Reading(file).error)
        #expect("\(error)".contains(fragment), "\(error)")
    }

    @Test func `packets of an interface with an unsupported link type are skipped and reported`() {
        let ethernet = [UInt8](repeating: 0xAA, count: 60)
        let reading = Reading(
            Self.section + Self.interface(1) + Self.interface(201) + Self.packet(0, ticks: 0, ethernet)
                + Self.packet(1, ticks: 0, Self.event))
        #expect(reading.error == nil)
        #expect(reading.contents == [.unknown, .hci(.event)])
        #expect(reading.info.remarks.count == 1)
        #expect(reading.info.format?.linkType == .h4WithDirection)
    }

    // MARK: interfaces as adapters, numbered again in each section

    private func adapters(_ file: [UInt8]) -> [UInt32] {
        let reading = Reading(file)
        #expect(reading.error == nil)
        return reading.adapters
    }
    private func packet(_ interface: UInt32, _ second: UInt64) -> [UInt8] {
        Self.packet(interface, ticks: second * 1_000_000, Self.event)
    }
    private func named(_ name: String) -> [UInt8] {
        Self.interface(201, options: Self.option(2, Array(name.utf8)))
    }

    @Test func `an interface is the same adapter in the next section`() {
        let section = Self.section, plain = Self.interface(201)
        #expect(adapters(section + plain + packet(0, 5) + section + plain + packet(0, 6)) == [0, 0])
        let two = section + plain + named("b") + packet(0, 5) + packet(1, 5)
        #expect(adapters(two + section + plain + named("b") + packet(1, 6) + packet(0, 6)) == [0, 1, 1, 0])
        let interfaces = section + named("a") + named("b")
        #expect(
            adapters(interfaces + packet(1, 5) + interfaces + packet(0, 6) + interfaces + packet(1, 7)) == [0, 1, 0]
        )
    }

    /// As when two captures of `btmon -w` are merged.
    @Test func `equal adapters of two monitor interfaces are different adapters`() throws {
        let monitor = Self.interface(254), event = bytes("0000 0003 0e 00")
        let file = Self.section + monitor + monitor + Self.packet(0, ticks: 5, event) + Self.packet(1, ticks: 6, event)
        #expect(adapters(file) == [0, 0x1_0000])
        var writer = CaptureWriter(CaptureFormat(.btsnoop, .monitor))
        for (packet, bytes) in Reading(file).packets { _ = try writer.write(packet, bytes.span.bytes) }
        #expect(adapters(writer.output) == [0, 0x100])
    }

    @Test func `an interface of another name or link type is another adapter`() {
        let section = Self.section, plain = Self.interface(201)
        #expect(adapters(section + plain + packet(0, 5) + section + named("b") + packet(0, 6)) == [0, 1])
        #expect(
            adapters(
                section + plain + packet(0, 5) + section + Self.interface(187)
                    + Self.packet(0, ticks: 6_000_000, [4, 0x0E, 0])) == [0, 1])
        #expect(adapters(section + plain + plain + packet(0, 5) + packet(1, 6) + packet(0, 7)) == [0, 1, 0])
    }
}
