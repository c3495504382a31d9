import CommandSupport
import Foundation
import Support
import Testing

/// `hardware/bench package --test` installs the packages of a release build.
@Suite struct PackageTests {
    private static let folder = Program.repository + "/hardware/package/"
    static let commands = ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"]

    private static func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private static func python(_ arguments: [String]) async throws -> Program.Result {
        // Not git: the folder under test can be a copy without a repository.
        try await Program.python.run(
            arguments, environment: ["PYTHONDONTWRITEBYTECODE": "1", "SOURCE_DATE_EPOCH": "1700000000"], limit: 120)
    }

    @Test(arguments: [
        "install.sh", "uninstall.sh", "debian/preinst", "debian/postinst", "debian/prerm", "debian/postrm",
    ])
    func `package scripts are POSIX shell`(_ script: String) async throws {
        let shell = try #require(Program(system: "sh"))
        let result = try await shell.run(["-n", Self.folder + script])
        #expect(result.exitCode == 0, "\(result.error)")
        let text = try Self.text(Self.folder + script)
        #expect(text.hasPrefix("#!/bin/sh\n") && text.contains("\nset -e"))
        // Checks that need systemd run only where it is active.
        let lines = text.split(separator: "\n")
        for (number, line) in lines.enumerated()
        where line.contains("systemctl ") && !line.contains("printf") && !line.contains("echo") && !line.hasPrefix("#")
        { #expect(lines[...number].contains { $0.contains("[ -d /run/systemd/system ]") }, "\(script): \(line)") }
    }

    @Test func `uninstall removes everything that install created`() async throws {
        let (source, root) = (try TemporaryFolder(), try TemporaryFolder())
        let files = FileManager.default
        try source.write("#!/bin/sh\nexit 0\n", to: "bin/waterh-gateway")
        chmod(source.file("bin/waterh-gateway"), 0o755)
        try source.write("page", to: "share/man/man1/waterh-gateway.1")
        for (file, place) in [
            ("package/install.sh", "install.sh"), ("package/uninstall.sh", "uninstall.sh"),
            ("package/waterh.toml", "etc/waterh.toml"), ("units/waterh.sysusers", "units/waterh.sysusers"),
            ("units/waterh-bus-policy.conf", "units/waterh-bus-policy.conf"),
            ("units/70-waterh.rules", "units/70-waterh.rules"),
            ("units/waterh-gateway.service", "units/system/waterh-gateway.service"),
            ("units/waterh-check.timer", "units/user/waterh-check.timer"),
        ] { try source.write(Program.repositoryText("hardware/" + file), to: place) }

        let shell = try #require(Program(system: "sh"))
        let environment = ["DESTDIR": root.path, "HOME": source.path, "XDG_CONFIG_HOME": ""]
        let installed = try await shell.run(
            [source.file("install.sh"), "--prefix", "/opt/waterh"], environment: environment)
        #expect(installed.exitCode == 0, "\(installed.error)")
        let unit = try Self.text(root.file("etc/systemd/system/waterh-gateway.service"))
        #expect(unit.contains("\nExecStart=/opt/waterh/bin/waterh-gateway run\n") && !unit.contains("/usr/local/bin"))
        #expect(access(root.file("opt/waterh/bin/waterh-gateway"), X_OK) == 0)
        #expect(files.fileExists(atPath: root.file("opt/waterh/share/man/man1/waterh-gateway.1")))
        try root.write("drinks", to: "var/lib/waterh/waterh.sqlite")

        let again = try await shell.run(
            [source.file("install.sh"), "--prefix", "/opt/waterh"], environment: environment)
        #expect(again.exitCode == 0, "\(again.error)")
        let gone = try await shell.run([root.file("opt/waterh/share/waterh/uninstall.sh")], environment: environment)
        gone.expect(0, output: "The drinks in /var/lib/waterh are kept")
        let left = try files.subpathsOfDirectory(atPath: root.path).filter { path in
            var isFolder: ObjCBool = false
            return files.fileExists(atPath: root.file(path), isDirectory: &isFolder) && !isFolder.boolValue
        }
        #expect(left.sorted() == ["etc/waterh/waterh.toml", "var/lib/waterh/waterh.sqlite"])
        let none = try await shell.run([source.file("install.sh"), "--prefix", "here"], environment: environment)
        none.expect(1, error: "invalid --prefix here: expected an absolute path")
    }

    /// The installed file in /etc has only comments; each line is valid once uncommented.
    @Test func `every line of the sample configuration is valid`() throws {
        let text = try Self.text(Self.folder + "waterh.toml")
        #expect(try Configuration(text: text, name: "waterh.toml") == Configuration())
        var (group, found) = ("", Set<String>())
        for line in text.split(separator: "\n") {
            guard let taken = line.firstMatch(of: /^#([\[a-z].*)$/)?.output.1 else {
                #expect(line.hasPrefix("# "), "neither a comment nor a line to be taken up: \(line)")
                continue
            }
            if taken.hasPrefix("[") {
                (group, _) = (String(taken), found.insert(taken.trimmingCharacters(in: ["[", "]"])))
            }
            if group.isEmpty { found.insert(String(taken.prefix { $0 != " " })) }
            let alone = group.isEmpty || taken == group ? String(taken) : "\(group)\n\(taken)"
            #expect(throws: Never.self, "\(taken)") { try Configuration(text: alone, name: "waterh.toml") }
        }
        let missing = Set(Configuration.keys).subtracting(found)
        #expect(missing.isEmpty, "hardware/package/waterh.toml shows nothing of \(missing.sorted())")
        let all = text.replacing(/(?m)^#(?=[\[a-z])/, with: "")
        #expect(throws: Never.self) { try Configuration(text: all, name: "waterh.toml") }
    }

    @Test func `every subcommand is in its manual page`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Self.python([Self.folder + "manual.py", Program.products, folder.path, "1700000000"])
        try #require(result.exitCode == 0, "\(result.error)")
        for command in Self.commands {
            let page = try Self.text(folder.file(command + ".1"))
            #expect(
                page.contains("2023-11-14") && page.contains("\n.SH EXAMPLES\n")
                    && page.contains("\n.SH \"EXIT STATUS\"\n"))
            for (path, _) in try await Self.verbs(of: command) {
                #expect(
                    page.contains("\n.SS \"\(path.replacing("-", with: "\\-"))\"\n"),
                    "\(command).1 has nothing of '\(path)'")
            }
        }
        let configuration = try Self.text(folder.file("waterh.toml.5"))
        for key in Configuration.keys { #expect(configuration.contains(key.replacing("-", with: "\\-"))) }

        for (example, why) in [
            ("waterh-gateway dance", "no subcommand dance"), ("waterh-gateway run --goal 3", "no option --goal"),
        ] {
            let script = """
                import sys, json, subprocess; sys.path.insert(0, sys.argv[1]); import manual; \
                manual.check(sys.argv[3], manual.help_tree(sys.argv[2], 'waterh-gateway'))
                """
            let refused = try await Self.python(["-c", script, Self.folder, Program.products, example])
            refused.expect(1, error: why)
        }
    }

