import Foundation
import Support
import Testing

/// `stats`, and the filters of every subcommand that reads captures, with the built program.
@Suite struct CaptureStatsCommandTests {
    let replay = Program("waterh-replay")
    static let twoDays = ReplayCommandTests.captures + "/boost_two-days.btsnoop"

    private func json(_ arguments: [String], input: [UInt8] = []) async throws -> [String: Any] {
        let result = try await replay.run(["stats", "--json"] + arguments, input: input)
        #expect(result.exitCode == 0 && result.lines.count == 1, "\(arguments): \(result.error)")
        return try #require(try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any])
    }

    @Test func `stats prints its whole text`() async throws {
        let result = try await replay.run(["stats", "-"], input: Array(ReplayCommandTests.sample.utf8))
        #expect(
            result.output == """
                standard input: 3 packets, 3 ATT PDUs, 2026-02-02T22:21:20.100Z to 2026-02-02T22:21:20.450Z (350 ms)
                PDUs: 2 × Handle Value Notification, 1 × Write Command
                requests: none
                connection 1 with A4:C1:38:01:02:03: 3 PDUs, MTU not in the capture, 31 value bytes at 89 bytes/s
                characteristics:
                  handle  uuid  of                 requests  notifications  commands  median  95 %  worst  bytes  \
                bytes/s
                  0x8004  FFE9  A4:C1:38:01:02:03         0              0         1       -     -      -      \
                5        -
                  0x8008  FFE4  A4:C1:38:01:02:03         0              2         0       -     -      -     26      \
                104
                clock of A4:C1:38:01:02:03: not reported
                all as it should be

                """)
        #expect(result.exitCode == 0 && result.error == "")
    }

    private func big(_ value: UInt64, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
    }
    private func record(_ time: UInt64, _ flags: UInt64, _ flag: UInt8, _ att: [UInt8]) -> [UInt8] {
        let packet = [2, 0x40, flag << 4, UInt8(att.count + 4), 0, UInt8(att.count), 0, 4, 0] + att
        return big(UInt64(packet.count), 4) + big(UInt64(packet.count), 4) + big(flags, 4) + big(0, 4) + big(time, 8)
            + packet
    }

    /// One damaged bit in a timestamp gives a response time of 292,000 years. That exceeds Int64 microseconds.
    @Test func `an answer after ages is no trap`() async throws {
        let time: UInt64 = 0x00DC_DDB3_0F2F_8000 + 1_770_070_880_000_000
        let file =
            Array("btsnoop\0".utf8) + big(1, 4) + big(1002, 4) + record(time ^ 1 << 63, 0, 0, [0x12, 3, 0, 1, 0])
            + record(time + 86_700, 1, 2, [0x13])
        let result = try await replay.run(["stats", "-"], input: file)
        #expect(
            result.exitCode == 0 && result.output.contains("1 × Write Response"), "\(result.exitCode): \(result.error)")
        let latency = try #require(
            (try await json(["-"], input: file)["total"] as? [String: Any])?["latency"] as? [String: Any])
        #expect(latency["medianMs"] as? Double == latency["worstMs"] as? Double, "\(latency)")
    }

    @Test func `responses without a request are reported`() async throws {
        let time: UInt64 = 0x00DC_DDB3_0F2F_8000 + 1_770_070_880_000_000
        let head = Array("btsnoop\0".utf8) + big(1, 4) + big(1002, 4)
        let twice =
            head + record(time, 0, 0, [0x12, 3, 0, 1, 0]) + record(time + 50_000, 1, 2, [0x13])
            + record(time + 60_000, 1, 2, [0x13])
        let result = try await replay.run(["stats", "-"], input: twice)
        #expect(
            result.output.contains("1 answer without a request") && !result.output.contains("all as it should be"),
            "\(result.output)")
    }

    @Test func `json and csv say the same`() async throws {
        let object = try await json([Self.twoDays])
        let total = try #require(object["total"] as? [String: Any])
        #expect(total["pdus"] as? Int == 113 && total["notifications"] as? Int == 15 && total["commands"] as? Int == 6)
        #expect((object["connections"] as? [[String: Any]])?.map { $0["mtu"] as? Int } == [517, 517])
        let drift = try #require((object["clocks"] as? [[String: Any]])?.first?["driftSeconds"] as? Double)
        #expect(abs(drift) < 1)
        let characteristics = try #require(object["characteristics"] as? [[String: Any]])
        #expect(characteristics.map { $0["uuid"] as? String } == ["2A00", "2A25", "FFE9", "FFE4", "2902"])
        let csv = try await replay.run(["stats", "--csv", Self.twoDays])
        let rows = csv.lines.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        #expect(rows.allSatisfy { $0.count == rows[0].count } && rows.count == 1 + 1 + 6 + 2 + 5)
        let pdus = try #require(rows[0].firstIndex(of: "pdus")), uuid = try #require(rows[0].firstIndex(of: "uuid"))
        #expect(rows.suffix(5).map { $0[uuid] } == ["2A00", "2A25", "FFE9", "FFE4", "2902"])
        #expect(rows.suffix(5).map { Int($0[pdus]) } == characteristics.map { $0["pdus"] as? Int })
        #expect(try await replay.run(["stats", "--csv", "--json", Self.twoDays]).exitCode == 2)
    }

    /// Counts of each opcode, and the time from each request to its response.
    @Test func `tshark counts the same and takes the same times`() async throws {
        guard let tshark = Program(system: "tshark") else {
            return print("tshark is not installed: stats is not judged here (apt-get install tshark)")
        }
        var files = [
            Self.twoDays, ReplayCommandTests.captures + "/vita_reports-inside-log.pcapng",
            ReplayCommandTests.captures + "/boost_draft.btsnoop",
        ]
        if let real = ReplayCommandTests.real {
            files += ["treadmill-h4.btsnoop", "darkelf-h4.btsnoop", "pongbot-h4.btsnoop"].map { "\(real)/\($0)" }
        }
        for file in files {
            let theirs = try await tshark.run([
                "-r", file, "-Y", "btatt", "-T", "fields", "-e", "frame.time_epoch", "-e", "btatt.opcode", "-e",
                "btatt.handle", "-e", "btatt.req_opcode_in_error",
            ])
            var opcodes: [Int: Int] = [:], asked: (opcode: Int, time: Double)?, indicated: Double?,
                latencies: [Int: [Double]] = [:]
            var isSimple = true
            for line in theirs.lines {
                let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
                guard fields.count >= 2, let time = Double(fields[0]),
                    let opcode = Int(fields[1].dropFirst(2), radix: 16)
                else { continue }
                opcodes[opcode, default: 0] += 1
                if opcode == 0x1D { indicated = time }
                if opcode == 0x1E, let from = indicated { latencies[0x1D, default: []].append((time - from) * 1000) }
                guard opcode != 0x1B, opcode < 0x1A else { continue }
                if opcode & 1 == 0 {
                    // In some captures both ends have a request pending: then the simple pairing of request and
                    // response is wrong.
                    if asked != nil { isSimple = false }
                    asked = (opcode, time)
                } else if let request = asked, opcode == request.opcode + 1 || opcode == 1 {
                    latencies[request.opcode, default: []].append((time - request.time) * 1000)
                    asked = nil
                }
            }
            let ours = try await json([file])
            let byName = try #require((ours["total"] as? [String: Any])?["byName"] as? [String: Int])
            #expect(byName.values.sorted() == opcodes.values.sorted(), "\(file)")
            guard isSimple else { continue }
            let requests = try #require(ours["requests"] as? [[String: Any]])
            #expect(requests.count == latencies.count, "\(file)")
            for (request, (opcode, times)) in zip(requests, latencies.sorted(by: { $0.key < $1.key })) {
                let latency = try #require(request["latency"] as? [String: Any])
                let sorted = times.sorted()
                #expect(latency["count"] as? Int == times.count, "\(file), \(opcode)")
                for (key, share) in [("medianMs", 0.5), ("share95Ms", 0.95), ("worstMs", 1)] {
                    let right = sorted[max(1, Int((share * Double(sorted.count)).rounded(.up))) - 1],
                        found = try #require(latency[key] as? Double)
                    #expect(
                        abs(found - right) <= max(0.002, right / 60),
                        "\(file), \(opcode) \(key): \(found), tshark \(right)")
                }
            }
        }
    }

    @Test(
        arguments: [
            (["--only", "notifications"], 15), (["--only", "commands", "--only", "notifications"], 21),
            (["--handle", "0x13"], 15), (["--handle", "19", "--only", "requests"], 0),
            (["--device", "A4:C1:38:31:D1:D2"], 113), (["--bottle", "A4:C1:38:31:D1:D2"], 113),
            (["--device", "A4:C1:38:31:D1:D3"], 0),
            (["--from", "2026-11-21T05:02:15.355Z"], 12), (["--from", "2026-11-21T06:02:15.355+01:00"], 12),
            (["--to", "2026-11-21 05:02:15.355"], 101),
            (["--from", "05:02:15.355"], 12), (["--from", "1795237335.355"], 12),
            (["--from", "+0", "--to", "+10"], 113), (["--from", "2026-11-22"], 0),
            (["--to", "2026-11-21"], 0), (["--only", "errors"], 14),
        ] as [([String], Int)])
    func `one filter for every verb`(_ filter: [String], _ count: Int) async throws {
        let att = try await replay.run(["att", Self.twoDays] + filter)
        #expect(att.exitCode == 0 && att.lines.count == count, "\(att.error)")
        #expect(
            att.error.isEmpty == (count > 0) && (count > 0 || att.error.contains("none of the 113 ATT PDUs")),
            "\(att.error)")
        let total = try await json([Self.twoDays] + filter)["total"] as? [String: Any]
        #expect(total?["pdus"] as? Int == count)
        let info = try await replay.run(["info", "--json", Self.twoDays] + filter)
        let object = try JSONSerialization.jsonObject(with: Data(info.outputBytes)) as? [String: Any]
        #expect((object?["att"] as? [String: Any])?["total"] as? Int == count)
        for verb in ["drinks", "commands"] {
            #expect(try await replay.run([verb, Self.twoDays] + filter).exitCode == 0, "\(verb)")
        }
    }

    @Test func `drinks and commands of a time, a handle, a kind`() async throws {
        #expect(try await replay.run(["commands", "--json", Self.twoDays, "--from", "+0.2"]).lines.count == 4)
        #expect(try await replay.run(["drinks", "--json", Self.twoDays, "--to", "+0.2"]).lines.count == 40)
        #expect(try await replay.run(["drinks", "--json", Self.twoDays, "--handle", "0x13"]).lines.count == 40)
        #expect(try await replay.run(["drinks", "--json", Self.twoDays, "--only", "requests"]).lines.isEmpty)
    }

    @Test func `convert copies the selected packets and the discovery`() async throws {
        let folder = try TemporaryFolder()
        for (filter, notifications, drinks) in [
            (["--only", "notifications"], 15, 40), (["--to", "+0.2"], 7, 40),
            (["--device", "A4:C1:38:31:D1:D3"], 0, 0),
        ] {
            let result = try await replay.run(["convert", Self.twoDays, folder.file("some.pcapng")] + filter)
            #expect(result.exitCode == 0, "\(result.error)")
            #expect(
                try await replay.run(["att", folder.file("some.pcapng"), "--only", "notifications"]).lines.count
                    == notifications, "\(filter)")
            #expect(
                try await replay.run(["drinks", folder.file("some.pcapng"), "--json"]).lines.count == drinks,
                "\(filter)")
            #expect(
                try await replay.run(["att", folder.file("some.pcapng"), "--only", "commands"]).lines.isEmpty
                    == (filter[0] != "--to"))
        }
    }

    @Test(arguments: [
        ["--from", "yesterday"], ["--from", "2026-13-01"], ["--from", "2026-02-30"], ["--to", "25:00"],
        ["--to", "+-3"], ["--to", ""], ["--handle", "0"],
        ["--only", "nothing"], ["--device", "bottle"], ["--from", "2026-01-02", "--to", "2026-01-01"],
        ["--from", "99999999999999"],
    ])
    func `an invalid filter is exit code 2`(_ filter: [String]) async throws {
        for verb in ["att", "stats", "drinks"] {
            let result = try await replay.run([verb, Self.twoDays] + filter)
            #expect(result.exitCode == 2 && result.output.isEmpty && !result.error.isEmpty)
        }
    }

    @Test func `an empty file, no capture, several, and one that is cut`() async throws {
        let folder = try TemporaryFolder()
        try Data().write(to: folder.url("empty"))
        let empty = try await replay.run(["stats", folder.file("empty"), Self.twoDays])
        #expect(
            empty.exitCode == 4 && empty.error.split(separator: "\n").count == 1
                && empty.output.contains("113 ATT PDUs"))
        let both = try await replay.run([
            "stats", "--json", Self.twoDays, "/bin/sh", ReplayCommandTests.captures + "/boost_one-record.hex",
        ])
        #expect(both.exitCode == 4 && both.lines.count == 2)
        try Data(try Data(contentsOf: URL(fileURLWithPath: Self.twoDays)).prefix(4000)).write(to: folder.url("cut"))
        let cut = try await replay.run(["stats", folder.file("cut")])
        #expect(cut.exitCode == 4 && cut.output.contains("ATT PDUs") && cut.error.contains("cut"), "\(cut.error)")
    }

    @Test func `names from the air do nothing to a terminal`() async throws {
        let text = ReplayCommandTests.sample.replacingOccurrences(
            of: "address: A4:C1:38:01:02:03", with: "name: WaterH\u{1B}]0;x\u{07}\u{202E}")
        let result = try await replay.run(["stats", "-"], input: Array(text.utf8))
        #expect(result.exitCode == 0 && !result.outputBytes.contains(0x1B) && !result.output.contains("\u{202E}"))
    }
}
