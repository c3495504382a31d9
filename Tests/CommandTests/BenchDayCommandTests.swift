import Foundation
import Support
import Testing

/// The whole day against the built emulator, its person's part rehearsed.
@Suite("bench-day, rehearsed") struct BenchDayCommandTests {
    private func rehearse(_ emulator: [String]) async throws -> (
        pair: Pair, object: [String: Any], verdicts: [String: String]
    ) {
        let pair = try await Pair(
            emulator + ["--capture", Program.repository + "/captures/boost_two-days.btsnoop", "--restamp", "today"])
        let result = try await Program("waterh-gateway").run(
            [
                "bench-day", "--link", pair.socket, "--rehearse", pair.control, "--folder", pair.folder.file("day"),
                "--json",
            ], limit: 120)
        #expect(result.exitCode == 0, "\(result.error)")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any])
        let findings = try #require(object["findings"] as? [[String: Any]])
        let verdicts = findings.compactMap { finding in
            (finding["point"] as? String).flatMap { point in (finding["verdict"] as? String).map { (point, $0) } }
        }
        return (pair, object, Dictionary(verdicts, uniquingKeysWith: { first, _ in first }))
    }

    @Test("five habits that contradict the law, and a sixth, are six findings, each named and with its bytes")
    func contradictions() async throws {
        let (pair, object, verdicts) = try await rehearse([
            "--faults", "unasked=300,keep-alive,frame=8,counts,step=3600", "--dialect", "strict",
        ])
        #expect(
            Set(verdicts.filter { $0.value == "contradicted" }.keys)
                == [
                    "quiet", "only-the-response-notifies", "one-frame", "acknowledge-without-dump", "clock-runs",
                    "byte-0",
                ])
        let findings = try #require(object["findings"] as? [[String: Any]])
        for finding in findings where finding["verdict"] as? String == "contradicted" {
            #expect((finding["evidence"] as? [String])?.isEmpty == false, "\(finding)")
        }
        let page = try String(contentsOf: pair.folder.url("day").appending(path: "README.md"), encoding: .utf8)
        for word in ["quiet", "one-frame", "byte-0"] { #expect(page.contains("## Contradicted: \(word) (P")) }
    }

    @Test(
        """
        a lawful bottle contradicts nothing; its captures show the whole day, and no acknowledgement before the \
        log was stored
        """
    )
    func lawful() async throws {
        let (pair, object, verdicts) = try await rehearse([])
        #expect(verdicts.filter { $0.value == "contradicted" } == [:])
        #expect(verdicts.values.count { $0 == "confirmed" } > 30)
        #expect(object["complete"] as? Bool == true)
        let captures = try FileManager.default.contentsOfDirectory(atPath: pair.folder.file("day/captures")).sorted()
        #expect(captures.count == 7 && captures.first == "1-first-connection.btsnoop")
        for capture in captures {
            let commands = try await Program("waterh-replay").run([
                "commands", pair.folder.file("day/captures/\(capture)"), "--json",
            ])
            #expect(commands.exitCode == 0, "\(capture): \(commands.error)")
            let acknowledges = commands.output.contains("\"hex\":\"52500004")
            #expect(acknowledges == (capture.hasPrefix("5-acknow") || capture.hasPrefix("6-")), "\(capture)")
        }
        // Every record that came was written down, and the drinks are in the folder's store: all of the capture, and
        // three sips.
        let status = try await Program("waterh-tracker").run([
            "export", "--json", "--store", pair.folder.file("day/waterh.sqlite"),
        ])
        let drinks = try JSONSerialization.jsonObject(with: Data(status.outputBytes)) as? [String: Any]
        #expect((drinks?["drinks"] as? [Any])?.count == 43)
        #expect(
            try String(contentsOfFile: pair.folder.file("day/records.txt"), encoding: .utf8).split(separator: "\n")
                .allSatisfy { $0.utf8.count == 26 })
        #expect(
            try FileManager.default.attributesOfItem(atPath: pair.folder.file("day"))[.posixPermissions] as? Int
                == 0o700)
    }

    /// SIGHUP: an adversary's finding. A terminal that was closed left a bottle in the next year, and no findings.
    @Test(
        """
        Ctrl-C and a closed terminal leave what was recorded, and the bottle its log; an earlier day's folder is \
        not written into
        """,
        arguments: [SIGINT, SIGHUP, SIGTERM])
    func interrupted(_ signal: Int32) async throws {
        let pair = try await Pair(["--capture", Program.repository + "/captures/boost_two-days.btsnoop"])
        let arguments = [
            "bench-day", "--link", pair.socket, "--rehearse", pair.control, "--folder", pair.folder.file("day"),
        ]
        let day = try Program("waterh-gateway").start(arguments)
        let isKept = await event(within: 30) {
            FileManager.default.fileExists(atPath: pair.folder.file("day/records.txt")) ? true : nil
        }
        #expect(isKept == true)
        day.send(signal: signal)
        let result = try await day.finish()
        #expect(result.exitCode == 130, "\(result.error)")
        #expect(
            try String(contentsOfFile: pair.folder.file("day/findings.json"), encoding: .utf8).contains(
                "\"complete\":false"))
        let drinks = try await Program("waterh-replay").run([
            "drinks", pair.folder.file("day/captures/1-first-connection.btsnoop"), "--json",
        ])
        #expect(drinks.lines.count == 40)
        let poll = try await pair.poll()
        #expect((poll.object["received"] as? Int ?? 0) >= 40)
        let again = try await Program("waterh-gateway").run(arguments)
        #expect(again.exitCode == 2 && again.error.contains("not empty"))
    }

    @Test("a recording is no bottle, and nobody at the link is said so with what is in the folder")
    func nobody() async throws {
        let folder = try TemporaryFolder()
        let recording = try await Program("waterh-gateway").run([
            "bench-day", "--link", "capture:" + Program.repository + "/captures/boost_two-days.btsnoop", "--folder",
            folder.file("a"),
        ])
        #expect(recording.exitCode == 2)
        let nobody = try await Program("waterh-gateway").run([
            "bench-day", "--link", "unix:" + folder.file("none.sock"), "--rehearse", "unix:" + folder.file("c.sock"),
            "--folder", folder.file("b"),
        ])
        #expect(nobody.exitCode == 5 && nobody.error.contains("is in \(folder.file("b"))"), "\(nobody.error)")
    }
}