    /// systemd verifies the units with the paths of the package.
    @Test func `the package contains the expected files`() async throws {
        let root = try TemporaryFolder()
        let result = try await Self.python([Self.folder + "pack.py", "--tree", Program.products, root.path])
        try #require(result.exitCode == 0, "\(result.error)")
        let units = try root.names("lib/systemd/system") + root.names("usr/lib/systemd/user")
        let shipped = try FileManager.default.contentsOfDirectory(atPath: Program.repository + "/hardware/units").filter
        { $0.hasSuffix(".service") || $0.hasSuffix(".timer") }
        #expect(units.sorted() == shipped.sorted())
        let tool = try #require(
            Program(system: "systemd-analyze"), "this test needs systemd-analyze: apt-get install systemd")
        let verified = try TemporaryFolder()
        for (directory, manager) in [("lib/systemd/system", "--system"), ("usr/lib/systemd/user", "--user")] {
            for unit in try root.names(directory) {
                let text = try Self.text(root.file("\(directory)/\(unit)"))
                #expect(
                    !text.contains("/usr/local")
                        && (unit.hasSuffix(".timer") || text.contains("\nExecStart=/usr/bin/waterh-")), "\(unit)")
                let name = unit.replacing("@", with: "@hci1")
                // The programs of this build replace those of the package.
                try verified.write(text.replacing("/usr/bin/waterh-", with: Program.products + "/waterh-"), to: name)
                let judged = try await tool.run(
                    ["verify", manager, "--man=no", "--recursive-errors=no", verified.file(name)],
                    environment: ["XDG_RUNTIME_DIR": root.path])
                let complaints = (judged.output + judged.error).split(separator: "\n").filter { $0.contains("waterh-") }
                #expect(judged.exitCode == 0 && complaints.isEmpty, "\(judged.output)\(judged.error)")
            }
        }
        for command in Self.commands {
            for (file, word) in [
                ("bash-completion/completions/\(command)", "complete "),
                ("zsh/vendor-completions/_\(command)", "#compdef \(command)"),
                ("fish/vendor_completions.d/\(command).fish", "complete -c"),
            ] { #expect(try Self.text(root.file("usr/share/" + file)).contains(word), "\(file)") }
        }
        #expect(try Self.text(root.file("usr/share/waterh/waterh.lua")).contains("register_postdissector(waterh)"))
        let libraries = try root.names("usr/lib").filter { $0.hasSuffix("-linux-gnu") }
        #expect(libraries.count == 1)
        for directory in libraries {
            #expect(
                try Self.text(root.file("usr/lib/\(directory)/wireshark/plugins/waterh.lua")).hasPrefix(
                    "-- A Wireshark dissector for WaterH bottles"))
        }
        #expect(try root.mode("etc/waterh/waterh.toml") == 0o640, "the file can contain passwords")
        #expect(try !Self.text(root.file("usr/share/doc/waterh/copyright")).isEmpty)
    }

    @Test func `shell completion completes file arguments`() async throws {
        let files: Set = [
            "file", "files", "capture", "captures", "directory", "input", "output", "first", "second", "other",
            "source",
        ]
        var checkedCount = 0
        for command in Self.commands {
            for (path, verb) in try await Self.verbs(of: command) {
                for argument in verb["arguments"] as? [[String: Any]] ?? [] where argument["kind"] as? String != "flag"
                {
                    guard let name = argument["valueName"] as? String, files.contains(name) else { continue }
                    let kind = (argument["completionKind"] as? [String: Any])?.keys.first
                    #expect(
                        kind == "file" || kind == "directory",
                        "\(command) \(path): \(name) is completed by \(kind ?? "nothing")")
                    checkedCount += 1
                }
            }
        }
        #expect(checkedCount > 30)
    }

    /// Permanent errors stop the service. systemd restarts it after all other exit codes.
    @Test(arguments: ["waterh-gateway.service", "waterh-emulator@.service", "waterh-gateway-user.service"])
    func `systemd does not restart a service with an invalid configuration`(_ unit: String) async throws {
        let lines = try Self.text(Program.repository + "/hardware/units/" + unit).split(separator: "\n")
        let codes = try #require(lines.first { $0.hasPrefix("RestartPreventExitStatus=") }).dropFirst(
            "RestartPreventExitStatus=".count
        ).split(separator: " ").map(String.init)
        #expect(codes == ["2", "3", "4"] && lines.contains("Restart=on-failure"))
        guard unit != "waterh-emulator@.service" else { return }
        let folder = try TemporaryFolder()
        for wrong in [
            "link = bluez", "listen = \"everywhere\"", "unknown = 1", "[mqtt]\nurl = \"nowhere\"",
            "[ntfy]\nurl = \"https://h/t\"\ntoken-file = \"/nowhere/token\"",
        ] {
            try folder.write(wrong, to: "waterh.toml")
            let result = try await Program.gateway.run(
                [
                    "run", "--config", folder.file("waterh.toml"), "--store", folder.file("t.sqlite"), "--link",
                    "unix:" + folder.file("b"),
                ], environment: ["WATERH_LISTEN": ""])
            #expect(codes.contains("\(result.exitCode)"), "\(wrong): \(result.exitCode) \(result.error)")
        }
    }

    /// Every subcommand and its subcommands, with the full command path.
    private static func verbs(of command: String) async throws -> [(path: String, verb: [String: Any])] {
        let root = try await Program(command).run("--experimental-dump-help").object()
        return verbs(below: try #require(root["command"] as? [String: Any]))
    }

    private static func verbs(below command: [String: Any]) -> [(path: String, verb: [String: Any])] {
        let below = (command["subcommands"] as? [[String: Any]] ?? []).filter { $0["shouldDisplay"] as? Bool ?? true }
        return below.flatMap { one -> [(path: String, verb: [String: Any])] in
            guard let name = one["commandName"] as? String, name != "help" else { return [] }
            return [(name, one)] + verbs(below: one).map { ("\(name) \($0.path)", $0.verb) }
        }
    }
}
