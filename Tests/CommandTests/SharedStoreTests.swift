import Foundation
import Store
import Support
import Testing
import TrackerCore

/// One store, several programs: confirmed data stays stored, whatever other programs do and however they end.
@Suite(.serialized) struct SharedStoreTests {
    /// The locks and open descriptors of a process for a file, as reported by the kernel.
    private struct OpenFiles {
        var locks: Int
        var descriptors: [String]

        init(_ process: Int32, _ path: String) throws {
            let files = FileManager.default
            let number = try #require(try files.attributesOfItem(atPath: path)[.systemFileNumber] as? Int)
            // 1: POSIX  ADVISORY  READ  PID  08:01:INODE  START END
            locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").count { line in
                let words = line.split(separator: " ")
                return words.contains("\(process)") && words.contains { $0.hasSuffix(":\(number)") }
            }
            let folder = "/proc/\(process)/fd"
            descriptors = try files.contentsOfDirectory(atPath: folder).compactMap {
                try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
            }.filter { $0.hasPrefix(path) }.map { String($0.dropFirst(path.count)) }.sorted()
        }
    }

    @Test func `the service keeps its lock while other programs run`() async throws {
        let pair = try await Pair()
        try await pair.sip(120)
        let service = try pair.serve()
        await service.says("1 received: 1 new")
        // One writer, at most 5 readers (`Configuration.maximumReaderCount` of GRDB), the connection of `dataVersion`,
        // and one for a long read. More rounds than that, so that a descriptor that stays open exceeds the limit.
        let (connections, rounds) = (8, 9)
        for round in 0..<rounds {
            try await pair.sip(130 + round)
            service.send(signal: SIGHUP)
            #expect(
                await eventually(within: 20) {
                    service.error.components(separatedBy: "1 received: 1 new").count == round + 3
                })
            try await pair.tracker(["log 5", "status", "check --doctor", "export"][round % 4])
            let openFiles = try OpenFiles(service.processIdentifier, pair.store)
            #expect(openFiles.locks >= 1, "round \(round): the service lost its lock")
            let count = Dictionary(grouping: openFiles.descriptors, by: \.self).mapValues(\.count)
            #expect(Set(count.keys) == ["", "-shm", "-wal"] && count["-shm"] == 1, "round \(round): \(count)")
            #expect(count.values.allSatisfy { $0 <= connections }, "round \(round): \(count)")
        }
        _ = try await pair.gateway("doctor --link \(pair.socket)")
        #expect(
            try OpenFiles(service.processIdentifier, pair.store).locks >= 1, "the service lost its lock to a doctor")
        // After SIGKILL the remaining log is complete.
        try await service.kill()
        #expect(
            try TrackerStore(path: pair.store).allDrinks().map(\.ml).sorted() == [5, 5, 5, 120] + (130..<130 + rounds))
    }

    @Test func `six programs that start at once create one store`() async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("deep/down/waterh.sqlite")
        let runs = try (1...6).map { try Program.tracker.start(["log", "\($0)", "--store", store]) }
        for run in runs {
            let result = try await run.finish()
            #expect(result.exitCode == 0, "\(result.error)")
        }
        #expect(try TrackerStore(path: store).allDrinks().map(\.ml).sorted() == Array(1...6))
    }

    /// Service, tracker, a second gateway and doctors on one store, killed at random times. Every `log` that succeeded
    /// is stored. Every drink is in the store once or still in the bottle, and SQLite's integrity check passes.
    /// `WATERH_SHARED_SEED=n` repeats the choices as far as the machine allows.
    @Test(.timeLimit(.minutes(3))) func `no drink is lost when programs are killed`() async throws {
        let seed =
            ProcessInfo.processInfo.environment["WATERH_SHARED_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0..<1_000_000)
        print("shared store: WATERH_SHARED_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let pair = try await Pair()
        let tracker = Program.tracker
        let gateway = Program.gateway
        let service = ["run", "--link", pair.socket, "--store", pair.store]
        /// Starts the service and waits until it handles signals (from /proc). Before that, each signal ends it.
        func start() async throws -> RunningProgram {
            let program = try gateway.start(service)
            let handlesSignals = await eventually {
                let status =
                    (try? String(contentsOfFile: "/proc/\(program.processIdentifier)/status", encoding: .utf8)) ?? ""
                let caught =
                    status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t").last.flatMap
                { UInt64($0, radix: 16) } ?? 0
                return caught & (1 << (SIGHUP - 1)) != 0
            }
            try #require(handlesSignals, "\(program.error)")
            return program
        }
        var running = try await start()
        var others: [(program: RunningProgram, logged: Int?)] = []
        var storedAmounts: Set<Int> = []
        var sips = 0

        func checkEnd(_ other: (program: RunningProgram, logged: Int?)) async throws {
            let result = try await other.program.finish()
            let wasKilled = result.signalled && result.exitCode == SIGKILL
            #expect(wasKilled || !result.signalled, "died of signal \(result.exitCode): \(result.error)")
            if let logged = other.logged, !result.signalled, result.exitCode == 0 { storedAmounts.insert(logged) }
            if let logged = other.logged, !wasKilled { #expect(result.exitCode == 0, "log \(logged): \(result.error)") }
        }

        let end = ContinuousClock.now + .seconds(10)
        var number = 0
        while ContinuousClock.now < end {
            number += 1
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                others.append((try tracker.start(["log", "\(1000 + number)", "--store", pair.store]), 1000 + number))
            case 4: others.append((try tracker.start("status --store \(pair.store)"), nil))
            case 5: others.append((try tracker.start("check --doctor --store \(pair.store)"), nil))
            case 6: others.append((try gateway.start("poll --link \(pair.socket) --store \(pair.store)"), nil))
            case 7: others.append((try gateway.start("doctor --link \(pair.socket) --store \(pair.store)"), nil))
            default:
                // Unique amounts below those of the tracker.
                sips += 1
                try await pair.sip(sips)
                running.send(signal: SIGHUP)
            }
            if Int.random(in: 0..<6, using: &random) == 0, let other = others.randomElement(using: &random) {
                other.program.send(signal: SIGKILL)
            }
            if Int.random(in: 0..<12, using: &random) == 0 {
                try await running.kill()
                running = try await start()
            }
            while others.count > 4 { try await checkEnd(others.removeFirst()) }
        }
        for other in others { try await checkEnd(other) }
        try await running.stop()

        // Reads the rest of the bottle's records.
        for _ in 0..<5 where try await pair.poll().object["received"] as? Int != 0 {}
        let store = try TrackerStore(path: pair.store)
        let drinks = try store.allDrinks()
        #expect(
            drinks.filter { $0.source == .bottle }.map(\.ml).sorted() == Array(1..<sips + 1),
            "each sip is stored once")
        let logged = drinks.filter { $0.source != .bottle }.map(\.ml)
        #expect(
            Set(logged).count == logged.count && storedAmounts.isSubset(of: Set(logged)),
            "lost: \(storedAmounts.subtracting(logged).sorted())")
        #expect(try store.integrityProblems().isEmpty)
    }
}

