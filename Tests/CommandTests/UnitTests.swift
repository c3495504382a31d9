import Foundation
import Support
import Testing

/// The files in hardware/units, checked by systemd's tools where installed (Debian: package systemd).
@Suite struct UnitTests {
    private static let units = Program.repository + "/hardware/units/"

    /// The units with the paths of the built commands, because `verify` checks that they are executable.
    private static func copies() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for file in try FileManager.default.contentsOfDirectory(atPath: units)
        where file.hasSuffix(".service") || file.hasSuffix(".timer") {
            let text = try String(contentsOfFile: units + file, encoding: .utf8)
            #expect(file.hasSuffix(".timer") || text.contains("ExecStart=/usr/local/bin/waterh-"))
            let name = file.replacing("@", with: "@hci1")
            try text.replacingOccurrences(of: "/usr/local/bin/", with: Program.products + "/").write(
                to: folder.url(name), atomically: true, encoding: .utf8)
        }
        return folder
    }

    @Test(arguments: ["waterh-gateway.service", "waterh-gateway@hci1.service", "waterh-emulator@hci1.service"])
    func `systemd-analyze verify accepts the units`(_ unit: String) async throws {
        let tool = try #require(
            Program(system: "systemd-analyze"), "this test needs systemd-analyze: apt-get install systemd")
        let folder = try Self.copies()
        let result = try await tool.run(["verify", "--man=no", "--recursive-errors=no", folder.file(unit)])
        let complaints = (result.output + result.error).split(separator: "\n").filter { $0.contains("waterh") }
        #expect(result.exitCode == 0 && complaints.isEmpty, "\(result.output)\(result.error)")
    }

    /// The exposure level that systemd computes: 0 is best, 10 is worst.
    @Test(arguments: ["waterh-gateway.service", "waterh-emulator@hci1.service"])
    func `the service is sandboxed`(_ unit: String) async throws {
        let tool = try #require(
            Program(system: "systemd-analyze"), "this test needs systemd-analyze: apt-get install systemd")
        let folder = try Self.copies()
        let result = try await tool.run([
            "security", "--offline=true", "--no-pager", "--threshold=25", folder.file(unit),
        ])
        #expect(result.exitCode == 0, "more than 2.5: \(result.output)\(result.error)")
    }

    /// Every user unit is checked here.
    static let usersUnits = [
        "waterh-agent.service", "waterh-gateway-user.service", "waterh-check.service", "waterh-check.timer",
    ]

    @Test func `every unit is verified`() throws {
        let all = try FileManager.default.contentsOfDirectory(atPath: Self.units).filter {
            $0.hasSuffix(".service") || $0.hasSuffix(".timer")
        }
        #expect(
            Set(all)
                == Set(
                    Self.usersUnits + ["waterh-gateway.service", "waterh-gateway@.service", "waterh-emulator@.service"])
        )
    }

    /// A user's service manager has no privileges and no other users. Such an option has no effect or prevents the
    /// start.
    @Test(arguments: usersUnits) func `a user unit has no option that requires root`(_ unit: String) throws {
        let lines = try String(contentsOfFile: Self.units + unit, encoding: .utf8).split(separator: "\n").filter {
            !$0.hasPrefix("#")
        }
        let names = lines.compactMap { $0.split(separator: "=").first.map(String.init) }
        let privileged = [
            "User", "Group", "DynamicUser", "CapabilityBoundingSet", "AmbientCapabilities", "ConfigurationDirectory",
            "RuntimeDirectory", "StateDirectory",
        ]
        #expect(
            names.allSatisfy { !$0.hasPrefix("Protect") && !$0.hasPrefix("Private") && !privileged.contains($0) },
            "\(names)")
        #expect(
            !lines.contains {
                $0.contains("multi-user.target") || $0.contains("/var/lib/waterh") && unit != "waterh-agent.service"
            })
    }

    /// As the user unit starts it: with a home and a runtime folder, without privileges. The user's commands find its
    /// socket.
    @Test func `the user service works without root`() async throws {
        let pair = try await Pair()
        try await pair.sip(120)
        let folder = try TemporaryFolder()
        let text = try String(contentsOfFile: Self.units + "waterh-gateway-user.service", encoding: .utf8)
        let start = try #require(text.split(separator: "\n").first { $0.hasPrefix("ExecStart=") }).split(separator: " ")
            .dropFirst().map(String.init)
        let environment = [
            "HOME": folder.path, "XDG_RUNTIME_DIR": folder.file("run"), "WATERH_LINK": pair.socket,
            "TMPDIR": folder.path, "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_STORE": "", "XDG_STATE_HOME": "",
            "XDG_CONFIG_HOME": "",
        ]
        try FileManager.default.createDirectory(atPath: folder.file("run"), withIntermediateDirectories: true)
        // As root the test drops its privileges, if other users can execute the build.
        var (program, words) = (Program("waterh-gateway"), [String]())
        if geteuid() == 0, let tool = Program(system: "setpriv") {
            let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", Program.products + "/waterh-gateway"]
            for path in [folder.path, folder.file("run"), pair.folder.path] { chmod(path, 0o777) }
            for path in [pair.socket, pair.control] { chmod(path.replacing("unix:", with: ""), 0o666) }
            if try await tool.run(nobody + ["--version"]).exitCode == 0 { (program, words) = (tool, nobody) }
        }
        let service = try program.start(words + start, environment: environment)
        defer { service.send(signal: SIGTERM) }
        #expect(
            await event(within: 30) { service.error.contains("1 received: 1 new") ? true : nil } == true,
            "\(service.error)")
        #expect(FileManager.default.fileExists(atPath: folder.file(".local/state/waterh/waterh.sqlite")))
        // The socket opens a moment after the first poll starts.
        let arguments = words + ["nudge"]
        let nudged = try await event(within: 30) {
            try await program.run(arguments, environment: environment).exitCode == 0 ? true : nil
        }
        #expect(nudged == true, "\(service.error)")
    }

    @Test(arguments: usersUnits) func `systemd-analyze verify accepts the user unit`(_ unit: String) async throws {
        let tool = try #require(
            Program(system: "systemd-analyze"), "this test needs systemd-analyze: apt-get install systemd")
        let folder = try Self.copies()
        let result = try await tool.run(
            ["verify", "--user", "--man=no", "--recursive-errors=no", folder.file(unit)],
            environment: ["XDG_RUNTIME_DIR": folder.path])
        let complaints = (result.output + result.error).split(separator: "\n").filter { $0.contains("waterh-") }
        #expect(result.exitCode == 0 && complaints.isEmpty, "\(result.output)\(result.error)")
    }

    /// The exposure level is from 0 to 10. systemd rates values below 2 as OK.
    @Test(arguments: ["waterh-gateway.service", "waterh-emulator@hci1.service"])
    func `systemd-analyze security has a low exposure`(_ unit: String) async throws {
        let tool = try #require(
            Program(system: "systemd-analyze"), "this test needs systemd-analyze: apt-get install systemd")
        let folder = try Self.copies()
        let result = try await tool.run([
            "security", "--offline=true", "--threshold=20", "--no-pager", folder.file(unit),
        ])
        #expect(result.exitCode == 0, "\(result.output.suffix(400))\(result.error)")
    }

    @Test func `the gateway has no capability without the drop-in that ends connections at once`() throws {
        func lines(_ name: String) throws -> [String] {
            try String(contentsOfFile: Self.units + name, encoding: .utf8).split(separator: "\n").map(String.init)
        }
        let (unit, dropIn) = (try lines("waterh-gateway.service"), try lines("disconnect-at-once.conf"))
        for name in ["CapabilityBoundingSet=", "AmbientCapabilities="] {
            #expect(unit.contains(name) && dropIn.contains(name + "CAP_NET_ADMIN"))
        }
        #expect(unit.contains { $0.hasPrefix("RestrictAddressFamilies=") && $0.contains("AF_BLUETOOTH") })
    }

    /// Seccomp filters work without root: a user's service manager applies them.
    @Test(arguments: ["waterh-gateway-user.service", "waterh-check.service"])
    func `a user unit restricts system calls like the system unit`(_ unit: String) throws {
        func lines(_ name: String) throws -> Set<Substring> {
            Set(try String(contentsOfFile: Self.units + name, encoding: .utf8).split(separator: "\n"))
        }
        let shared = try lines("waterh-gateway.service").filter { line in
            ["SystemCall", "Restrict", "MemoryDenyWriteExecute", "LockPersonality", "NoNewPrivileges"].contains {
                line.hasPrefix($0)
            } && !line.hasPrefix("RestartPreventExitStatus") && line != "SystemCallFilter=setpriority"
        }
        #expect(try shared.count >= 10 && shared.isSubset(of: lines(unit)))
    }

    @Test func `the gateway's unit names no store, and the agent's unit takes one from its environment file`() throws {
        func lines(_ name: String) throws -> [Substring] {
            try String(contentsOfFile: Self.units + name, encoding: .utf8).split(separator: "\n").filter {
                !$0.hasPrefix("#")
            }
        }
        #expect(try !lines("waterh-gateway.service").contains { $0.contains("WATERH_STORE") || $0.contains("--store") })
        let agent = try lines("waterh-agent.service")
        #expect(
            agent.contains("ExecStart=/usr/local/bin/waterh-tracker agent $OPTIONS")
                && agent.contains("EnvironmentFile=-%E/waterh/agent.env"))
        let usual = try #require(agent.firstIndex { $0.hasPrefix("Environment=\"OPTIONS=") })
        #expect(try usual < #require(agent.firstIndex { $0.hasPrefix("EnvironmentFile=") }))
    }

    @Test func `the system user is created`() async throws {
        let tool = try #require(
            Program(system: "systemd-sysusers"), "this test needs systemd-sysusers: apt-get install systemd")
        let root = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: root.file("etc"), withIntermediateDirectories: true)
        let result = try await tool.run(["--root=\(root.path)", Self.units + "waterh.sysusers"])
        let users = try String(contentsOf: root.url("etc/passwd"), encoding: .utf8)
        #expect(result.exitCode == 0 && users.contains("waterh:x:"), "\(result.error)")
    }
}

