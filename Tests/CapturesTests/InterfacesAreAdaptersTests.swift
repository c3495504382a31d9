import Bluetooth
import Captures
import Testing

/// Interfaces of a pcapng file are numbered again in each section.
@Suite struct InterfacesAreAdaptersTests {
    private func adapters(_ file: [UInt8]) throws -> [UInt32] {
        var reader = CaptureReader()
        var found: [UInt32] = []
        _ = try reader.read(file.span.bytes, isLast: true) { packet, _ in found.append(packet.adapter) }
        return found
    }

    private func packet(_ interface: UInt32, _ second: UInt64) -> [UInt8] {
        PcapngTests.packet(interface, ticks: second * 1_000_000, PcapngTests.event)
    }
    private let section = PcapngTests.section
    private func named(_ name: String) -> [UInt8] {
        PcapngTests.interface(201, options: PcapngTests.option(2, Array(name.utf8)))
    }
    private let plain = PcapngTests.interface(201)

    @Test func `an interface is the same adapter in the next section`() throws {
        #expect(try adapters(section + plain + packet(0, 5) + section + plain + packet(0, 6)) == [0, 0])
        let two = section + plain + named("b") + packet(0, 5) + packet(1, 5)
        #expect(try adapters(two + section + plain + named("b") + packet(1, 6) + packet(0, 6)) == [0, 1, 1, 0])
        let interfaces = section + named("a") + named("b")
        #expect(
            try adapters(interfaces + packet(1, 5) + interfaces + packet(0, 6) + interfaces + packet(1, 7)) == [
                0, 1, 0,
            ]
        )
    }

    @Test func `an interface of another name or link type is another adapter`() throws {
        #expect(try adapters(section + plain + packet(0, 5) + section + named("b") + packet(0, 6)) == [0, 1])
        #expect(
            try adapters(
                section + plain + packet(0, 5) + section + PcapngTests.interface(187)
                    + PcapngTests.packet(0, ticks: 6_000_000, [4, 0x0E, 0])) == [0, 1])
        #expect(try adapters(section + plain + plain + packet(0, 5) + packet(1, 6) + packet(0, 7)) == [0, 1, 0])
    }
}