/// A store file with a mount of its own, as a container's volume of one file. Two programs that open it under different
/// names would overwrite each other's commits.
@Suite struct BindMountedStoreTests {
    @Test(.enabled(if: MountNamespace.unshareOptions != nil, "this machine permits no mount namespace"))
    func `a bind-mounted store file is read-only`() async throws {
        let folder = try TemporaryFolder()
        let (store, other) = (folder.url("here/w.sqlite").path, folder.url("there is/w.sqlite").path)
        let tracker = Program.tracker
        try await tracker.succeed("log 100 --store \(store)")
        let words = try #require(MountNamespace.unshareOptions)
        func mounted(_ arguments: [String]) async throws -> Program.Result {
            try await #require(Program(system: "unshare")).run(
                words + [
                    "sh", "-c",
                    "mkdir -p \"${1%/*}\" && : >>\"$1\" && mount --bind \"$0\" \"$1\" && shift && exec \"$@\"", store,
                    other, tracker.path,
                ] + arguments)
        }
        let refused = try await mounted(["log", "200", "--store", other])
        refused.expect(1, error: "is mounted without its directory", "Mount its directory")
        let looked = try await mounted(["status", "--store", other])
        looked.expect(0, output: "100 ml")
        // The name without a mount accepts writes, and so does a file in a mounted folder.
        #expect(try await mounted(["log", "300", "--store", store]).exitCode == 0)
        #expect(try await tracker.run("status --store \(store)").output.contains("400 ml"))
    }
}

/// Disks with errors, or full ones, during a command (`Tests/System/README.md`). A command that exits with 0 has stored
/// its data. A command that fails has changed nothing.
@Suite struct DiskFaultTests {
    @Test(arguments: [
        // An error while a new store gets its log must be reported.
        ["log-new", "--faults", "eio", "--first", "10"],
        // A restore that cannot be committed must leave no copy of the store on the full disk.
        ["restore", "--faults", "full", "--some", "12"], ["log", "edit", "--faults", "eio,full", "--some", "10"],
        ["poll", "--faults", "full,kill", "--some", "8"],
    ])
    func `disk errors leave successful changes stored and failed ones undone`(arguments: [String]) async throws {
        let result = try await Program.python.run(
            [Program.repository + "/Tests/System/disk_faults.py", Program.products] + arguments,
            environment: ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"],
            limit: 300)
        result.expect(0, output: "disk faults: 0 bad of ")
    }
}

@Suite struct KillTests {
    /// A service that is stopped while it starts must not open its sockets after it has closed them.
    @Test(.timeLimit(.minutes(5))) func `a service stopped during its start ends`() async throws {
        let pair = try await Pair(["--profile", "retail"])
        let killer = try #require(Program(system: "timeout"), "coreutils' timeout is needed")
        for round in 0..<8 {
            let seconds = String(format: "%.3f", 0.02 + 0.04 * Double(round))
            let result = try await killer.run(
                ["--preserve-status", "-s", "TERM", "-k", "20", seconds, Program.gateway.path, "run"]
                    + pair.pollArguments.dropFirst().filter { $0 != "--json" })
            // Before the program handles signals, a signal ends it with the default action.
            #expect(result.exitCode != 137 && result.exitCode != 9, "after \(seconds) s: \(result.error)")
        }
    }
}
