import Foundation
import Support
import Testing

@Suite struct CaptureReportTests {
    let replay = Program("waterh-replay")
    static let twoDays = ReplayCommandTests.captures + "/boost_two-days.btsnoop"
    static let vita = ReplayCommandTests.captures + "/vita_reports-inside-log.pcapng"

    /// The content of the page's data block.
    private func data(_ page: String) throws -> [[String: Any]] {
        let begin = try #require(page.range(of: #"<script type="application/json" id="data">"#)),
            end = try #require(page.range(of: "</script>", range: begin.upperBound..<page.endIndex))
        return try #require(
            try JSONSerialization.jsonObject(with: Data(page[begin.upperBound..<end.lowerBound].utf8))
                as? [[String: Any]])
    }

    private func occurrences(_ word: String, _ text: String) -> Int {
        text.lowercased().components(separatedBy: word).count - 1
    }

    /// The page as a browser renders it; `nil` where no browser is installed.
    private func shown(_ path: String) async throws -> String? {
        guard let chromium = Program(system: "chromium") else {
            print("chromium is not installed: the page is not opened here (apt-get install chromium)")
            return nil
        }
        let folder = try TemporaryFolder()
        let result = try await chromium.run(
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(folder.path)",
                "--virtual-time-budget=2000", "--window-size=1280,2000", "--dump-dom", "file://\(path)",
            ],
            environment: ["HOME": folder.path])
        return result.output
    }

    @Test func `an input file is never overwritten`() async throws {
        let folder = try TemporaryFolder()
        let capture = folder.file("log.btsnoop"), other = folder.file("other.btsnoop"),
            link = folder.file("link.btsnoop")
        try FileManager.default.copyItem(atPath: Self.twoDays, toPath: capture)
        try FileManager.default.copyItem(atPath: Self.twoDays, toPath: other)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: capture)
        for arguments in [
            ["report", capture, "-o", capture], ["report", other, capture, "-o", capture],
            ["report", capture, "-o", link], ["clone", capture, "-o", capture], ["clone", other, capture, "-o", link],
            ["convert", capture, link],
        ] {
            let result = try await replay.run(arguments)
            #expect(result.exitCode == 2 && result.error.contains("are the same file"), "\(arguments): \(result.error)")
        }
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: capture)) == Data(contentsOf: URL(fileURLWithPath: Self.twoDays)))
    }

    @Test func `the report page contains the capture and loads nothing`() async throws {
        let folder = try TemporaryFolder()
        let result = try await replay.run(["report", Self.twoDays, "-o", folder.file("page.html")])
        #expect(result.exitCode == 0 && result.output.isEmpty && result.error.contains("113 ATT PDUs"))
        let page = try String(contentsOfFile: folder.file("page.html"), encoding: .utf8)
        let capture = try #require(try data(page).first)
        #expect((capture["total"] as? [String: Any])?["pdus"] as? Int == 113)
        #expect((capture["drinks"] as? [String: Any])?["count"] as? Int == 40)
        #expect((capture["timeline"] as? [String: Any])?["count"] as? Int == 113)
        for word in ["http://", "https://", "src=", "@import", "url("] where word != "http://" {
            #expect(!page.contains(word), "\(word)")
        }
        // The SVG namespace is not a URL that a browser loads.
        #expect(page.replacingOccurrences(of: "http://www.w3.org/2000/svg", with: "").contains("http://") == false)
        #expect(page.contains("default-src 'none'"))
        guard let dom = try await shown(folder.file("page.html")) else { return }
        for words in [
            "No findings.", "8,140 ml", "Read By Group Type Request", "40 drinks", "FFE4", "error responses",
            "A4:C1:38:31:D1:D2",
        ] {
            #expect(dom.contains(words), "\(words)")
        }
    }

    @Test func `a hostile device name is escaped`() async throws {
        let folder = try TemporaryFolder()
        let bad = "</script><img src=x onerror=alert(1)>"
        let text = """
            name: WaterH\(bad)<!--<script>
            2026-02-02T22:21:20.100Z connected
            2026-02-02T22:21:20.200Z > FFE9 47 54 00 01 06
            2026-02-02T22:21:20.450Z < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00

            """
        let path = folder.file("<img src=x onerror=alert(2)>&amp;.hex")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(try await replay.run(["report", path, path, "--output", folder.file("page.html")]).exitCode == 0)
        let page = try String(contentsOfFile: folder.file("page.html"), encoding: .utf8)
        #expect(occurrences("</script>", page) == 2 && occurrences("<img", page) == 0 && occurrences("<!--", page) == 0)
        #expect(try data(page).count == 2)
        guard let dom = try await shown(folder.file("page.html")) else { return }
        #expect(occurrences("<img", dom) == 0 && dom.contains("&lt;img src=x onerror=alert(2)&gt;"))
    }

    @Test func `a report of two captures shows both`() async throws {
        let folder = try TemporaryFolder()
        let result = try await replay.run([
            "report", Self.twoDays, Self.vita, "-o", folder.file("page.html"), "--only", "notifications",
        ])
        #expect(result.exitCode == 0 && result.error.contains("15 ATT PDUs; 10 ATT PDUs"), "\(result.error)")
        let totals = try data(String(contentsOfFile: folder.file("page.html"), encoding: .utf8)).map {
            ($0["total"] as? [String: Any])?["pdus"] as? Int
        }
        #expect(totals == [15, 10])
        guard let dom = try await shown(folder.file("page.html")) else { return }
        #expect(dom.contains("<b>15</b>") && dom.contains("<b>10</b>"))
    }

    @Test func `an empty capture, one without times, a clock that goes back, one that is cut`() async throws {
        let folder = try TemporaryFolder()
        let whole = try Data(contentsOf: URL(fileURLWithPath: Self.twoDays))
        let texts = [
            "empty": whole.prefix(16), "cut": whole.prefix(5000),
            "timeless": Data("- > FFE9 47 54 00 01 06\n- < FFE4 52 50 00 03 02 06 01\n".utf8),
            "backwards": Data(
                """
                2026-02-02T22:21:20Z > FFE9 47 54 00 01 06\n2020-02-02T22:21:20Z < FFE4 52 50 00 03 02 06 01\n\
                1970-01-01T00:00:00Z < FFE4 52\n
                """
                .utf8),
        ]
        for (name, bytes) in texts {
            try bytes.write(to: folder.url(name))
            let result = try await replay.run(["report", folder.file(name), "-o", folder.file("\(name).html")])
            #expect(result.exitCode == (name == "cut" ? 4 : 0), "\(name): \(result.error)")
            let page = try String(contentsOfFile: folder.file("\(name).html"), encoding: .utf8)
            let capture = try #require(try data(page).first)
            #expect((capture["trouble"] as? String != nil) == (name == "cut"))
            guard let dom = try await shown(folder.file("\(name).html")) else { continue }
            // The last part is present: the script ran to its end.
            #expect(dom.contains("<section id=\"course\">"), "\(name)")
            if name == "backwards" { #expect(dom.contains("Times go backwards 2 times")) }
            if name == "empty" { #expect(dom.contains("The capture has no ATT PDU.")) }
        }
    }

    @Test func `input that is not a capture leaves the old page unchanged`() async throws {
        let folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.url("page.html"))
        for arguments in [["/bin/sh"], ["/nonexistent"], ["/"]] {
            let result = try await replay.run(["report"] + arguments + ["-o", folder.file("page.html")])
            #expect([1, 4].contains(result.exitCode) && !result.error.isEmpty)
        }
        #expect(try String(contentsOfFile: folder.file("page.html"), encoding: .utf8) == "old")
        #expect(try await replay.run(["report", Self.twoDays]).exitCode == 2)
        #expect(try await replay.run(["report", "-", "-", "-o", "-"]).exitCode == 2)
        let piped = try await replay.run(["report", "-", "-o", "-"], input: Array(ReplayCommandTests.sample.utf8))
        #expect(piped.exitCode == 0 && piped.output.hasPrefix("<!doctype html>"))
    }
}
