import Bluetooth
import BottleProtocol
import Captures
import Emulator
import Foundation
import Replay
import Support
import Testing

/// One bottle in several files, sections, interfaces and adapters: each drink once, although not every part has the
/// address.
@Suite struct OverlapTests {
    static let source = RewritingTests.folder + "/boost_two-days.btsnoop"

    /// The records of a btsnoop file, each with its header.
    static func btsnoop(_ path: String) throws -> (head: [UInt8], records: [[UInt8]]) {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        var records: [[UInt8]] = []
        var at = 16
        while at + 24 <= bytes.count {
            let length = bytes[(at + 4)..<(at + 8)].reduce(0) { $0 << 8 | Int($1) }
            records.append(Array(bytes[at..<(at + 24 + length)]))
            at += 24 + length
        }
        return (Array(bytes[..<16]), records)
    }

    /// The output of `drinks FILE…`.
    static func drinks(_ paths: [String]) throws -> [String] {
        var found: [String] = []
        let reader = DrinkReader(DrinkReader.Options(hostYear: 2026)) {
            found.append("\($0.at ?? "-") \($0.record.amountMl)")
        }
        for (index, path) in paths.enumerated() {
            var file = CaptureFile(path: path)
            do { try reader.read(&file, isLast: index == paths.count - 1) } catch is CaptureError {}
        }
        return found
    }

    static func halves(_ folder: TemporaryFolder, at cut: Int) throws -> [String] {
        let (head, records) = try btsnoop(source)
        return try [records[..<cut], records[cut...]].enumerated().map { index, part in
            try folder.write("part\(cut)-\(index).btsnoop", head + part.joined())
        }
    }

    @Test func `a log split into files at any record is read as one log`() throws {
        let folder = try TemporaryFolder()
        let whole = try Self.drinks([Self.source])
        #expect(whole.count == 40)
        for cut in 1..<(try Self.btsnoop(Self.source).records.count) {
            let parts = try Self.halves(folder, at: cut)
            let both = try Self.drinks(parts)
            #expect(Set(both) == Set(whole) && both.count == 40, "cut before record \(cut + 1)")
            // In the wrong order a split transfer is incomplete, but nothing counts twice, and common records are
            // present.
            let turned = try Self.drinks(parts.reversed())
            #expect(Set(turned).count == turned.count, "cut before record \(cut + 1), turned around")
            #expect(try Self.drinks([parts[1], Self.source, parts[0]]).sorted() == whole.sorted())
        }
    }

    @Test(arguments: ["hex", "nrf", "pcap-ll"])
    func `a log split into files is converted as one log`(format: String) throws {
        let folder = try TemporaryFolder()
        let whole = try Self.drinks([Self.source])
        for cut in stride(from: 10, to: try Self.btsnoop(Self.source).records.count, by: 12) {
            let parts = try Self.halves(folder, at: cut)
            let made = try RewritingTests.convert(parts[0], parts[1], to: format, in: folder)
            #expect(try Self.drinks([made]) == whole, "cut before record \(cut + 1)")
        }
    }

    @Test func `a log split into files is compared, replayed and cloned as one log`() throws {
        let folder = try TemporaryFolder()
        let whole = try Self.results([Self.source])
        for cut in stride(from: 10, to: try Self.btsnoop(Self.source).records.count, by: 12) {
            let split = try Self.results(try Self.halves(folder, at: cut))
            let comparison = ReadingComparison(ignoring: ["frame", "digest"])
            #expect(comparison.differences(whole.reading, split.reading).isEmpty, "cut before record \(cut + 1)")
            #expect(split.values == whole.values, "cut before record \(cut + 1)")
            #expect(split.clones == whole.clones, "cut before record \(cut + 1)")
        }
    }

    @Test func `a log continues in a file that starts with an unknown packet`() throws {
        let folder = try TemporaryFolder()
        let whole = try Self.results([Self.source])
        for cut in [50, 110] {
            let parts = try Self.halves(folder, at: cut)
            var (head, records) = try Self.btsnoop(parts[1])
            // The header of a packet of 2 bytes, at the time of the first packet.
            let unknown = [0, 0, 0, 2, 0, 0, 0, 2] + records[0][8..<24] + [0x77, 0x01]
            records.insert(unknown, at: 0)
            try Data(head + records.joined()).write(to: URL(fileURLWithPath: parts[1]))
            #expect(try Self.results(parts).reading.drinks.count == whole.reading.drinks.count)
        }
    }

    /// The reading, the values of the recorded responses, and the cloned profiles.
    private static func results(_ paths: [String]) throws -> (
        reading: CaptureReading, values: [[[UInt8]]], clones: [PeripheralProfile]
    ) {
        let parts = paths.map { CapturePart(path: $0) }
        let profiles = ProfileReader()
        var recording = RecordingState()
        for part in parts {
            var file = CaptureFile(part)
            let error = try file.readEvents(continuing: &recording, onBegin: { profiles.beginFile() }) {
                try profiles.receive($0, $1)
            }
            #expect(error == nil)
        }
        let script = try #require(ResponseScript.read(parts).scripts.first)
        return (
            try CaptureReading(of: parts, hostYear: 2026),
            script.exchanges.map { [$0.request] + $0.values.map(\.bytes) },
            profiles.finish().map(\.profile)
        )
    }

