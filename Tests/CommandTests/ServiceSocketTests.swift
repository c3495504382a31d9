import Emulator
import Foundation
import Glibc
import Support
import Testing

@testable import CommandSupport

/// The commands use the socket of this user's service or of the system's service, and of no other user.
@Suite struct ServiceSocketTests {
    @Test(.enabled(if: geteuid() == 0)) func `a socket of another user receives nothing`() async throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o1777)
        let path = folder.file("s.sock")
        let copy = try await Program.emulator.copy(to: folder.file("squatter"))
        let squatter = try #require(Program(system: "setpriv")).start(
            copy.asNobody + ["run", "--link", "unix:\(path).link", "--control", "unix:\(path)"],
            environment: ["HOME": folder.path, "TMPDIR": folder.path, "XDG_RUNTIME_DIR": folder.path])
        #expect(await eventually { FileManager.default.fileExists(atPath: path) }, "\(squatter.error)")
        let socket = ServiceSocket(path: path)
        let failure = await event { () -> CommandFailure? in
            do {
                _ = try socket.get("/");
                return nil
            } catch let failure as CommandFailure {
                return failure.sentence.contains("No service") ? nil : failure
            } catch { return nil }
        }
        #expect(
            failure?.status == .failed
                && failure?.sentence.contains("Another user's program listens at \(path)") == true,
            "\(failure?.sentence ?? "")")
        #expect(!socket.isAnswering)
        try await squatter.stop()
    }

    /// The service's user is trusted if the folder belongs to that user alone.
    @Test(.enabled(if: geteuid() == 0)) func `the runtime directory identifies the system service`() throws {
        let folder = try TemporaryFolder()
        let socket = ServiceSocket(path: folder.file("s.sock"))
        #expect(socket.mightBeService(0) && !socket.mightBeService(4242))
        chown(folder.path, 4242, 4242)
        for (mode, isTrusted) in [(0o750, true), (0o700, true), (0o770, false), (0o1777, false)] as [(mode_t, Bool)] {
            chmod(folder.path, mode)
            #expect(socket.mightBeService(4242) == isTrusted && !socket.mightBeService(4243))
        }
    }

    /// The user's own folder or, if another user created that first, one next to the store.
    @Test(arguments: ["nothing", "own", "readable", "link", "file", "open", "another's"])
    func `the socket is in a private directory when there is no login session`(_ found: String) async throws {
        guard found != "another's" || geteuid() == 0 else { return }
        let (folder, files) = (try TemporaryFolder(), FileManager.default)
        let usual = folder.file("waterh-\(geteuid())")
        switch found {
        case "nothing": break
        case "link":
            try files.createDirectory(
                atPath: folder.file("elsewhere"), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            try files.createSymbolicLink(atPath: usual, withDestinationPath: folder.file("elsewhere"))
        case "file": try Data().write(to: URL(fileURLWithPath: usual))
        default:
            try files.createDirectory(atPath: usual, withIntermediateDirectories: true)
            chmod(usual, ["own": 0o700, "readable": 0o755, "open": 0o777][found] ?? 0o700)
            if found == "another's" { chown(usual, 65534, 65534) }
        }
        let result = try await Program.gateway.run(
            "nudge --store \(folder.file("s.sqlite"))",
            environment: [
                "XDG_RUNTIME_DIR": "", "TMPDIR": folder.path, "HOME": folder.path,
                "XDG_STATE_HOME": folder.file("state"),
            ])
        let socketFolder = ["nothing", "own", "readable"].contains(found) ? usual : folder.file("state/waterh/run")
        result.expect(1, error: "nothing listens at \(socketFolder)/waterh-")
        var status = stat()
        #expect(lstat(socketFolder, &status) == 0 && status.st_mode & 0o777 == 0o700 && status.st_uid == geteuid())
    }
}

