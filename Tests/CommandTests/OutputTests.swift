import CommandSupport
import Foundation
import Support
import Testing

@Suite struct OutputTests {
    private let home: Home
    private var scratch: TemporaryFolder { home.folder }

    init() throws { home = try Home() }

    private func write(_ text: String, to path: String) throws {
        let file = try OutputFile(path)
        try file.write(Array(text.utf8))
        try file.commit()
    }

    @Test func `a new output file is private, and an old one keeps its mode`() throws {
        let path = scratch.file("new")
        try write("one", to: path)
        #expect(try scratch.text("new") == "one" && scratch.mode("new") == 0o600)
        chmod(path, 0o640)
        try write("two", to: path)
        #expect(try scratch.text("new") == "two" && scratch.mode("new") == 0o640)
        #expect(try scratch.names() == ["new"], "no temporary file remains")
    }

    @Test func `output through a symbolic link writes the target`() throws {
        try FileManager.default.createDirectory(atPath: scratch.file("elsewhere"), withIntermediateDirectories: false)
        for target in ["elsewhere/there", "elsewhere/not-yet"] {
            if target.hasSuffix("there") { try scratch.write("old", to: target) }
            try scratch.link("middle", to: target)
            try scratch.link("link", to: scratch.file("middle"))
            try write("through", to: scratch.file("link"))
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: scratch.file("middle")) == target)
            #expect(try scratch.text(target) == "through")
            for name in ["middle", "link"] { try FileManager.default.removeItem(atPath: scratch.file(name)) }
        }
        try scratch.link("loop", to: "loop")
        #expect(throws: CommandFailure.self) { try OutputFile(scratch.file("loop")) }
    }

    @Test func `output is written to a FIFO`() async throws {
        let path = scratch.file("fifo")
        #expect(mkfifo(path, 0o600) == 0)
        let reading = try Program(path: "/bin/cat").start([path])
        try write("for whoever reads", to: path)
        #expect(try await reading.finish().output == "for whoever reads")
        var found = stat()
        #expect(stat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFIFO)
    }

    @Test func `a failed output keeps the old file`() throws {
        let path = scratch.file("kept")
        try write("old", to: path)
        do {
            let file = try OutputFile(path)
            try file.write(Array("half".utf8))
        }
        #expect(try scratch.text("kept") == "old")
        #expect(try scratch.names() == ["kept"])
        #expect(throws: CommandFailure.self) { try OutputFile(scratch.path) }
        #expect(throws: CommandFailure.self) { try OutputFile(scratch.file("no/such/folder")) }
        #expect(throws: CommandFailure.self) { try write("x", to: "/dev/full") }
        try scratch.link("other name", to: path)
        #expect(throws: CommandFailure.self, "the same file by another name") {
            try OutputFile(scratch.file("other name"), excluding: [path])
        }
    }

    @Test(arguments: [
        "waterh-tracker status --json", "waterh-tracker export --format csv", "waterh-tracker log 250",
        "waterh-tracker export --format csv --output /dev/full",
        "waterh-replay drinks \(Program.repository)/captures/boost_one-record.hex", "waterh-emulator faults",
        "waterh-gateway --help",
    ])
    func `an output that cannot be written is an error`(line: String) async throws {
        for redirection in [">/dev/full", ">&-"] {
            let result = try await home.shell("exec \(line) \(redirection)")
            let isNamed = ["cannot be written", "writing standard output failed"].contains { result.error.contains($0) }
            #expect(result.exitCode == 1 && isNamed, "\(line) \(redirection): \(result.error)")
        }
    }

    @Test func `a closed output pipe is not an error`() async throws {
        let result = try await home.shell(
            """
            for i in 1 2 3; do waterh-tracker log 250; done | head -n 1; waterh-tracker export | true; echo \
            ${PIPESTATUS[0]}
            """)
        #expect(result.error.isEmpty && result.output.hasSuffix("0\n"), "\(result)")
    }

    @Test func `control characters are escaped on a terminal`() async throws {
        let evil = "\u{1B}[2J\u{9B}31m\u{202E}txt\u{7}\u{2066}\u{85}"
        let environment = ["EVIL": evil]
        let refused = try await home.shell("waterh-tracker token new --label \"$EVIL\"", environment)
        #expect(
            refused.exitCode != 0 && refused.output.isEmpty && refused.error.contains("1 to 64 printable characters"),
            "\(refused)")
        let older =
            "waterh-tracker token new >/dev/null && sqlite3 \"$WATERH_STORE\" \"UPDATE token SET label = '$EVIL'\""
        let added = try await home.shell(
            """
            \(older); waterh-tracker token list; waterh-tracker preset delete \"no $EVIL\"; waterh-tracker log \
            \"$EVIL\"
            """, environment)
        for output in [added.output, added.error] {
            #expect(
                !output.unicodeScalars.contains {
                    $0.value < 0x20 && $0 != "\n" || evil.unicodeScalars.contains($0) && $0.value > 0x7F
                }, "\(output.debugDescription)")
        }
        #expect(added.output.contains(#"\u001b[2J\u009b31m\u202etxt\u0007"#))
        let json = try await home.shell("waterh-tracker token list --json", environment)
        #expect(!json.output.unicodeScalars.contains { evil.unicodeScalars.contains($0) && $0.value > 0x7E })
        let object = try json.object()
        #expect(
            (object["tokens"] as? [[String: Any]])?.contains { $0["label"] as? String == evil } == true,
            "in JSON it is the same name")
    }

    @Test func `text without control characters is unchanged`() {
        for text in ["plain", "Grüße 😀 👩‍👩‍👧 é — … █░", "\ttab", ""] { #expect(TerminalText.safe(text) == text) }
        #expect(TerminalText.safe("a\nb\r\u{2028}c") == #"a\u000ab\u000d\u2028c"#)
        #expect(TerminalText.safe("a\nb", keepsLines: true) == "a\nb")
        #expect(
            TerminalText.safe(TextColour.red.paint("x")) == "x", "colours are omitted if the output is not a terminal")
    }

    @Test func `escape sequences in names are shown as text`() {
        // Swift has no literal syntax for a noncharacter.
        let (red, end) = (
            String(decoding: [0xEF, 0xB7, 0x92], as: UTF8.self), String(decoding: [0xEF, 0xB7, 0xAF], as: UTF8.self)
        )
        #expect(TerminalText.safe("Water\(red)RED\(end)") == #"Water\ufdd2RED\ufdef"#)
        #expect(TerminalText.safe(TextColour.red.paint("\(red)x\(end)")) == #"\ufdd2x\ufdef"#)
    }
}
