import BottleProtocol
import Support
import Testing

@Suite struct FrameTests {
    static let clock = BottleClock(yearByte: 26, month: 2, day: 2, hour: 22, minute: 21, second: 15)
    static let reminder = ReminderSetting(
        mode: 1, wakeHour: 7, wakeMinute: 30, sleepHour: 22, sleepMinute: 15, intervalMinutes: 45)

    /// Rows of `commands` and `frames` in `Tests/Vectors/protocol.json`.
    struct Command: Decodable, Sendable {
        let bytes: String
        let meaning: String
    }
    struct EncodedFrame: Decodable, Sendable {
        struct EncodedEntry: Decodable, Sendable {
            let type: UInt8
            let data: String
        }
        let bytes: String
        let operation: String
        let entries: [EncodedEntry]
    }

    @Test(arguments: try testVectors("commands", in: "protocol.json") as [Command])
    func `commands of the test vectors decode to their meaning and encode to their bytes`(_ vector: Command) {
        let command = HostCommand(decoding: hex(vector.bytes))
        #expect(command.meaning == vector.meaning)
        #expect(command.encoded == hex(vector.bytes))
    }

    @Test(arguments: try testVectors("frames", in: "protocol.json") as [EncodedFrame])
    func `responses and reports of the test vectors decode to their entries`(_ vector: EncodedFrame) throws {
        let frame = try Frame(decoding: hex(vector.bytes))
        let entries = vector.entries.map { Entry(EntryType($0.type), hex($0.data)) }
        #expect(frame.operation == (vector.operation == "RP" ? .response : .report))
        #expect(try frame.entries() == entries)
        #expect(Frame(frame.operation, entries).encoded == hex(vector.bytes))
        #expect(try BottleMessage(decoding: frame).frame == frame)
    }

    @Test func `responses decode to messages`() throws {
        for (bytes, message) in Self.messages {
            #expect(try BottleMessage(decoding: Frame(decoding: hex(bytes))) == message)
        }
    }

    private static let messages: [(String, BottleMessage)] = [
        ("52 50 00 0F 03 05 09 C4 02 03 00 07 26 01 07 1E 16 0F 2D", .settingsTaken(goalMl: 2500, reminder: reminder)),
        ("52 50 00 04 03 05 09 C4", .response([Entry(.goal, 2500)])),
        ("52 50 00 03 02 06 01", .logFollows),
        ("52 50 00 03 02 06 00", .logEmpty),
        ("52 50 00 03 02 1C 02", .registration(.pressButton)),
        ("52 50 00 03 02 1C 06", .registration(.cleared)),
        ("52 50 00 03 02 03 00", .clockStatus(0)),
        ("52 54 00 03 02 02 61", .report([Entry(.battery, [97])])),
        ("52 54 00 04 03 08 02 12", .report([Entry(.level, 530)])),
    ]

    /// Published: length 000F, byte 10 = 00.
    @Test func `the values of a settings response are at the published offsets`() {
        let bytes = BottleMessage.settingsTaken(goalMl: 2500, reminder: .standard).frame.encoded
        #expect(bytes[2] == 0 && bytes[3] == 0x0F && bytes[10] == 0)
    }

    static var full: Snapshot {
        var snapshot = Snapshot()
        snapshot.batteryPercent = 97
        snapshot.charging = .charging
        snapshot.clock = clock
        snapshot.goalMl = 2500
        snapshot.amountMl = 777
        snapshot.firmware = 0x0103
        snapshot.temperatureC = -3
        snapshot.tdsPpm = 210
        snapshot.levelMl = 530
        snapshot.reminder = reminder
        snapshot.language = 1
        return snapshot
    }

