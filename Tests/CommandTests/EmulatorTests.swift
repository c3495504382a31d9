import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import Support
import Testing
import Emulator

/// An emulator with a folder of its own.
private struct Bottle {
    let folder: TemporaryFolder
    var link: String { folder.file("b.sock") }
    var control: String { "unix:" + folder.file("c.sock") }
    var store: String { folder.file("flash.json") }

    init() throws { folder = try TemporaryFolder() }

    /// Starts the emulator and waits for its ready line.
    func run(_ arguments: [String] = []) async throws -> (program: RunningProgram, ready: String) {
        let program = try Program.emulator.start(["run", "--link", "unix:" + link, "--control", control] + arguments)
        return (program, try await program.line { $0.hasPrefix("ready ") })
    }

    /// Starts an emulator that must end at once.
    func refused(_ arguments: [String]) async throws -> Program.Result {
        let own = arguments.contains("--link") ? [] : ["--link", "unix:" + link]
        return try await Program.emulator.run(["run"] + own + arguments, limit: 20)
    }

    /// A request of the log and the answer with one record.
    static let reading = """
        2026-02-02T22:21:20.400Z  >  FFE9  47 54 00 01 06
        2026-02-02T22:21:20.450Z  <  FFE4  50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00
        """

    /// Writes a capture of a reading and of these lines. Returns its path.
    func capture(_ lines: String = "") throws -> String {
        let text = """
            # waterh-bench hex text
            address: A4:C1:38:01:02:03
            2026-02-02T22:21:20.100Z  connected
            \(Self.reading)
            \(lines)
            2026-02-02T22:21:31.000Z  disconnected

            """
        try folder.write(text, to: "capture.hex")
        return folder.file("capture.hex")
    }

    /// Expects that a second emulator does not start with the same store.
    func expectLockedStore() async throws {
        let second = try await refused(["--link", "unix:" + folder.file("b2.sock"), "--store", store])
        second.expect(1, error: "another emulator")
    }

    func control(_ line: String) async throws -> Program.Result {
        try await Program.emulator.run("control --control \(control) \(line)")
    }

    func sip(_ ml: Int) throws { try Pair.ask(control, "sip", "\(ml)") }
}

@Suite struct EmulatorTests {
    private let bottle: Bottle

    init() throws { bottle = try Bottle() }