/// The store of a system service belongs to its user. Members of its group query the service and get the same output.
@Suite(.enabled(if: geteuid() == 0, "another user is needed")) struct ServiceGroupMemberTests {
    /// A service that runs as this user, with its folders as systemd creates them, and a user with access to the socket
    /// only.
    private struct Bench {
        let folder: TemporaryFolder
        let service: RunningProgram
        private let tracker: Program

        init() async throws {
            folder = try TemporaryFolder()
            for (name, mode) in [("state", 0o700), ("run", 0o750), ("home", 0o777)] as [(String, mode_t)] {
                try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
                chmod(folder.file(name), mode)
            }
            chmod(folder.path, 0o755)
            try folder.write(
                """
                store = \"\(folder.file("state/day.sqlite"))\"\nlink = \"unix:\(folder.file("none"))\"\nlisten = \
                \"off\"\n
                """, to: "w.toml")
            tracker = try await Program.tracker.copy(to: folder.file("waterh-tracker"))
            let environment = Self.environment(folder, home: "state")
            _ = try await Program.tracker.run(
                "setup --yes --notifications skip --config \(folder.file("w.toml"))", environment: environment)
            service = try Program.gateway.start(
                "run --config \(folder.file("w.toml")) --verbose", environment: environment)
            let run = folder.file("run")
            _ = await eventually {
                (try? FileManager.default.contentsOfDirectory(atPath: run))?.contains { $0.hasSuffix(".sock") } == true
            }
        }

        private static func environment(_ folder: TemporaryFolder, home: String) -> [String: String] {
            [
                "HOME": folder.file(home), "TMPDIR": folder.file("home"), "RUNTIME_DIRECTORY": folder.file("run"),
                "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_STORE": "", "TZ": "UTC",
            ]
        }

        /// Runs a command as the service's user.
        func runAsOwner(_ line: String) async throws -> Program.Result {
            try await Program.tracker.run(
                "\(line) --config \(folder.file("w.toml"))", environment: Self.environment(folder, home: "state"))
        }

        /// Starts a command as a member of the service's group.
        func startAsMember(_ line: String) throws -> RunningProgram {
            try #require(Program(system: "setpriv")).start(
                "--reuid=65534 --regid=65534 --groups=0 \(tracker.path) \(line) --config \(folder.file("w.toml"))",
                environment: Self.environment(folder, home: "home"))
        }

        func runAsMember(_ line: String) async throws -> Program.Result { try await startAsMember(line).finish() }
    }

    @Test func `a member of the group uses the service's store`() async throws {
        let bench = try await Bench()
        // Masks times, durations and ids.
        func masked(_ text: String) -> String {
            text.replacing(/[0-9]{2}:[0-9]{2}|\b[dw][0-9]+\b|[0-9]+ min\b/, with: "…")
        }
        _ = try await bench.runAsOwner("log 250")
        for line in [
            "log cup", "status --zone UTC", "status --format plain", "status --format waybar", "history --zone UTC",
        ] {
            let owner = try await bench.runAsOwner(line)
            if line == "log cup" { _ = try await bench.runAsOwner("undo") }
            let member = try await bench.runAsMember(line)
            #expect(
                member.exitCode == 0 && member.error.isEmpty && masked(member.output) == masked(owner.output)
                    && !member.output.isEmpty, "\(line): \(member)\n\(owner)")
        }
        for line in ["log 5000", "water --json"] {
            let (owner, member) = (try await bench.runAsOwner(line), try await bench.runAsMember(line))
            #expect(
                member.exitCode == owner.exitCode && member.exitCode != 0 && member.error == owner.error
                    && member.output.isEmpty, "\(line): \(member)\n\(owner)")
        }
        _ = try await bench.runAsOwner("session start")
        for subcommand in ["drink", "water"] {
            let (owner, member) = (try await bench.runAsOwner(subcommand), try await bench.runAsMember(subcommand))
            #expect(
                member.exitCode == 0
                    && masked(member.output).split(separator: "\n").first
                        == masked(owner.output).split(separator: "\n").first
                    && member.output.split(separator: "\n").count >= 2, "\(member)\n\(owner)")
        }
        let undone = try await bench.runAsMember("undo")
        #expect(undone.exitCode == 0 && undone.output.hasPrefix("Undid: "), "\(undone)")
        let json = try await bench.runAsMember("log 300 --json")
        json.expect(0, output: "\"ml\":300", "\"dailyTotalMl\":")
        // Status bar: one line now, and one after each change.
        let statusBar = try bench.startAsMember("status --follow --format plain")
        let first = try await statusBar.line { $0.contains(" / ") }
        _ = try await bench.runAsMember("log 500")
        _ = try await statusBar.line { $0.contains(" / ") && $0 != first }
        try await statusBar.stop()
        // Without a service the message includes an action.
        try await bench.service.stop()
        for line in ["log cup", "status"] {
            let withoutService = try await bench.runAsMember(line)
            withoutService.expect(1, output: "", error: "it belongs to a service")
        }
    }
}