    @Test func `records of a part without an address belong to the bottle that has them`() throws {
        let log = (0..<12).map { record(600 + $0, 200 + $0) }
        var talk = Conversation(peer: nil)
        talk.notifyLog(log, from: 6)
        talk.disconnect()
        talk.connect(Conversation.bottle, handle: 0x41)
        talk.discoverRetail()
        talk.write([0x47, 0x54, 0x00, 0x01, 0x06])
        talk.notify([0x52, 0x50, 0x00, 0x03, 0x02, 0x06, 0x01])
        talk.notifyLog(log)
        let (drinks, reader) = try talk.drinks()
        #expect(drinks.count == 12)
        #expect(reader.tally.lookalikes == 12)
        // With other records it is a similar device, and the bottle keeps its drinks.
        var other = Conversation(peer: nil)
        other.notifyLog((0..<12).map { record(700 + $0, 100 + $0) }, from: 6)
        other.connect(Conversation.bottle, handle: 0x41)
        other.discoverRetail()
        other.notifyLog(log)
        let found = try other.drinks()
        #expect(found.drinks.map(\.amount) == Array(200..<212))
        #expect(found.reader.tally.lookalikes == 12)
    }

    @Test func `connections without an address count as one bottle`() throws {
        let log = Conversation.log((0..<16).map { record(600 + $0, 200 + $0) })
        var talk = Conversation(peer: nil, handle: 0x40)
        for handle in [UInt32(0x40), 0x41] {
            if handle == 0x41 { talk.connect(nil, handle: handle) }
            talk.discoverRetail()
            for value in log { talk.notify(value) }
            talk.disconnect()
        }
        #expect(try talk.drinks().drinks.count == 16)
    }

    /// Dates after a loss of power do not identify a bottle, unless all of them are equal.
    @Test func `records with reset dates do not identify a bottle`() throws {
        var talk = Conversation.retail()
        talk.notifyLog([record(0, 200, year: 0), record(600, 210)])
        talk.disconnect()
        talk.connect(nil, handle: 0x41)
        talk.discoverRetail()
        talk.notifyLog([record(0, 200, year: 0), record(700, 220)])
        #expect(try talk.drinks().drinks.count == 4)
    }

    /// A private address changes every 15 minutes.
    @Test func `a private address does not identify a bottle`() throws {
        for (address, count) in [(UInt64(0x5AC1_3801_0203), 2), (0xC4C1_3801_0203, 4)] {
            var events: [(ConversationEvent, [UInt8])] = []
            for turn in 0..<2 {
                var talk = Conversation.retail()
                talk.notifyLog([record(600, 200), record(601, 201)])
                for (event, bytes) in talk.events {
                    guard case .att(var att) = event else { continue }
                    att.connection = ObservedConnection(
                        id: turn + 1, handle: 0x40, peer: BluetoothAddress(address + UInt64(turn)), isPeerRandom: true,
                        isCentral: true)
                    att.frame += turn * 100
                    events.append((.att(att), bytes))
                }
            }
            var found = 0
            let reader = DrinkReader(DrinkReader.Options(hostYear: 2026)) { _ in found += 1 }
            for (event, bytes) in events { try reader.receive(event, bytes.span.bytes) }
            try reader.finishCapture()
            #expect(found == count)
        }
    }

    // MARK: pcapng

    @Test(arguments: ["pcapng", "pcapng-h4", "pcapng-ll", "pcapng-ll-phdr"])
    func `two sections of a pcapng file are read as one capture`(format: String) throws {
        let folder = try TemporaryFolder()
        let whole = try Self.drinks([Self.source])
        let count = try Self.btsnoop(Self.source).records.count
        for cut in stride(from: 3, to: count, by: 7) {
            let parts = try Self.halves(folder, at: cut).map {
                [UInt8](try Data(contentsOf: URL(fileURLWithPath: RewritingTests.convert($0, to: format, in: folder))))
            }
            let found = try Self.drinks([folder.write("sections.pcapng", parts.joined())])
            #expect(Set(found).count == found.count, "cut before record \(cut + 1)")
            // From the air, a connection without its start is a new one in the second part.
            if !format.contains("ll") { #expect(Set(found) == Set(whole), "cut before record \(cut + 1)") }
        }
    }

    @Test func `files merged by mergecap are read as one capture`() async throws {
        guard let mergecap = Program(system: "mergecap") else {
            print("mergecap is not installed: what it makes is not judged here (apt-get install tshark)")
            return
        }
        let folder = try TemporaryFolder()
        let whole = try Self.drinks([Self.source])
        let count = try Self.btsnoop(Self.source).records.count
        for cut in stride(from: 3, to: count, by: 11) {
            let path = folder.file("merged\(cut).pcapng")
            let result = try await mergecap.run(
                ["-I", "all", "-F", "pcapng", "-w", path] + Self.halves(folder, at: cut))
            #expect(result.exitCode == 0, "\(result.error)")
            let found = try Self.drinks([path])
            #expect(Set(found) == Set(whole) && found.count == 40, "cut before record \(cut + 1)")
        }
        // The whole capture twice, in parallel: all records are known.
        let twice = folder.file("twice.pcapng")
        _ = try await mergecap.run(["-I", "all", "-F", "pcapng", "-w", twice, Self.source, Self.source])
        #expect(try Self.drinks([twice]).count == 40)
    }
}
