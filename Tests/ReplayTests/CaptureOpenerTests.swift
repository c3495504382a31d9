import Bluetooth
import Captures
import Foundation
import Replay
import Support
import Testing

/// Packed captures, bug reports, and texts with a packed log: complete, truncated, damaged, and decompression bombs.
@Suite struct CaptureOpenerTests {
    static let sample = URL(fileURLWithPath: Program.repository + "/captures/boost_two-days.btsnoop")

    static func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: sample)) }

    /// Frame, time and bytes of every packet of an opened path, by part, and the messages.
    struct Opened {
        var parts: [(name: String, packets: [[UInt8]], readingError: String?)] = []
        var remarks: [String] = []
        var failure: String?

        init(_ path: String, limits: ArchiveLimits = ArchiveLimits()) {
            do {
                let opened = try CaptureOpener(limits: limits).open(path)
                remarks = opened.remarks
                for part in opened.parts {
                    var packets: [[UInt8]] = []
                    var file = CaptureFile(path: part.path)
                    var readingError = part.readingError
                    do {
                        try file.forEachPacket { _, bytes in packets.append(bytes.withUnsafeBytes { Array($0) }) }
                    } catch let error as CaptureError {
                        readingError = readingError ?? error.description
                    }
                    parts.append((part.name, packets, readingError))
                }
            } catch {
                failure = "\(error)"
            }
        }

        init(_ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits()) throws {
            let folder = try TemporaryFolder()
            let path = try folder.write("input", bytes)
            self = withExtendedLifetime(folder) { Opened(path, limits: limits) }
            parts = parts.map { (String($0.name.dropFirst(path.count)), $0.packets, $0.readingError) }
        }
    }

    static func packets() throws -> [[UInt8]] { try #require(Opened(sample.path).parts.first).packets }

    static func packed(_ bytes: [UInt8], _ program: String, _ options: String = "-c") async throws -> [UInt8] {
        let tool = try #require(Program(system: program), "\(program) is not installed: run hardware/bench setup")
        return try await tool.run([options], input: bytes).outputBytes
    }

    @Test(arguments: ["gzip", "bzip2", "xz", "zstd", "lz4"])
    func `a compressed capture has the packets of the plain one`(program: String) async throws {
        let file = try await Self.packed(try Self.bytes(), program)
        let opened = try Opened(file)
        #expect(opened.failure == nil)
        #expect(opened.remarks == [])
        #expect(opened.parts.map(\.packets) == [try Self.packets()])
        #expect(opened.parts.first?.readingError == nil)
    }

    @Test(arguments: ["gzip", "bzip2", "xz", "zstd", "lz4"])
    func `a compressed capture truncated at any byte gives the packets before it`(program: String) async throws {
        let whole = try Self.packets()
        let file = try await Self.packed(Array(try Self.bytes().prefix(600)), program)
        var most = 0
        for count in 0..<file.count {
            let opened = try Opened(Array(file.prefix(count)))
            let packets = opened.parts.first?.packets ?? []
            #expect(opened.parts.count <= 1)
            #expect(whole.starts(with: packets), "cut at \(count)")
            // Only a checksum follows the data: without it the bytes are complete.
            let isReported = opened.failure != nil || opened.parts.first?.readingError != nil
            #expect(isReported || packets.count >= most, "cut at \(count): nothing is said")
            most = max(most, packets.count)
        }
    }

    @Test func `a truncated gzip file gives all bytes before the end, like gzip itself`() async throws {
        let file = try await Self.packed(try Self.bytes(), "gzip")
        for missing in [1, 4, 9, 12, 40, 200] {
            let cut = Array(file.dropLast(missing))
            let own = try Opened(try await Self.packed(cut, "gzip", "-dc"))
            let opened = try Opened(cut)
            #expect(opened.parts.first?.packets == own.parts.first?.packets, "\(missing) bytes are missing")
            #expect(
                opened.parts.first?.readingError?.contains("gzip file is damaged or truncated") == true,
                "\(missing) bytes are missing")
        }
    }

    /// The last eight bytes of a gzip are the checksum and the length.
    @Test func `a gzip file with a wrong checksum is reported`() async throws {
        let file = try await Self.packed(try Self.bytes(), "gzip")
        let whole = try Self.packets()
        for place in (file.count - 8)..<file.count {
            var damaged = file
            damaged[place] ^= 0x10
            let opened = try Opened(damaged)
            #expect(opened.parts.map(\.packets) == [whole])
            #expect(opened.parts.first?.readingError?.contains("is damaged or truncated") == true, "byte \(place)")
        }
        for seed in UInt64(1)...120 {
            var generator = SeededGenerator(seed: seed)
            var damaged = file
            // After the header, which has no checksum.
            damaged[Int.random(in: 10..<file.count, using: &generator)] ^=
                1 << UInt8.random(in: 0...7, using: &generator)
            let opened = try Opened(damaged)
            let isReported = opened.failure != nil || opened.parts.first?.readingError != nil || !opened.remarks.isEmpty
            #expect(isReported || opened.parts.map(\.packets) == [whole], "seed \(seed)")
        }
    }

    @Test func `a wrong gzip checksum of a compressed tar is reported`() async throws {
        var file = try await Self.tar([("a.btsnoop", Self.bytes())], mode: "w:gz")
        file[file.count - 8] ^= 1
        let opened = try Opened(file)
        #expect(opened.parts.map(\.packets) == [try Self.packets()])
        #expect(
            opened.remarks.contains { $0.contains("damaged or truncated") } || opened.parts.first?.readingError != nil)
    }

    /// libarchive drops the last block of a truncated file.
    @Test(arguments: [1, 20, 200]) func `a truncated xz file is reported`(missing: Int) async throws {
        for file in [
            try await Self.packed(try Self.bytes(), "xz"),
            try await Self.tar([("a.btsnoop", Self.bytes())], mode: "w:xz"),
        ] {
            let opened = try Opened(Array(file.dropLast(missing)))
            let reported = [opened.failure, opened.parts.first?.readingError].compactMap(\.self) + opened.remarks
            #expect(reported.contains { $0.contains("damaged or truncated") }, "\(reported)")
        }
    }

    @Test(arguments: ["gzip", "xz"])
    func `concatenated compressed files are read as one`(program: String) async throws {
        let bytes = try Self.bytes()
        for cut in [0, 1, 700, bytes.count] {
            let file = try await Self.packed(Array(bytes[..<cut]), program) + Self.packed(Array(bytes[cut...]), program)
            // Padding of a tape's block belongs to no member.
            let opened = try Opened(file + [UInt8](repeating: 0, count: 512))
            #expect(opened.parts.map(\.packets) == [try Self.packets()], "cut at \(cut)")
            #expect(opened.parts.first?.readingError == nil && opened.failure == nil, "cut at \(cut)")
        }
    }

    @Test(arguments: ["gzip", "bzip2", "xz", "zstd", "lz4", "zip"])
    func `a randomly damaged compressed file does not trap`(program: String) async throws {
        let file =
            try await program == "zip"
            ? Self.zip([("a.btsnoop", Self.bytes()), ("b.txt", Array("hello\n".utf8))])
            : Self.packed(try Self.bytes(), program)
        for seed in UInt64(1)...40 {
            var generator = SeededGenerator(seed: seed)
            var damaged = file
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                damaged[Int.random(in: damaged.indices, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            let opened = try Opened(damaged)
            #expect(opened.failure != nil || !opened.parts.isEmpty, "seed \(seed)")
        }
    }

    // MARK: archives

    /// A zip made by Python.
    static func zip(_ members: [(String, [UInt8])], stored: Bool = false) async throws -> [UInt8] {
        try await archive(
            members,
            """
            import sys, zipfile
            with zipfile.ZipFile(sys.argv[1], "w", zipfile.\(stored ? "ZIP_STORED" : "ZIP_DEFLATED")) as z:
                for n in sys.argv[2:]: z.write(n, n.split("/", 1)[1].replace("|", "/"))
            """)
    }

    static func tar(_ members: [(String, [UInt8])], mode: String) async throws -> [UInt8] {
        try await archive(
            members,
            """
            import sys, tarfile
            with tarfile.open(sys.argv[1], "\(mode)") as t:
                for n in sys.argv[2:]: t.add(n, n.split("/", 1)[1].replace("|", "/"))
            """)
    }

    private static func archive(_ members: [(String, [UInt8])], _ script: String) async throws -> [UInt8] {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("in"), withIntermediateDirectories: true)
        var names: [String] = []
        for (name, bytes) in members {
            let place = "in/" + name.replacingOccurrences(of: "/", with: "|")
            try Data(bytes).write(to: URL(fileURLWithPath: folder.file(place)))
            names.append(place)
        }
        let python = try #require(Program(system: "python3"))
        let result = try await python.run(["-c", script, "out"] + names, directory: folder.path)
        try #require(result.exitCode == 0, "\(result.error)")
        return [UInt8](try Data(contentsOf: folder.url("out")))
    }

    static let logs = "FS/data/misc/bluetooth/logs/"

    /// The parts of a log in the layout of a phone's bug report, among other files.
    static func report(text: String = "== dumpstate: 2026-02-02 22:30:00\n") async throws -> [UInt8] {
        // Cut between two records, in the middle of the first connection.
        let (head, records) = try OverlapTests.btsnoop(sample.path)
        return try await zip([
            ("version.txt", Array("2.0".utf8)), ("bugreport-phone-2026-02-02.txt", Array(text.utf8)),
            ("main_entry.txt", Array("bugreport-phone-2026-02-02.txt".utf8)),
            ("\(logs)btsnoop_hci.log", head + records[30...].joined()),
            ("\(logs)btsnoop_hci.log.last", head + records[..<30].joined()),
            ("FS/data/noise.bin", (0..<2000).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }),
        ])
    }

    @Test func `a bug report's logs are read in order and skipped files are reported`() async throws {
        let opened = try Opened(try await Self.report())
        #expect(opened.failure == nil)
        #expect(opened.parts.map(\.name) == [": \(Self.logs)btsnoop_hci.log.last", ": \(Self.logs)btsnoop_hci.log"])
        #expect(opened.parts.flatMap(\.packets) == (try Self.packets()))
        #expect(opened.remarks.count == 1)
        #expect(
            opened.remarks.first?.hasPrefix(
                """
                captures in it: \(Self.logs)btsnoop_hci.log.last, \(Self.logs)btsnoop_hci.log; skipped: \
                version.txt, 
                """
            ) == true, "\(opened.remarks)")
    }

    @Test(arguments: ["w", "w:gz", "w:xz"])
    func `captures in tar archives are read`(mode: String) async throws {
        let file = try await Self.tar([("a.txt", Array("hello\n".utf8)), ("x/b.log", Self.bytes())], mode: mode)
        let opened = try Opened(file)
        #expect(opened.parts.map(\.name) == [": x/b.log"])
        #expect(opened.parts.map(\.packets) == [try Self.packets()])
    }

    @Test func `an archive inside an archive is read, and a deeper one is rejected`() async throws {
        let inner = try await Self.packed(try Self.bytes(), "gzip")
        let one = try await Self.zip([("log.gz", inner)], stored: true)
        #expect(try Opened(one).parts.map(\.packets) == [try Self.packets()])
        let two = try Opened(try await Self.zip([("one.zip", one), ("plain.log", Self.bytes())]))
        #expect(two.parts.map(\.name) == [": plain.log"])
        #expect(
            two.remarks.contains { $0.contains("one.zip: log.gz: more than 2 nested archives") },
            "\(two.remarks)")
        let twice = try await Self.packed(try await Self.packed(try Self.bytes(), "gzip"), "gzip")
        #expect(try Opened(twice).failure?.contains("packed more than once") == true)
    }

    @Test func `an archive without a capture is reported with its contents`() async throws {
        let ethernet: [UInt8] = [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0] + [UInt8](repeating: 0, count: 12) + [1, 0, 0, 0]
        #expect(
            try Opened(try await Self.zip([("a.txt", [65]), ("b.bin", [0, 1])])).failure
                == "no capture in this zip file: a.txt, b.bin")
        #expect(
            try Opened(try await Self.zip([])).failure
                == "no capture in this zip file: it is empty")
        #expect(
            try Opened(try await Self.zip([("net.pcap", ethernet)])).failure?.contains(
                "net.pcap: unsupported content: Ethernet") == true)
        var encrypted = try await Self.zip([("a.btsnoop", Self.bytes())])
        for mark in ["PK\u{3}\u{4}", "PK\u{1}\u{2}"] {
            let at = try #require(encrypted.indices.first { encrypted[$0...].starts(with: Array(mark.utf8)) })
            encrypted[at + (mark.hasSuffix("\u{4}") ? 6 : 8)] |= 1
        }
        #expect(try Opened(encrypted).failure?.contains("a.btsnoop: encrypted") == true)
    }

    @Test func `control characters in member names are removed`() async throws {
        let opened = try Opened(try await Self.zip([("a\u{1B}[2J\nb.log", Self.bytes())]))
        #expect(opened.parts.map(\.name) == [": a[2Jb.log"])
    }

    // MARK: bombs

    /// A very long btsnoop file of empty records.
    static func bomb(megabytes: Int) async throws -> [UInt8] {
        let python = try #require(Program(system: "python3"))
        let result = try await python.run([
            "-c",
            """
            import struct, sys, zlib
            c = zlib.compressobj(9, zlib.DEFLATED, 31)
            out = sys.stdout.buffer
            out.write(c.compress(b"btsnoop\\0" + struct.pack(">II", 1, 1002)))
            for i in range(\(megabytes)): out.write(c.compress(bytes(24) * 43691))
            out.write(c.flush())
            """,
        ])
        return result.outputBytes
    }

    @Test func `decompression bombs are rejected with an error`() async throws {
        let bomb = try await Self.bomb(megabytes: 24)
        #expect(bomb.count < 100_000)
        let many = try await Self.zip((0..<8).map { ("\($0).gz", bomb) })
        let crowd = try await Self.zip((0..<30).map { ("\($0).txt", [65]) })
        for (file, limits, words) in [
            (bomb, ArchiveLimits(bytes: 16 << 20), "more than 16 MiB unpacked"),
            (bomb, ArchiveLimits(ratio: 100, freeBytes: 1 << 20), "more than 100 unpacked bytes for each packed byte"),
            // The limit applies to the sum of an archive.
            (many, ArchiveLimits(bytes: 60 << 20, ratio: 1 << 30), "more than 60 MiB"),
            (bomb, ArchiveLimits(time: .zero), "unpacking takes more than 0 ms"),
            (crowd, ArchiveLimits(members: 20), "more than 20 files"),
        ] {
            let failure = try Opened(file, limits: limits).failure
            #expect(failure?.contains(words) == true, "\(failure ?? words)")
        }
        let captures = try await Self.zip((0..<5).map { ("\($0).log", try Self.bytes()) })
        let few = try Opened(captures, limits: ArchiveLimits(captures: 3))
        #expect(few.parts.count == 3)
        #expect(few.remarks.contains { $0.contains("more than 3 captures") })
    }

    // MARK: packed logs

    /// The packets of the sample, packed as in an Android phone's report.
    static func packedLog(version: UInt8) throws -> (log: [UInt8], records: [UInt8]) {
        var records: [UInt8] = []
        var before: UInt64 = 0, time: UInt64 = 0
        func little(_ value: UInt64, _ size: Int) -> [UInt8] {
            (0..<size).map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
        }
        for record in try OverlapTests.btsnoop(sample.path).records {
            func number(_ at: Int, _ size: Int) -> UInt64 {
                record[at..<(at + size)].reduce(0) { $0 << 8 | UInt64($1) }
            }
            time = number(16, 8) - 0x00DC_DDB3_0F2F_8000
            let type: UInt8 =
                switch (record[24], number(8, 4) & 1) {
                case (4, _): 0x10
                case (1, _): 0x20
                case (_, 1): 0x11
                default: 0x21
                }
            records +=
                little(number(4, 4), 2) + (version == 2 ? little(number(0, 4), 2) : [])
                + little(before == 0 ? 0 : time - before, 4) + [type]
            records += record[25...]
            before = time
        }
        return ([version] + little(time, 8), records)
    }

    /// The log as text: base64 lines between its markers.
    static func text(version: UInt8, records: [UInt8]? = nil) async throws -> String {
        let (head, all) = try packedLog(version: version)
        let python = try #require(Program(system: "python3"))
        let deflated = try await python.run(
            ["-c", "import sys, zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))"],
            input: records ?? all)
        let base64 = Data(head + deflated.outputBytes).base64EncodedString(options: [
            .lineLength64Characters, .endLineWithLineFeed,
        ])
        return "--- BEGIN:BTSNOOP_LOG_SUMMARY (\(all.count) bytes in) ---\n\(base64)\n--- END:BTSNOOP_LOG_SUMMARY ---\n"
    }

    @Test(arguments: [1, 2] as [UInt8])
    func `a packed log inside dumpsys text is read`(version: UInt8) async throws {
        let log = try await Self.text(version: version)
        for text in [
            "Bluetooth Status\n  enabled: true\n\n\(log)\nBluetooth Config:\n", log,
            log.replacingOccurrences(of: "\n", with: "\r\n"),
        ] {
            let opened = try Opened(Array(text.utf8))
            #expect(opened.parts.map(\.name) == [": packed log"])
            #expect(opened.parts.map(\.packets) == [try Self.packets()], "\(opened.failure ?? "") \(opened.remarks)")
            #expect(opened.parts.first?.readingError == nil)
        }
        // In a bug report without another log, also where the report is packed again.
        let report = try await Self.zip([("bugreport.txt", Array("== dumpstate\n\(log)".utf8))])
        #expect(try Opened(report).parts.map(\.name) == [": bugreport.txt: packed log"])
        // A report with the log as a file does not need it twice.
        let both = try Opened(try await Self.report(text: "== dumpstate\n\(log)"))
        #expect(both.parts.count == 2)
        #expect(
            both.remarks.first?.contains("the packed log in bugreport-phone-2026-02-02.txt") == true, "\(both.remarks)")
    }

    /// Reports of two phones in one archive: the file of one must not make the packed log of the other a copy.
    @Test func `a packed log is kept if only another report has the log as a file`() async throws {
        let log = try await Self.text(version: 2)
        let other = try await Self.zip([("bugreport.txt", Array("== dumpstate\n\(log)".utf8))])
        let week = try await Self.zip([
            ("monday.zip", Self.report(text: "== dumpstate\n\(log)")), ("tuesday.zip", other),
        ])
        let opened = try Opened(week)
        #expect(
            opened.parts.count == 3
                && opened.parts.contains { $0.name.hasSuffix("tuesday.zip: bugreport.txt: packed log") },
            "\(opened.parts.map(\.name)), \(opened.remarks)")
    }

    @Test(arguments: [17, 66])
    func `several packed logs in one text are read and skipped ones reported`(count: Int) async throws {
        let text = String(repeating: try await Self.text(version: 2), count: count)
        let opened = try Opened(Array(text.utf8))
        #expect(opened.parts.count == min(count, 64), "\(opened.parts.count)")
        #expect(opened.remarks.contains { $0.contains("more than 64 captures") } == (count == 66), "\(opened.remarks)")
    }

    @Test func `packets of a packed log keep their times`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("log.txt", await Self.text(version: 2).utf8)
        func times(_ path: String) throws -> [Duration?] {
            var found: [Duration?] = []
            let opened = try CaptureOpener().open(path)
            var file = CaptureFile(path: try #require(opened.parts.first).path)
            try file.forEachPacket { packet, _ in found.append(packet.time) }
            return found
        }
        #expect(try times(path) == (try times(Self.sample.path)))
    }

    @Test func `a truncated or damaged packed log is reported`() async throws {
        let whole = try Self.packets()
        let text = Array(try await Self.text(version: 1).utf8)
        // The end marker is not required.
        for count in stride(from: 60, to: text.count - 8, by: 7) {
            let opened = try Opened(Array(text.prefix(count)))
            #expect(whole.starts(with: opened.parts.first?.packets ?? []), "cut at \(count)")
            #expect(opened.failure != nil || opened.parts.first?.readingError != nil, "cut at \(count)")
        }
        for seed in UInt64(1)...60 {
            var generator = SeededGenerator(seed: seed)
            var damaged = text
            for _ in 0..<4 {
                damaged[Int.random(in: 60..<damaged.count, using: &generator)] = UInt8.random(
                    in: 0x20..<0x7F, using: &generator)
            }
            let opened = try Opened(damaged)
            #expect(opened.failure != nil || !opened.parts.isEmpty, "seed \(seed)")
        }
        // Wrong lengths.
        for records: [UInt8] in [[0, 0, 0, 0, 0, 0, 0], [255, 255, 0, 0, 0, 0, 0x10, 1], []] {
            let opened = try Opened(Array(try await Self.text(version: 1, records: records).utf8))
            #expect(opened.parts.map(\.packets) == [[]], "\(records): \(opened.failure ?? "")")
            #expect((opened.parts.first?.readingError != nil) == !records.isEmpty)
        }
    }

    // MARK: plain captures

    @Test func `a plain capture is opened without unpacking`() throws {
        let opened = try CaptureOpener().open(Self.sample.path)
        #expect(opened.parts.map(\.path) == [Self.sample.path])
        #expect(opened.parts.map(\.name) == [Self.sample.path])
        // A path that cannot be opened is passed on to its reader, which reports the error.
        #expect(try CaptureOpener().open("/nowhere/at/all").parts.map(\.path) == ["/nowhere/at/all"])
    }
}
