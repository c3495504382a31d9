import Bluetooth
import Captures
import Testing

@Suite struct EveryFormatTests {
    /// A recorder without a clock can start at any time. Formats keep the time where they can express it, and the
    /// intervals otherwise.
    @Test(arguments: CaptureFormat.named.map(\.name))
    func `a packet with any time can be written`(name: String) throws {
        let format = try #require(CaptureFormat(name: name))
        let packets = Samples.packets(format.layer)
        // The year 0, a day before 1970, 2001 from a device with a wrong clock, 2026, and 2200.
        for start: Int64 in [-62_167_219_200, -86_400, 1_000_000_000, 1_770_000_000, 7_258_118_400] {
            var writer = CaptureWriter(format)
            for (index, (packet, bytes)) in packets.enumerated() {
                var packet = packet
                packet.time = Duration(seconds: start + Int64(index), nanoseconds: 500_000_000)
                #expect(try writer.write(packet, bytes.span.bytes))
            }
            let reading = Reading(writer.takeOutput())
            #expect(reading.error == nil, "\(start)")
            let times = reading.packets.compactMap(\.packet.time)
            guard format.container != .nrfConnect else { continue }
            #expect(times.count == packets.count)
            let isKept = writer.retimedRecords == 0
            #expect(isKept || writer.retimedRecords == packets.count)
            let isAlwaysKept =
                format.container == .pcapng ? start >= 0 : ![.pcap, .packetLogger].contains(format.container)
            if isAlwaysKept { #expect(isKept, "\(start)") }
            if isKept { #expect(times.first == Duration(seconds: start, nanoseconds: 500_000_000), "\(start)") }
            if let first = times.first, let last = times.last {
                #expect(last - first == .seconds(packets.count - 1), "\(start)")
            }
        }
    }

    @Test(arguments: Samples.formats)
    func `written packets are read back unchanged`(format: CaptureFormat) throws {
        let reading = Reading(try Samples.file(format))
        #expect(reading.error == nil)
        #expect(reading.info.format == format)
        let expected = Samples.packets(format.layer)
        #expect(reading.payloads == expected.map(\.1))
        for (read, written) in zip(reading.packets, expected) {
            var wanted = written.0
            if !format.keepsDirection { wanted.direction = read.packet.direction }
            if format.linkType == .linkLayer { wanted.content = .linkLayer(LinkLayerInfo()) }
            #expect(read.packet == wanted)
        }
    }

    /// Every complete record, then one error with the position.
    @Test(arguments: Samples.formats.filter { $0.layer != .text })
    func `a file truncated at any byte does not trap`(format: CaptureFormat) throws {
        let file = try Samples.file(format)
        let whole = Reading(file)
        let ends = try recordEnds(format)
        let boundaries = Set(
            format.container == .pcapng
                ? blockEnds(file, isBigEndian: format.isBigEndian) : ends + [Samples.writer(format).output.count])
        for length in 0..<file.count {
            let cut = Reading(Array(file.prefix(length)))
            #expect(cut.isPrefix(of: whole), "cut at \(length)")
            #expect(cut.packets.count == ends.filter { $0 <= length }.count, "cut at \(length)")
            guard !boundaries.contains(length) || length == 0 else {
                #expect(cut.error == nil, "cut at \(length)")
                continue
            }
            let error = try #require(cut.error, "cut at \(length)")
            // A short prefix can be unrecognised instead of truncated.
            #expect(
                error.kind == .truncated || length < 16 && error.kind == .unrecognised, "cut at \(length): \(error)")
            if error.kind == .truncated { #expect(error.sentence.contains("ends at byte \(length)"), "\(error)") }
        }
    }

    /// A line that is cut between two bytes looks complete: only the lines before it are certain.
    @Test(arguments: Samples.formats.filter { $0.layer == .text })
    func `a text file truncated at any byte does not trap`(format: CaptureFormat) throws {
        let file = try Samples.file(format)
        let whole = Reading(file)
        let ends = try recordEnds(format)
        for length in 0..<file.count {
            let cut = Reading(Array(file.prefix(length)))
            let certain = ends.filter { $0 <= length }.count
            #expect(cut.packets.count >= certain && cut.packets.count <= certain + 1, "cut at \(length)")
            #expect(
                zip(cut.packets.prefix(certain), whole.packets).allSatisfy {
                    $0.packet == $1.packet && $0.bytes == $1.bytes
                }, "cut at \(length)")
            if let error = cut.error { #expect(error.kind != .malformed, "cut at \(length): \(error)") }
        }
    }

    /// File offsets after each record.
    private func recordEnds(_ format: CaptureFormat) throws -> [Int] {
        var writer = Samples.writer(format)
        return try Samples.packets(format.layer).map { packet, bytes in
            try writer.write(packet, bytes.span.bytes)
            return writer.output.count
        }
    }

    private func blockEnds(_ file: [UInt8], isBigEndian: Bool) -> [Int] {
        var ends: [Int] = []
        var at = 0
        while at + 8 <= file.count {
            let length = file[at + 4..<at + 8].reduce(0) { isBigEndian ? $0 << 8 | Int($1) : $0 >> 8 | Int($1) << 24 }
            at += length
            ends.append(at)
        }
        return ends
    }

    @Test(arguments: Samples.formats)
    func `a file read in small pieces has the same packets`(format: CaptureFormat) throws {
        let file = try Samples.file(format)
        let whole = Reading(file)
        for step in [1, 2, 3, 7, 16, 24, 61, 100] {
            #expect(Reading(file, step: step).isEqual(to: whole), "\(step) bytes at a time")
        }
    }

    @Test(arguments: Samples.formats)
    func `a damaged file does not trap`(format: CaptureFormat) throws {
        expectNoTrap(try Samples.file(format), rounds: 150)
    }
}
