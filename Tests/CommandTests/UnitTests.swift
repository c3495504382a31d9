import CommandSupport
import Foundation
import Support
import Synchronization
import Testing

/// The files in hardware/units, checked by systemd's tools where installed (Debian: package systemd).
@Suite struct UnitTests {
    private static let units = Program.repository + "/hardware/units/"

    /// The lines of a unit without comments.
    private static func lines(_ name: String) throws -> [String] {
        try Program.repositoryText("hardware/units/" + name).split(separator: "\n").map(String.init).filter {
            !$0.hasPrefix("#")
        }
    }

    /// All units except those of the system.
    static let usersUnits =
        ((try? FileManager.default.contentsOfDirectory(atPath: units)) ?? []).filter {
            ($0.hasSuffix(".service") || $0.hasSuffix(".timer"))
                && !["waterh-gateway.service", "waterh-gateway@.service", "waterh-emulator@.service"].contains($0)
        }.sorted()

    /// A user's service manager has no privileges and no other users. Such an option has no effect or prevents the
    /// start.
    @Test(arguments: usersUnits) func `a user unit has no option that requires root`(_ unit: String) throws {
        let lines = try Self.lines(unit)
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
        let start = try #require(Self.lines("waterh-gateway-user.service").first { $0.hasPrefix("ExecStart=") }).split(
            separator: " "
        ).dropFirst().map(String.init)
        let environment = [
            "HOME": folder.path, "XDG_RUNTIME_DIR": folder.file("run"), "WATERH_LINK": pair.socket,
            "TMPDIR": folder.path, "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_STORE": "", "XDG_STATE_HOME": "",
            "XDG_CONFIG_HOME": "",
        ]
        try FileManager.default.createDirectory(atPath: folder.file("run"), withIntermediateDirectories: true)
        // As root the test drops its privileges, if other users can execute the build.
        var (program, words) = (Program.gateway, [String]())
        if geteuid() == 0, let tool = Program(system: "setpriv") {
            let nobody = Program.gateway.asNobody
            for path in [folder.path, folder.file("run"), pair.folder.path] { chmod(path, 0o777) }
            for path in [pair.socket, pair.control] { chmod(path.replacing("unix:", with: ""), 0o666) }
            if try await tool.run(nobody + ["--version"]).exitCode == 0 { (program, words) = (tool, nobody) }
        }
        let service = try program.start(words + start, environment: environment)
        defer { service.send(signal: SIGTERM) }
        await service.says("1 received: 1 new")
        #expect(folder.has(".local/state/waterh/waterh.sqlite"))
        // The socket opens a moment after the first poll starts.
        let arguments = words + ["nudge"]
        #expect(
            try await eventually(within: 30) {
                try await program.run(arguments, environment: environment).exitCode == 0
            }, "\(service.error)")
    }

    /// The exposure level is from 0 to 10. systemd rates values below 2 as OK.
    @Test(arguments: ["waterh-gateway.service", "waterh-emulator@hci1.service"])
    func `systemd-analyze security reports a low exposure`(_ unit: String) async throws {
        let tool = try #require(
            Program(system: "systemd-analyze"), "this test needs systemd-analyze: apt-get install systemd")
        let folder = try TemporaryFolder()
        let text = try Program.repositoryText("hardware/units/" + unit.replacing("@hci1", with: "@"))
        try folder.write(text.replacing("/usr/local/bin/", with: Program.products + "/"), to: unit)
        try await tool.succeed("security --offline=true --threshold=20 --no-pager \(folder.file(unit))")
    }

    @Test func `the gateway has no capability without the drop-in that ends connections at once`() throws {
        let (unit, dropIn) = (try Self.lines("waterh-gateway.service"), try Self.lines("disconnect-at-once.conf"))
        for name in ["CapabilityBoundingSet=", "AmbientCapabilities="] {
            #expect(unit.contains(name) && dropIn.contains(name + "CAP_NET_ADMIN"))
        }
        #expect(unit.contains { $0.hasPrefix("RestrictAddressFamilies=") && $0.contains("AF_BLUETOOTH") })
    }

    /// Seccomp filters work without root: a user's service manager applies them.
    @Test(arguments: ["waterh-gateway-user.service", "waterh-check.service"])
    func `a user unit restricts system calls like the system unit`(_ unit: String) throws {
        let shared = Set(try Self.lines("waterh-gateway.service")).filter { line in
            ["SystemCall", "Restrict", "MemoryDenyWriteExecute", "LockPersonality", "NoNewPrivileges"].contains {
                line.hasPrefix($0)
            } && !line.hasPrefix("RestartPreventExitStatus") && line != "SystemCallFilter=setpriority"
        }
        #expect(try shared.count >= 10 && shared.isSubset(of: Self.lines(unit)))
    }

    @Test func `the gateway's unit names no store, and the agent's unit takes one from its environment file`() throws {
        #expect(
            try !Self.lines("waterh-gateway.service").contains { $0.contains("WATERH_STORE") || $0.contains("--store") }
        )
        let agent = try Self.lines("waterh-agent.service")
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
        #expect(try result.exitCode == 0 && root.text("etc/passwd").contains("waterh:x:"), "\(result.error)")
    }
}