@Suite struct ControlServerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// An open connection; -1 if the connection is refused.
    private static func openConnection(_ path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard withUnixAddress(path, { connect(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Runs `body` on a thread of its own and waits for at most 5 seconds.
    private static func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result? {
        let (results, result) = AsyncStream.makeStream(of: Result.self)
        Thread.detachNewThread {
            result.yield(body())
            result.finish()
        }
        return await results.first { _ in true }
    }

    /// Sends `text`, closes the sending side, and reads until the server closes the connection.
    private static func request(_ text: String, at path: String) -> String? {
        let descriptor = openConnection(path)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count,
            shutdown(descriptor, Int32(SHUT_WR)) == 0
        else { return nil }
        var reply: [UInt8] = [], buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return count == 0 ? String(decoding: reply, as: UTF8.self) : nil }
            reply += buffer.prefix(count)
        }
    }

    /// `true` must not be accepted as 1 ml. `250.0`, as some programs write numbers, is valid.
    @Test(
        arguments: [
            (#""250""#, 250), ("250", 250), ("250.0", 250), ("2.5e2", 250), ("true", nil), ("[250]", nil),
            (#""8oz""#, nil), ("null", nil), ("250.5", nil),
        ] as [(String, Int?)])
    func `the amount of a sip can be a string or a number`(json: String, ml: Int?) {
        let action = try? ControlMessages.action(line: Data(#"{"do":"sip","value":\#(json)}"#.utf8))
        #expect(action == ml.map { .sip(ml: $0) }, "\(json)")
    }

    /// A script's pipe closes its sending side before the reply arrives.
    @Test func `a client that closes its sending side receives every reply`() async throws {
        let path = folder.file("c")
        let server = try ControlServer(path: path) { _ in .refused("not now") }
        defer { server.stop() }
        for _ in 0..<50 {
            let reply = await Self.onThread { Self.request("{}\nrubbish\n", at: path) }
            #expect(reply??.split(separator: "\n").count == 2, "\(reply ?? "nothing")")
        }
    }

    @Test(arguments: [4200, 9000]) func `a request that is too long gets an error response`(bytes: Int) async throws {
        let path = folder.file("c")
        let server = try ControlServer(path: path) { _ in .refused("not now") }
        defer { server.stop() }
        let text = String(repeating: "x", count: bytes) + "\n"
        let response = await Self.onThread { Self.request(text, at: path) }
        #expect(response??.hasPrefix(#"{"ok":false,"error":"request too long: "#) == true, "\(response ?? "nothing")")
    }

    /// Idle connections must not block other clients.
    @Test func `a silent client does not block others`() async throws {
        let path = folder.file("c")
        let server = try ControlServer(path: path) { _ in .refused("not now") }
        defer { server.stop() }
        let idle = await Self.onThread { (0..<100).map { _ in Self.openConnection(path) } } ?? []
        defer { for descriptor in idle where descriptor >= 0 { close(descriptor) } }
        #expect(idle.count == 100 && !idle.contains(-1))
        for _ in 0..<3 {
            let reply = await Self.onThread { Self.request("{}\n", at: path) }
            #expect(reply??.split(separator: "\n").count == 1, "\(reply ?? "nothing")")
        }
    }
}
