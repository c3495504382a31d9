import Captures
import Testing

/// Which adapter a packet of a pcapng file belongs to: interfaces are numbered anew in each section, and merging makes
/// one for each file.
@Suite struct InterfacesAreAdaptersTests {
    private func adapters(_ file: [UInt8], canLookAhead: Bool = true) throws -> [UInt32] {
        var reader = CaptureReader()
        if canLookAhead {
            reader.surveyInterfaces = {
                var survey = InterfaceSurvey()
                // Piece by piece, as from a disk.
                var rest = file[...]
                while !rest.isEmpty {
                    survey.take(Array(rest.prefix(37)).span.bytes)
                    rest = rest.dropFirst(37)
                }
                return survey
            }
        }
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

    @Test func aFurtherSectionGoesOn() throws {
        #expect(try adapters(section + plain + packet(0, 5) + section + plain + packet(0, 6)) == [0, 0])
        let two = section + plain + named("b") + packet(0, 5) + packet(1, 5)
        #expect(try adapters(two + section + plain + named("b") + packet(1, 6) + packet(0, 6)) == [0, 1, 1, 0])
    }

    @Test func aSectionInWhichAnAdapterIsSilentDoesNotMakeItAnother() throws {
        let interfaces = section + named("a") + named("b")
        #expect(
            try adapters(
                interfaces + packet(0, 5) + packet(1, 5) + interfaces + packet(1, 6) + interfaces + packet(0, 7)
                    + packet(1, 7)) == [0, 1, 1, 0, 1])
        // A file whose time runs back is somebody else's, and what stood before it is over.
        #expect(
            try adapters(
                interfaces + packet(0, 5) + packet(1, 5) + interfaces + packet(1, 4) + interfaces + packet(0, 7)
                    + packet(1, 7)) == [0, 1, 2, 3, 2])
    }

    @Test func anotherNameKindOrATimeThatRunsBackIsAnother() throws {
        #expect(try adapters(section + plain + packet(0, 5) + section + named("b") + packet(0, 6)) == [0, 1])
        #expect(
            try adapters(
                section + plain + packet(0, 5) + section + PcapngTests.interface(187)
                    + PcapngTests.packet(0, ticks: 6_000_000, [4, 0x0E, 0])) == [0, 1])
        #expect(try adapters(section + plain + packet(0, 5) + section + plain + packet(0, 4)) == [0, 1])
    }

    @Test func aClockThatWasSetBackInsideASectionIsNoOtherAdapterInTheNext() throws {
        #expect(
            try adapters(section + plain + packet(0, 3_605) + packet(0, 5) + section + plain + packet(0, 6)) == [
                0, 0, 0,
            ])
        #expect(
            try adapters(section + plain + packet(0, 3_605) + packet(0, 5) + section + plain + packet(0, 4)) == [
                0, 0, 1,
            ])
    }

    /// `mergecap` and editors write each section with a clock of its own; a coarser one cuts what the finer one told.
    @Test(arguments: [(3, 5_123), (3, 5_124), (2, 512), (0, 5), (0, 6)]) func aSectionWithACoarserClockGoesOn(
        power: UInt8, ticks: UInt64
    ) throws {
        let fine = PcapngTests.interface(201, options: PcapngTests.option(9, [6])),
            coarse = PcapngTests.interface(201, options: PcapngTests.option(9, [power]))
        let first = section + fine + PcapngTests.packet(0, ticks: 5_123_456, PcapngTests.event)
        #expect(
            try adapters(first + section + coarse + PcapngTests.packet(0, ticks: ticks, PcapngTests.event)) == [0, 0])
        #expect(
            try adapters(
                first + section + coarse
                    + PcapngTests.packet(0, ticks: ticks - (ticks > 5_123 || ticks == 6 ? 2 : 1), PcapngTests.event))
                == [0, 1])
    }

    @Test func partsThatWerePutTogetherAreOne() throws {
        #expect(try adapters(section + plain + plain + packet(0, 5) + packet(0, 6) + packet(1, 7)) == [0, 0, 0])
        #expect(
            try adapters(section + plain + plain + plain + packet(2, 5) + packet(0, 6) + packet(1, 7)) == [0, 0, 0])
        // At one time they are two; so are names that differ, and what cannot be read twice.
        #expect(try adapters(section + plain + plain + packet(0, 5) + packet(1, 6) + packet(0, 7)) == [0, 1, 0])
        #expect(try adapters(section + named("a") + named("b") + packet(0, 5) + packet(1, 6)) == [0, 1])
        #expect(try adapters(section + plain + plain + packet(0, 5) + packet(1, 7), canLookAhead: false) == [0, 1])
    }
}