    /// Offsets in the frame, as in published decoders.
    @Test func `the values of a snapshot are at the published offsets`() {
        let boost = Self.full.frame(.boost).encoded
        #expect(boost.count == 43 && Array(boost[2...3]) == [0, 0x27])
        #expect(
            boost[6] == 97 && Array(boost[9...14]) == Self.clock.encoded && Array(boost[25...26]) == [1, 3]
                && boost[31] == 1)
        let vita = Self.full.frame(.vita).encoded
        #expect(vita.count == 53 && Array(vita[2...3]) == [0, 0x31])
        #expect(vita[6] == 0xFD && vita[9] == 97 && vita[34] == 1)
        #expect(Array(vita[45...46]) == [0, 210] && Array(vita[49...50]) == [2, 0x12])
    }

    @Test(arguments: BottleModel.allCases)
    func `a snapshot decodes to its values`(_ model: BottleModel) throws {
        let decoded = try Snapshot(decoding: Self.full.frame(model))
        var expected = Self.full
        expected.model = model
        if model == .boost {
            (expected.temperatureC, expected.tdsPpm, expected.levelMl) = (nil, nil, nil)
        } else {
            expected.language = nil
        }
        #expect(decoded == expected)
        guard case .snapshot = try BottleMessage(decoding: Self.full.frame(model)) else {
            Issue.record("no snapshot"); return
        }
    }

    /// The entry layout is derived; the published offsets apply also where a bottle fills the gaps differently.
    @Test(arguments: BottleModel.allCases)
    func `a snapshot that is not a sequence of entries is decoded by offsets`(_ model: BottleModel) throws {
        var bytes = Self.full.frame(model).encoded
        bytes[model == .boost ? 4 : 7] = 0xFF
        let snapshot = try Snapshot(decoding: Frame(decoding: bytes))
        #expect(
            snapshot.batteryPercent == 97 && snapshot.charging == .charging && snapshot.model == model
                && snapshot.firmware == 0x0103)
        if model == .vita { #expect(snapshot.temperatureC == -3 && snapshot.tdsPpm == 210 && snapshot.levelMl == 530) }
        if model == .boost { #expect(snapshot.clock == Self.clock) }
        guard case .snapshot = try BottleMessage(decoding: Frame(decoding: bytes)) else {
            Issue.record("no snapshot"); return
        }
    }

    @Test func `truncated bytes decode to a value or an error`() throws {
        let commands: [Command] = try testVectors("commands", in: "protocol.json")
        let frames =
            Self.messages.map { hex($0.0) } + [Self.full.frame(.boost).encoded, Self.full.frame(.vita).encoded]
            + commands.map { hex($0.bytes) }
        for bytes in frames {
            for count in 0..<bytes.count {
                let cut = Array(bytes.prefix(count))
                #expect(HostCommand(decoding: cut).encoded == cut)
                let failure = #expect(throws: DecodeFailure.self) { try Frame(decoding: cut) }
                let error = try #require(failure)
                #expect(error.found < error.needed && error.offset == count)
                #expect(error.description.contains("byte \(count)"))
                // A truncated payload with a corrected length field: the entries must detect it.
                guard count >= 4 else { continue }
                let frame = Frame(.response, payload: Array(cut.dropFirst(4)))
                _ = try? BottleMessage(decoding: frame)
                _ = try? Snapshot(decoding: frame)
                if let entries = try? frame.entries() { #expect(entries.flatMap(\.encoded) == frame.payload) }
            }
        }
    }

    @Test func `trailing bytes are rejected`() {
        #expect(throws: DecodeFailure(problem: "bytes follow the end of a frame", offset: 7, needed: 3, found: 4)) {
            try Frame(decoding: hex("52 50 00 03 02 06 01 00"))
        }
    }

    @Test(arguments: [("00", 4), ("02 06", 4), ("02 06 01 FF", 7), ("01 06 00", 6)])
    func `entries with a wrong length are rejected`(_ payload: String, _ offset: Int) {
        let error = #expect(throws: DecodeFailure.self) { try Frame(.response, payload: hex(payload)).entries() }
        #expect(error?.offset == offset)
    }

    @Test func `commands and frames keep any bytes when decoded and encoded`() throws {
        var generator = SeededGenerator(seed: seed)
        let letters: [[UInt8]] = [[0x47, 0x54], [0x50, 0x54], [0x52, 0x50], [0x52, 0x54], []]
        for _ in 0..<5_000 {
            let body = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
                UInt8.random(in: 0...9, using: &generator)
            }
            let lettered = letters[Int.random(in: 0..<letters.count, using: &generator)]
            let bytes = lettered.isEmpty ? body : lettered + [0, UInt8(body.count)] + body
            #expect(HostCommand(decoding: bytes).encoded == bytes)
            guard let frame = try? Frame(decoding: bytes) else { continue }
            #expect(frame.encoded == bytes)
            if let entries = try? frame.entries() { #expect(Frame(frame.operation, entries) == frame) }
        }
    }

    @Test func `a snapshot can have unknown entry types`() throws {
        let bytes = hex("52 50 00 0A 02 02 61 03 77 01 02 02 20 00")
        #expect(try Snapshot(decoding: Frame(decoding: bytes)).batteryPercent == 97)
    }
}

extension BottleMessage {
    /// The response to goal, clock and reminder: `52 50 00 0F 03 05 GG GG 02 03 00 07 26 r r r r r r`.
    fileprivate static func settingsTaken(goalMl: UInt16, reminder: ReminderSetting) -> BottleMessage {
        .response([Entry(.goal, goalMl), Entry(.clock, [0]), Entry(.reminder, reminder.encoded)])
    }
}
