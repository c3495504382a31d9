import BottleProtocol
import Support
import Testing

@Suite struct AssemblerTests {
    static let one = hex("50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00")
    static let report = hex("52 54 00 04 03 28 00 D2")

    /// Records of a realistic log and its values.
    private func sample(_ count: Int, seed: UInt64 = seed) -> (records: [DrinkRecord], values: [[UInt8]]) {
        var generator = SeededGenerator(seed: seed)
        let records = (0..<count).map { randomRecord($0, &generator) }
        return (records, dump(records, &generator))
    }

    /// A row of `logs` in `Tests/Vectors/protocol.json`: the amounts of its records in the strict dialect.
    struct Log: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let notifications: [String]
        let amountsMl: [Int]
        let complete: Bool
        var testDescription: String { name }
    }

    @Test(arguments: try testVectors("logs", in: "protocol.json") as [Log])
    func `the notifications of a test vector give its records`(_ log: Log) {
        var assembler = LogAssembler()
        let events = assembler.receiveAll(log.notifications.map(hex)) + assembler.finish()
        let transfers = events.compactMap(\.transfer)
        #expect(transfers.flatMap { $0.records(dialect: .strict).map(\.amountMl) } == log.amountsMl)
        #expect(events.contains { $0.completed != nil } == log.complete)
    }

    @Test func `the progress of a log counts its payload`() {
        var assembler = LogAssembler()
        #expect(assembler.receive(hex("50 54 00 1E 0E 06") + Self.one.dropFirst(6)) == [])
        #expect(assembler.progress?.received == 15 && assembler.progress?.expected == 30)
    }

    @Test func `rule 1: a log split into pieces of 20 bytes or at any byte is reassembled`() {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<300 {
            let (records, values) = sample(Int.random(in: 1...60, using: &generator), seed: seed &+ UInt64(round))
            let bytes = values.flatMap { $0 }
            let cut = Int.random(in: 1..<bytes.count, using: &generator)
            let ways = [
                pieces(bytes) { 20 }, pieces(bytes) { Int.random(in: 13...120, using: &generator) },
                [Array(bytes.prefix(cut)), Array(bytes.dropFirst(cut))], [bytes],
            ]
            for way in ways {
                var assembler = LogAssembler()
                let transfers = assembler.receiveAll(way).compactMap(\.completed)
                #expect(transfers.map { $0.records() } == [records], "round \(round), pieces of \(way.map(\.count))")
                #expect(assembler.finish() == [])
            }
        }
    }

    /// If all values are shorter than a record, equal values can be equal log bytes instead of a repeated delivery.
    @Test func `rule 1: a log in pieces shorter than a record is reassembled`() {
        for round in 0..<100 {
            let (records, values) = sample(1 + round % 20, seed: seed &+ UInt64(round))
            let bytes = values.flatMap { $0 }
            for size in [1, 2, 3, 7, 12] {
                var assembler = LogAssembler()
                let events = assembler.receiveAll(pieces(bytes) { size })
                #expect(
                    events.compactMap(\.completed).map { $0.records() } == [records],
                    "round \(round), pieces of \(size)")
            }
        }
    }

    @Test(arguments: [1, 5, 20, 42])
    func `rule 1: split messages are reassembled`(_ size: Int) {
        let bytes = FrameTests.full.frame(.boost).encoded
        var assembler = LogAssembler()
        let events = assembler.receiveAll(pieces(bytes) { size }).compactMap(\.message)
        #expect(events.map(\.encoded) == [bytes])
    }

    @Test func `rule 2: RT and RP frames between any two values are separate messages`() {
        let answer = hex("52 50 00 03 02 06 01")
        for round in 0..<50 {
            let (records, values) = sample(40, seed: seed &+ UInt64(round))
            for way in [values, pieces(values.flatMap { $0 }) { 20 }] {
                for position in 1..<way.count {
                    var assembler = LogAssembler()
                    var stream = way
                    stream.insert(contentsOf: [Self.report, answer], at: position)
                    let events = assembler.receiveAll(stream)
                    #expect(
                        events.compactMap(\.completed).map { $0.records() } == [records],
                        "round \(round), position \(position)")
                    #expect(events.compactMap(\.message).map(\.encoded) == [Self.report, answer])
                }
            }
        }
    }

    @Test(arguments: [1, 2, 3])
    func `rule 2: RT and RP frames between the pieces of a header are separate messages`(_ cut: Int) {
        let answer = hex("52 50 00 03 02 06 01")
        let (records, values) = sample(40)
        let bytes = values.flatMap { $0 }
        var assembler = LogAssembler()
        let events =
            assembler.receiveAll([Array(bytes.prefix(cut)), Self.report, answer, Array(bytes.dropFirst(cut))])
            + assembler.finish()
        #expect(events.compactMap(\.completed).map { $0.records() } == [records])
        #expect(events.compactMap(\.message).map(\.encoded) == [Self.report, answer])
        #expect(events.count == 3)
        // A header without further bytes is reported, whatever precedes it.
        let lost = assembler.receiveAll([Array(bytes.prefix(cut)), Self.report] + values)
        guard case .malformed(let beginning, _)? = lost.dropFirst().first else { Issue.record("\(lost)"); return }
        #expect(beginning == Array(bytes.prefix(cut)))
    }

    @Test(arguments: ["50 54", "52 54", "52 50"])
    func `rule 2: continuations that begin with PT, RT or RP stay part of the log`(_ letters: String) {
        // Amount, TDS and sensor bytes that look like a header with a length, cut so that a chunk starts with them.
        for field in [6, 8, 10] {
            for length in [[0x00, 0x0F], [0x01, 0x61], [0x00, 0x10], [0xFF, 0xFF]] as [[UInt8]] {
                var record = hex("1A 02 02 16 15 0F 00 10 00 00 01 61 00")
                record.replaceSubrange(field..<(field + 2), with: hex(letters))
                for (index, byte) in length.enumerated() where field + 2 + index < 13 {
                    record[field + 2 + index] = byte
                }
                let bytes = Frame(.put, [Entry(.log, record + hex("1A 02 03 10 00 00 00 64 00 00 01 61 00"))]).encoded
                var assembler = LogAssembler()
                let events = assembler.receiveAll([Array(bytes.prefix(6 + field)), Array(bytes.dropFirst(6 + field))])
                #expect(
                    events.compactMap(\.completed).map(\.recordBytes) == [Array(bytes.dropFirst(6))],
                    "field \(field), length \(length)")
            }
        }
    }

    @Test func `rule 3: a new header ends the old frame, and only the new frame is complete`() {
        let (records, values) = sample(30)
        var assembler = LogAssembler()
        let half = values.count / 2
        let events = assembler.receiveAll(Array(values.prefix(half)) + values)
        guard case .unfinished(let kept, _)? = events.first else { Issue.record("\(events)"); return }
        #expect(!kept.isComplete)
        #expect(kept.records() == Array(records.prefix(kept.count)) && kept.count > 0)
        #expect(events.last?.completed?.records() == records)
    }

    @Test func `rule 4: entries of other types are skipped`() {
        var assembler = LogAssembler()
        let record = Array(Self.one.dropFirst(6))
        let frame = Frame(.put, [Entry(.battery, [97]), Entry(.log, record), Entry(EntryType(0x77), [1, 2, 3])])
        let transfer = assembler.receive(frame.encoded).first?.completed
        #expect(transfer?.recordBytes == record)
    }

    @Test(arguments: [0x00, 0x0F, 0x1B, 0xFF] as [UInt8])
    func `rule 4: an invalid entry length makes the frame malformed and keeps earlier records`(_ size: UInt8) {
        var assembler = LogAssembler()
        let record = Array(Self.one.dropFirst(6))
        let events =
            assembler.receiveAll([hex("50 54 00 1E 0E 06") + record, [size, 0x06] + record]) + assembler.finish()
        guard case .unfinished(let kept, let reason)? = events.first else { Issue.record("\(events)"); return }
        #expect(kept.recordBytes == record && reason.offset == 19)
        #expect(events.compactMap(\.completed).isEmpty)
    }

    @Test func `rule 5: a log cut at any byte is incomplete and keeps whole records`() {
        let (records, values) = sample(9)
        let bytes = values.flatMap { $0 }
        for count in 0..<bytes.count {
            var assembler = LogAssembler()
            let events = assembler.receive(Array(bytes.prefix(count))) + assembler.finish()
            #expect(events.compactMap(\.completed).isEmpty)
            let kept = events.compactMap(\.transfer).flatMap { $0.records() }
            #expect(kept == Array(records.prefix(kept.count)), "cut at \(count)")
        }
    }

    @Test func `rule 7: a repeated value counts once`() {
        for round in 0..<50 {
            let (records, values) = sample(40, seed: seed &+ UInt64(round))
            for way in [values, pieces(values.flatMap { $0 }) { 20 }] {
                var assembler = LogAssembler()
                let events = assembler.receiveAll(way.flatMap { [$0, $0] })
                #expect(events.compactMap(\.completed).map { $0.records() } == [records], "round \(round)")
                #expect(events.count { if case .repeated = $0 { true } else { false } } == way.count)
                for index in way.indices {
                    var once = LogAssembler()
                    var stream = way
                    stream.insert(way[index], at: index)
                    #expect(once.receiveAll(stream).compactMap(\.completed).map { $0.records() } == [records])
                }
            }
        }
    }

    @Test func `entries in any order are reassembled, even before their header (EATT)`() {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<300 {
            let (records, values) = sample(Int.random(in: 2...100, using: &generator), seed: seed &+ UInt64(round))
            var assembler = LogAssembler()
            let events = assembler.receiveAll(values.shuffled(using: &generator))
            let transfers = events.compactMap(\.completed)
            #expect(transfers.map { Set($0.records()) } == [Set(records)], "round \(round)")
            #expect(transfers.first?.count == records.count)
        }
    }

    @Test(arguments: [20, 50, 100])
    func `notifications truncated to the MTU give no invented records`(_ size: Int) {
        let (records, values) = sample(60)
        var assembler = LogAssembler()
        let events = assembler.receiveAll(values.map { Array($0.prefix(size)) }) + assembler.finish()
        #expect(events.compactMap(\.completed).isEmpty)
        let kept = events.compactMap(\.transfer).flatMap { $0.records() }
        #expect(kept.allSatisfy(records.contains), "\(kept.count) kept")
    }

    @Test func `a lost notification makes the log incomplete and gives no invented records`() {
        for round in 0..<100 {
            let (records, values) = sample(40, seed: seed &+ UInt64(round))
            for missing in values.indices {
                var assembler = LogAssembler()
                var stream = values
                stream.remove(at: missing)
                let events = assembler.receiveAll(stream) + assembler.finish()
                #expect(events.compactMap(\.completed).isEmpty)
                let kept = events.compactMap(\.transfer).flatMap { $0.records() }
                #expect(kept.allSatisfy(records.contains))
                let lostBytes = missing == 0 ? values[0].count - 6 : values[missing].count - 2
                #expect(kept.count == records.count - lostBytes / 13, "round \(round), missing \(missing)")
            }
        }
    }

    @Test func `a draft dump by reads ends with the empty frame`() {
        let first = sample(8, seed: 3)
        let second = sample(3, seed: 4)
        var assembler = LogAssembler()
        let frames =
            [first, second].map { Frame(.put, [Entry(.log, $0.records.flatMap(\.raw))]).encoded } + [hex("50 54 00 00")]
        let transfers = assembler.receiveAll(frames).compactMap(\.completed)
        #expect(transfers.map(\.count) == [8, 3, 0] && transfers.allSatisfy(\.isComplete))
    }

    @Test func `malicious bytes use bounded memory, and finish resets the assembler`() {
        var generator = SeededGenerator(seed: seed)
        let (records, values) = sample(20)
        var assembler = LogAssembler()
        let starts: [[UInt8]] = [
            [0x50, 0x54], [0x52, 0x54], [0x52, 0x50], [0x47, 0x54], [0x0E, 0x06], [0x69, 0x06], [0x50], [],
        ]
        for _ in 0..<300 {
            for _ in 0..<100 {
                let start = starts[Int.random(in: 0..<starts.count, using: &generator)]
                let size = Int.random(in: 0...40, using: &generator)
                _ = assembler.receive(start + (0..<size).map { _ in UInt8.random(in: 0...30, using: &generator) })
            }
            _ = assembler.finish()
            #expect(assembler.receiveAll(values).last?.completed?.records() == records)
            #expect(assembler.finish() == [])
        }
    }

    @Test func `endless entries without a header are emitted and not stored`() {
        var assembler = LogAssembler()
        var generator = SeededGenerator(seed: seed)
        var kept = 0
        for index in 0..<20_000 {
            let entry = Entry(.log, randomRecord(index, &generator).raw).encoded
            for event in assembler.receive(entry) { kept += event.transfer?.count ?? 0 }
        }
        for event in assembler.finish() { kept += event.transfer?.count ?? 0 }
        #expect(kept == 20_000)
    }

    @Test func `several frames in one value are separated`() {
        var assembler = LogAssembler()
        let events = assembler.receive(hex("52 50 00 03 02 06 01") + Self.one + Self.report)
        #expect(events.compactMap(\.message).map(\.encoded) == [hex("52 50 00 03 02 06 01"), Self.report])
        #expect(events.compactMap(\.completed).map(\.count) == [1])
    }

    @Test func `a transfer names the packet of each entry, also of one that arrived before the header`() {
        let (records, values) = sample(30)
        var assembler = LogAssembler()
        let order = [1, 0] + Array(2..<values.count)
        let events = order.flatMap { assembler.receive(values[$0], from: PayloadPart(frame: $0, time: nil)) }
        let transfer = events.compactMap(\.completed).first
        #expect(transfer?.records() == records)
        #expect(transfer?.parts.map(\.frame) == Array(values.indices))
        #expect(transfer?.parts.last?.end == transfer?.payload.count)
    }
}