@Suite struct NotifyTests {
    /// The receiving end of `sd_notify`.
    final class NotifySocket: @unchecked Sendable {
        let folder: TemporaryFolder
        let descriptor: Int32
        var path: String { folder.file("notify") }
        private let lock = NSLock()
        private var heard: [String] = []

        init() throws {
            folder = try TemporaryFolder()
            descriptor = socket(
                AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(folder.file("notify").utf8)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0)
        }

        deinit { close(descriptor) }

        var messages: [String] {
            lock.withLock {
                var buffer = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    guard count >= 0 else { return heard }
                    heard.append(String(decoding: buffer.prefix(count), as: UTF8.self))
                }
            }
        }

        func wait(_ message: String, times: Int = 1) async -> Bool {
            await event(within: 20) { self.messages.filter { $0 == message }.count >= times ? true : nil } == true
        }
    }

    @Test func `the emulator notifies systemd`() async throws {
        let notify = try NotifySocket()
        let folder = notify.folder
        let bottle = try Program("waterh-emulator").start(
            ["run", "--link", "unix:" + folder.file("b"), "--control", "unix:" + folder.file("c")],
            environment: ["NOTIFY_SOCKET": notify.path, "WATCHDOG_USEC": "150000"])
        #expect(await notify.wait("READY=1"))
        #expect(await notify.wait("WATCHDOG=1", times: 4))
        bottle.send(signal: SIGTERM)
        #expect(try await bottle.finish(limit: 20).exitCode == 0)
        #expect(notify.messages.last == "STOPPING=1" || notify.messages.contains("STOPPING=1"))
    }

    @Test func `the gateway notifies systemd`() async throws {
        let pair = try await Pair()
        try await pair.sip(120)
        let notify = try NotifySocket()
        let service = try Program("waterh-gateway").start(
            ["run", "--link", pair.socket, "--store", pair.store],
            environment: ["NOTIFY_SOCKET": notify.path, "WATCHDOG_USEC": "150000"])
        #expect(await notify.wait("READY=1"))
        #expect(await notify.wait("WATCHDOG=1", times: 4))
        #expect(
            await event(within: 20) { notify.messages.contains { $0.hasPrefix("STATUS=1 record at ") } ? true : nil }
                == true, "\(notify.messages)")
        service.send(signal: SIGTERM)
        #expect(try await service.finish(limit: 20).exitCode == 0)
        #expect(notify.messages.contains("STOPPING=1"))
    }

    /// A process is stopped from outside, as a swapped-out or deadlocked one would be.
    @Test func `a hanging service sends no watchdog notification`() async throws {
        let notify = try NotifySocket()
        let folder = notify.folder
        let bottle = try Program("waterh-emulator").start(
            ["run", "--link", "unix:" + folder.file("b"), "--control", "unix:" + folder.file("c")],
            environment: ["NOTIFY_SOCKET": notify.path, "WATCHDOG_USEC": "90000"])
        #expect(await notify.wait("WATCHDOG=1", times: 2))
        bottle.send(signal: SIGSTOP)
        // Messages in transit arrive first.
        _ = await event(within: 0.3) { () -> Bool? in nil }
        let before = notify.messages.count
        _ = await event(within: 0.5) { () -> Bool? in nil }
        #expect(notify.messages.count == before)
        bottle.send(signal: SIGCONT)
        #expect(await event(within: 20) { notify.messages.count > before ? true : nil } == true)
        bottle.send(signal: SIGTERM)
        _ = try await bottle.finish(limit: 20)
    }

    /// The watchdog of another process, or an invalid number: no watchdog notifications, but all others.
    @Test(arguments: [["WATCHDOG_USEC": "90000", "WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "soon"], [:]])
    func `without a watchdog nothing is sent`(_ environment: [String: String]) async throws {
        let notify = try NotifySocket()
        let folder = notify.folder
        let bottle = try Program("waterh-emulator").start(
            ["run", "--link", "unix:" + folder.file("b"), "--control", "unix:" + folder.file("c")],
            environment: environment.merging(["NOTIFY_SOCKET": notify.path]) { $1 })
        #expect(await notify.wait("READY=1"))
        bottle.send(signal: SIGTERM)
        #expect(try await bottle.finish(limit: 20).exitCode == 0)
        #expect(notify.messages == ["READY=1", "STOPPING=1"])
    }
}
