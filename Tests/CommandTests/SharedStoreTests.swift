import Foundation
import Store
import Support
import Testing
import TrackerCore

/// One store, several programs: confirmed data stays stored, whatever other programs do and however they end.
@Suite(.serialized) struct SharedStoreTests {
    /// The locks and open descriptors of a process for a file, as reported by the kernel.
    private struct Holding {
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
            }
            .filter { $0.hasPrefix(path) }.map { String($0.dropFirst(path.count)) }.sorted()
        }
    }

    @Test func `the service keeps its lock while other programs run`() async throws {
        let pair = try await Pair()
        try await pair.sip(120)
        let config = pair.folder.url("waterh.toml")
        try Data("link = \"\(pair.socket)\"\nstore = \"\(pair.store)\"\n".utf8).write(to: config)
        let service = try Program("waterh-gateway").start(["run", "--config", config.path])
        #expect(await event(within: 20) { service.error.contains("1 received: 1 new") ? true : nil } == true)
        // One writer, at most 5 readers (`Configuration.maximumReaderCount` of GRDB), the connection of `changeMark`,
        // and one for a long read. More rounds than that, so that a descriptor that stays open exceeds the limit.
        let (connections, rounds) = (8, 12)
        for round in 0..<rounds {
            try await pair.sip(130 + round)
            service.send(signal: SIGHUP)
            #expect(
                await event(within: 20) {
                    service.error.components(separatedBy: "1 received: 1 new").count == round + 3 ? true : nil
                } == true)
            for verb in ["status", "log 5", "check --doctor", "export"] {
                let visit = try await Program("waterh-tracker").run(
                    verb.split(separator: " ").map(String.init) + ["--store", pair.store])
                #expect(visit.exitCode == 0, "\(visit.error)")
            }
            _ = try await Program("waterh-gateway").run(["doctor", "--store", pair.store, "--link", pair.socket])
            let holding = try Holding(service.processIdentifier, pair.store)
            #expect(holding.locks >= 1, "round \(round): the service lost its lock")
            let count = Dictionary(grouping: holding.descriptors, by: \.self).mapValues(\.count)
            #expect(Set(count.keys) == ["", "-shm", "-wal"] && count["-shm"] == 1, "round \(round): \(count)")
            #expect(count.values.allSatisfy { $0 <= connections }, "round \(round): \(count)")
        }
        // After SIGKILL the remaining log is complete.
        try await service.stop(SIGKILL, limit: 60)
        #expect(
            try TrackerStore(path: pair.store).allDrinks().map(\.ml).sorted()
                == Array(repeating: 5, count: rounds) + [120] + (130..<130 + rounds))
    }

    @Test(arguments: 1...4) func `six programs that start at once create one store`(round: Int) async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("deep/down/waterh.sqlite")
        let runs = try (1...6).map { try Program("waterh-tracker").start(["log", "\($0)", "--store", store]) }
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
        let tracker = Program("waterh-tracker")
        let gateway = Program("waterh-gateway")
        let service = ["run", "--link", pair.socket, "--store", pair.store]
        /// Starts the service and waits until it handles signals (from /proc). Before that, each signal ends it.
        func start() async throws -> RunningProgram {
            let program = try gateway.start(service)
            let hears = await event(within: 20) { () -> Bool? in
                let status =
                    (try? String(contentsOfFile: "/proc/\(program.processIdentifier)/status", encoding: .utf8)) ?? ""
                let caught =
                    status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t").last.flatMap
                { UInt64($0, radix: 16) } ?? 0
                return caught & (1 << (SIGHUP - 1)) != 0 ? true : nil
            }
            try #require(hears == true, "\(program.error)")
            return program
        }
        var running = try await start()
        var others: [(program: RunningProgram, logged: Int?)] = []
        var done: Set<Int> = []
        var (sips, killed, services) = (0, 0, 1)

        func reap(_ other: (program: RunningProgram, logged: Int?)) async throws {
            let result = try await other.program.finish()
            let isOurs = result.signalled && result.exitCode == SIGKILL
            if isOurs {
                killed += 1
            } else {
                #expect(!result.signalled, "died of signal \(result.exitCode): \(result.error)")
            }
            if let logged = other.logged, !result.signalled, result.exitCode == 0 { done.insert(logged) }
            if let logged = other.logged, !isOurs { #expect(result.exitCode == 0, "log \(logged): \(result.error)") }
        }

        let end = ContinuousClock.now + .seconds(10)
        var number = 0
        while ContinuousClock.now < end {
            number += 1
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                others.append((try tracker.start(["log", "\(1000 + number)", "--store", pair.store]), 1000 + number))
            case 4: others.append((try tracker.start(["status", "--store", pair.store]), nil))
            case 5: others.append((try tracker.start(["check", "--doctor", "--store", pair.store]), nil))
            case 6: others.append((try gateway.start(["poll", "--link", pair.socket, "--store", pair.store]), nil))
            case 7: others.append((try gateway.start(["doctor", "--link", pair.socket, "--store", pair.store]), nil))
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
                try await running.stop(SIGKILL, limit: 60)
                running = try await start()
                services += 1
            }
            while others.count > 4 { try await reap(others.removeFirst()) }
        }
        for other in others { try await reap(other) }
        #expect(try await running.stop(limit: 30).exitCode == 0)

        // Reads the rest of the bottle's records.
        for _ in 0..<5 where try await pair.poll().object["received"] as? Int != 0 {}
        let store = try TrackerStore(path: pair.store)
        let drinks = try store.allDrinks()
        #expect(drinks.filter { $0.source == .bottle }.map(\.ml).sorted() == Array(1...max(1, sips)), "every sip once")
        let logged = drinks.filter { $0.source != .bottle }.map(\.ml)
        #expect(
            Set(logged).count == logged.count && done.isSubset(of: Set(logged)),
            "lost: \(done.subtracting(logged).sorted())")
        #expect(try store.integrityProblems().isEmpty)
        print(
            """
            shared store: \(number) steps, \(sips) sips, \(done.count) logs done, \(killed) others and \
            \(services - 1) services killed
            """
        )
    }
}