@Suite struct NotifyTests {
    /// The receiving end of `sd_notify`.
    final class NotifySocket: @unchecked Sendable {
        let folder: TemporaryFolder
        let descriptor: Int32
        var path: String { folder.file("notify") }
        private let lock = NSLock()
        private var received: [String] = []

        init() throws {
            folder = try TemporaryFolder()
            descriptor = socket(
                AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            let (path, socket) = (folder.file("notify"), descriptor)
            try #require(withUnixAddress(path) { bind(socket, $0, $1) } == 0)
        }

        deinit { close(descriptor) }

        var messages: [String] {
            lock.withLock {
                var buffer = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    guard count >= 0 else { return received }
                    received.append(String(decoding: buffer.prefix(count), as: UTF8.self))
                }
            }
        }

        /// Starts an emulator that notifies this socket.
        func emulator(_ environment: [String: String]) throws -> RunningProgram {
            try Program.emulator.start(
                "run --link unix:\(folder.file("b")) --control unix:\(folder.file("c"))",
                environment: environment.merging(["NOTIFY_SOCKET": path]) { $1 })
        }

        func wait(_ message: String, times: Int = 1) async -> Bool {
            await eventually { messages.filter { $0 == message }.count >= times }
        }
    }

    @Test func `the gateway notifies systemd`() async throws {
        let pair = try await Pair()
        try await pair.sip(120)
        let notify = try NotifySocket()
        let service = try Program.gateway.start(
            "run --link \(pair.socket) --store \(pair.store)",
            environment: ["NOTIFY_SOCKET": notify.path, "WATCHDOG_USEC": "150000"])
        #expect(await notify.wait("READY=1"))
        #expect(await notify.wait("WATCHDOG=1", times: 4))
        #expect(
            await eventually(within: 20) { notify.messages.contains { $0.hasPrefix("STATUS=1 record ") } },
            "\(notify.messages)")
        try await service.stop()
        #expect(notify.messages.contains("STOPPING=1"))
    }

    /// A process is stopped from outside, as a swapped-out or deadlocked one would be.
    @Test func `the emulator notifies systemd while it does not hang`() async throws {
        let notify = try NotifySocket()
        let bottle = try notify.emulator(["WATCHDOG_USEC": "90000"])
        #expect(await notify.wait("READY=1"))
        #expect(await notify.wait("WATCHDOG=1", times: 2))
        bottle.send(signal: SIGSTOP)
        // Messages in transit arrive first.
        _ = await event(within: 0.3) { () -> Bool? in nil }
        let before = notify.messages.count
        _ = await event(within: 0.5) { () -> Bool? in nil }
        #expect(notify.messages.count == before)
        bottle.send(signal: SIGCONT)
        #expect(await eventually(within: 20) { notify.messages.count > before })
        try await bottle.stop()
        #expect(notify.messages.contains("STOPPING=1"))
    }
}

@Suite struct SystemdNotifierTests {
    /// The watchdog of another process, or an invalid number.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [["WATCHDOG_USEC": "90000", "WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "soon"], [:]])
    func `a service without a watchdog sends no watchdog notification`(_ environment: [String: String]) async throws {
        let notify = try NotifyTests.NotifySocket()
        let systemd = SystemdNotifier(environment.merging(["NOTIFY_SOCKET": notify.path]) { $1 })
        systemd.notify("READY=1")
        await systemd.keepAlive { true }
        #expect(notify.messages == ["READY=1"])
    }

    @Test func `the service notifies the watchdog only while its polls make progress`() async throws {
        let notify = try NotifyTests.NotifySocket()
        let systemd = SystemdNotifier(["NOTIFY_SOCKET": notify.path, "WATCHDOG_USEC": "30000"])
        let isAlive = Mutex(true)
        let watching = Task { await systemd.keepAlive { isAlive.withLock { $0 } } }
        #expect(await notify.wait("WATCHDOG=1", times: 3))
        isAlive.withLock { $0 = false }
        systemd.notify("MARK=1")
        #expect(await notify.wait("MARK=1"))
        let before = notify.messages.count
        _ = await event(within: 0.2) { () -> Bool? in nil }
        // One message can be in transit.
        #expect(notify.messages.count <= before + 1)
        isAlive.withLock { $0 = true }
        #expect(await eventually(within: 20) { notify.messages.count > before + 3 })
        watching.cancel()
        await watching.value
    }

    @Test func `the systemd status is one line`() async throws {
        let notify = try NotifyTests.NotifySocket()
        SystemdNotifier(["NOTIFY_SOCKET": notify.path]).notify(status: "two\nlines")
        #expect(await notify.wait("STATUS=two lines"))
    }
}