    /// None is in the log twice. A transferred drink precedes its acknowledgement.
    @Test func `a killed emulator keeps every drink and acknowledgement`() async throws {
        var generator = SeededGenerator(seed: 0x5749_5045)
        var sipped: Set<Int> = []
        var received: Set<Int> = []
        var acknowledged: Set<Int> = []
        for round in 0..<12 {
            let (program, ready) = try await bottle.run(["--store", bottle.store])
            #expect(ready.hasSuffix(" records=\(sipped.subtracting(acknowledged).count)"), "round \(round): \(ready)")
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let ml = sipped.count + 1
                try bottle.sip(ml)
                sipped.insert(ml)
            }
            if Bool.random(using: &generator) {
                let isAcknowledging = Bool.random(using: &generator)
                let amounts = try await drain(acknowledge: isAcknowledging).map(\.amountMl)
                received.formUnion(amounts)
                if isAcknowledging { acknowledged.formUnion(amounts) }
            }
            try await program.kill()
        }
        let (program, _) = try await bottle.run(["--store", bottle.store])
        let last = try await drain(acknowledge: true).map(\.amountMl)
        #expect(Set(last) == sipped.subtracting(acknowledged) && Set(last).count == last.count)
        #expect(received.union(last) == sipped)
        program.send(signal: SIGINT)
        #expect(try await program.finish().exitCode == 130)
    }

    /// The log of one retail poll. With `acknowledge` it waits until the bottle has processed the acknowledgement.
    private func drain(acknowledge: Bool) async throws -> [DrinkRecord] {
        let phone = try Phone(bottle.link)
        let command = try await phone.connectAndSubscribe().command
        try await phone.write(command, HostCommand.drinkLog.encoded)
        let records: [DrinkRecord] = try await phone.wait("a complete log") { events in
            var assembler = LogAssembler()
            for case .notification(_, let value) in events {
                for event in assembler.receive(value) {
                    if case .log(let log) = event { return log.records() }
                    if case .message(let frame) = event, (try? BottleMessage(decoding: frame)) == .logEmpty {
                        return []
                    }
                }
            }
            return nil
        }
        if acknowledge {
            try await phone.write(command, HostCommand.acknowledge(bytes: UInt16(13 * records.count)).encoded)
            // The bottle processes commands in order: a response to the next command means that the acknowledgement is
            // saved.
            try await phone.write(command, HostCommand.get(.battery).encoded)
            let isBattery: @Sendable (CentralEvent) -> Bool = {
                if case .notification(_, let value) = $0 { value.prefix(6) == [0x52, 0x50, 0, 3, 2, 2] } else { false }
            }
            _ = try await phone.wait("the battery") { $0.contains(where: isBattery) ? true : nil }
        }
        await phone.close()
        return records
    }

    @Test func `captures fill the log once, and --restamp today moves the last drink to now`() async throws {
        let capture = try bottle.capture(Bottle.reading)
        for (restamp, isKept) in [("keep", true), ("today", false)] {
            let (program, ready) = try await bottle.run(["--capture", capture, "--restamp", restamp])
            #expect(ready.hasSuffix(" records=1"))
            let record = try #require(try await drain(acknowledge: false).first)
            let time = DateComponents(
                year: record.year, month: record.month, day: record.day, hour: record.hour, minute: record.minute,
                second: record.second)
            let date = try #require(Calendar.current.date(from: time))
            #expect(record.amountMl == 16)
            if isKept {
                #expect(time == DateComponents(year: 2026, month: 2, day: 2, hour: 22, minute: 21, second: 15))
            } else {
                #expect(date <= Date() && date > Date(timeIntervalSinceNow: -120))
            }
            try await program.kill()
        }
    }

    @Test func `--restamp writes 1A in the strict dialect and the year in the calendar dialect`() throws {
        let capture = try bottle.capture()
        let inFebruary2028 = try #require(
            LocalTime(BottleClock(yearByte: 28, month: 2, day: 29, hour: 8, minute: 0, second: 0)))
        for (dialect, first) in [(RecordDialect.strict, 0x1A), (.calendar, 0x1C)] as [(RecordDialect, UInt8)] {
            var fill = try CapturedRecords(files: [capture])
            fill.shiftDates(newestTo: inFebruary2028, dialect: dialect)
            #expect(fill.records.map { Array($0.prefix(6)) } == [[first, 2, 29, 8, 0, 0]])
        }
    }

    @Test func `a control socket does not replace another socket`() async throws {
        let own = try await bottle.refused(["--control", "unix:" + bottle.link])
        own.expect(1, error: "--control")
        let (program, _) = try await bottle.run()
        let second = try await bottle.refused([
            "--link", "unix:" + bottle.folder.file("b2.sock"), "--control", "unix:" + bottle.link,
        ])
        second.expect(1, error: bottle.link)
        let phone = try Phone(bottle.link)
        _ = try await phone.connect()
        await phone.close()
        try await program.kill()
        // The socket file of a dead process is replaced.
        let (again, _) = try await bottle.run()
        #expect(try await bottle.control("status").exitCode == 0)
        try await again.kill()
    }

    @Test func `--answers selects recorded or modelled responses`() async throws {
        let capture = try bottle.capture(
            """
            2026-02-02T22:21:21.400Z  >  FFE9  47 54 00 01 77
            2026-02-02T22:21:21.450Z  <  FFE4  52 50 00 03 02 77 2A
            """)
        for mode in ["capture", "strict"] {
            let (program, _) = try await bottle.run(["--capture", capture, "--answers", mode])
            let phone = try Phone(bottle.link)
            let (command, response) = try await phone.connectAndSubscribe()
            try await phone.write(command, [0x47, 0x54, 0x00, 0x01, 0x77])
            let isRecorded: @Sendable (CentralEvent) -> Bool = {
                $0 == .notification(handle: response, value: [0x52, 0x50, 0x00, 0x03, 0x02, 0x77, 0x2A])
            }
            _ = try await phone.wait("the recorded answer") { $0.contains(where: isRecorded) ? true : nil }
            try await phone.write(command, HostCommand.snapshot.encoded)
            let isEnd: @Sendable (CentralEvent) -> Bool = { if case .disconnected = $0 { true } else { false } }
            let isSnapshot: @Sendable (CentralEvent) -> Bool = {
                if case .notification(_, let value) = $0 { value.count == 43 } else { false }
            }
            let ended = try await phone.wait("an answer or the end") { events -> Bool? in
                events.contains(where: isEnd) ? true : events.contains(where: isSnapshot) ? false : nil
            }
            #expect(ended == (mode == "strict"))
            await phone.close()
            try await program.kill()
        }
    }

    @Test func `a signal just after the start stops the emulator`() async throws {
        for _ in 0..<10 {
            let (program, _) = try await bottle.run()
            try await program.stop()
        }
    }

    @Test(arguments: ["btsnoop", "pcapng"]) func `--record writes a capture that waterh-replay reads`(_ suffix: String)
        async throws
    {
        let file = bottle.folder.file("air." + suffix)
        let (program, _) = try await bottle.run(["--record", file])
        try bottle.sip(77)
        #expect(try await drain(acknowledge: true).map(\.amountMl) == [77])
        try await program.stop()
        let drinks = try await Program.replay.run("drinks \(file) --json")
        #expect(drinks.exitCode == 0 && drinks.lines.count == 1, "\(drinks.error)")
        #expect(
            drinks.output.contains(#""amountMl":77"#) && drinks.output.contains("A4:C1:38:31:D1:D2"), "\(drinks.output)"
        )
        let commands = try await Program.replay.run("commands \(file) --json")
        #expect(commands.lines.count == 3, "\(commands.output)")
    }

    @Test func `control has text output, JSON output and exit codes`() async throws {
        let (program, ready) = try await bottle.run()
        #expect(ready == "ready link=unix:\(bottle.link) profile=both model=boost name=WaterH-Boost-24oz records=0")
        #expect(try bottle.folder.mode("c.sock") == 0o600)
        for line in [
            "refill", "battery 55", "charging on", "clock 2026-12-31T23:59:50", "press", "sip 120", "power-loss",
        ] {
            let result = try await bottle.control(line)
            #expect(result.exitCode == 0 && result.lines.count == 1, "\(line): \(result.error)")
        }
        let object = try await bottle.control("status --json").object()
        #expect(
            object["records"] as? Int == 1 && object["batteryPercent"] as? Int == 55
                && object["charging"] as? String == "charging")
        #expect((object["clock"] as? String)?.hasPrefix("2000-00-00T00:00") == true)
        for (line, code) in [
            ("sip x", Int32(2)), ("sip", 2), ("dance", 2), ("sip 70000", 3), ("drop", 3), ("battery 101", 3),
        ] {
            let result = try await bottle.control(line)
            #expect(result.exitCode == code && !result.error.isEmpty, "\(line)")
        }
        try await program.kill()
        #expect(try await bottle.control("status").exitCode == 5)
    }

    @Test func `an invalid or used flash file is rejected and not changed`() async throws {
        try bottle.folder.write("not a flash", to: "flash.json")
        let refused = try await bottle.refused(["--control", bottle.control, "--store", bottle.store])
        #expect(try refused.exitCode == 4 && bottle.folder.text("flash.json") == "not a flash")
        #expect(!FileManager.default.fileExists(atPath: bottle.store + ".lock"))
        try FileManager.default.removeItem(atPath: bottle.store)
        let (program, _) = try await bottle.run(["--store", bottle.store])
        try await bottle.expectLockedStore()
        try await program.kill()
    }

    /// An emulator that cannot open its link leaves the recording as it was. A pipe and a symbolic link remain what
    /// they are.
    @Test func `a recording can be written to a file, a pipe and a symbolic link`() async throws {
        let (file, link, pipe) = (
            bottle.folder.file("r.btsnoop"), bottle.folder.file("l.btsnoop"), bottle.folder.file("p.btsnoop")
        )
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        try bottle.folder.write("btsnoop\0 an older recording, longer than the new one", to: "r.btsnoop")
        let (program, _) = try await bottle.run(["--record", link])
        let begun = try Data(contentsOf: URL(fileURLWithPath: file))
        #expect(begun.starts(with: Data("btsnoop".utf8)) && begun.count == 16)
        #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == file)
        for name in [file, bottle.folder.file("new.btsnoop")] {
            let second = try await bottle.refused(["--record", name])
            #expect(second.exitCode != 0 && !second.error.isEmpty, "\(second.error)")
        }
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: file)).starts(with: begun)
                && !bottle.folder.has("new.btsnoop"))
        try await program.kill()
        try #require(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let (other, _) = try await bottle.run(["--record", pipe])
        var head = [UInt8](repeating: 0, count: 16)
        #expect(await eventually { read(reader, &head, 16) == 16 } && head.starts(with: Array("btsnoop".utf8)))
        try await other.kill()
    }

    @Test(arguments: ["SQLite format 3\0 a store", "a text\n", "\u{89}PNG\r\n\u{1A}\n\0\0\0\rIHDR"])
    func `a recording does not replace a file of another kind`(content: String) async throws {
        let file = bottle.folder.file("precious")
        try bottle.folder.write(content, to: "precious")
        let result = try await bottle.refused(["--record", file])
        result.expect(2, error: "is not replaced")
        #expect(try bottle.folder.text("precious") == content)
    }

    /// As root, `--store /dev/full` must not replace the device by a file.
    @Test func `a flash file that is not a regular file is rejected, a link is followed`() async throws {
        let bottle = try Bottle()
        let (pipe, link) = (bottle.folder.file("pipe"), bottle.folder.file("link"))
        try #require(mkfifo(pipe, 0o600) == 0)
        let refused = try await bottle.refused(["--store", pipe])
        refused.expect(1, error: "not a regular file")
        var status = stat()
        #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        try await bottle.run(["--store", bottle.store]).program.kill()
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: bottle.store)
        let (program, _) = try await bottle.run(["--store", link])
        try bottle.sip(150)
        #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: link)) != nil)
        #expect(try bottle.folder.text("flash.json").contains("150"))
        // The store is also locked under its other name.
        try await bottle.expectLockedStore()
        try await program.kill()
    }
}
