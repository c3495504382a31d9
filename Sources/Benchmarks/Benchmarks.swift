// Benchmarks of the project. Run them in release mode: swift run -c release Benchmarks
// Each benchmark is a function in its own file that returns one line. Add new ones to the list below.

import BlueZ
import Foundation
import Glibc

@main
enum Benchmarks {
    static let all: [(name: String, run: @Sendable () -> String)] = [
        ("decode", FrameDecoding.run), ("ingest", StoreBenchmarks.ingest), ("tick", StoreBenchmarks.tick),
    ]

    static func main() async {
        let names = CommandLine.arguments.dropFirst()
        if ["flood", "notifications"].contains(names.first) { return await notifications(Array(names)) }
        if names.first == "postgres" { return await postgres(Array(names.dropFirst())) }
        // Input for the benchmarks of the commands (hardware/benchmarks), not a benchmark.
        if names == ["full-bottle"] { return print(FullBottle.hexText()) }
        if names.first == "big-capture", (2...4).contains(names.count), let path = names.dropFirst().first {
            let rest = names.dropFirst(2)
            guard let notifications = rest.first.map({ Int($0) }) ?? 500_000, notifications > 0,
                rest.count < 2 || rest.last == "distinct"
            else {
                return print("usage: Benchmarks big-capture FILE [NOTIFICATIONS [distinct]]")
            }
            do {
                return try BigCapture.write(path, notifications: notifications, isDistinct: rest.count == 2)
            } catch {
                return print("writing \(path) failed: \(error)")
            }
        }
        for name in names where !all.contains(where: { $0.name == name }) {
            print("unknown benchmark '\(name)': expected \(all.map(\.name).joined(separator: ", "))")
        }
        for benchmark in all where names.isEmpty || names.contains(benchmark.name) {
            print("\(benchmark.name): \(benchmark.run())  [swift run -c release Benchmarks \(benchmark.name)]")
        }
    }

    private static func postgres(_ words: [String]) async {
        do {
            guard try await PostgresBenchmarks.run(words) else { return print(PostgresBenchmarks.usage) }
        } catch {
            print("error: \(error)")
            exit(1)
        }
    }

    /// The parts of the notification benchmark, which `hardware/machine/suite/benchmarks.py` starts in the test VM.
    private static func notifications(_ words: [String]) async {
        do {
            switch (words.first, words.count) {
            case ("flood", 2): try await NotificationBenchmark.flood(words[1])
            case ("notifications", 4):
                guard let seconds = Double(words[3]), seconds > 0, words[2] == "signals" || words[2] == "socket" else {
                    fallthrough
                }
                print(
                    try await NotificationBenchmark.notifications(
                        adapter: words[1], method: words[2] == "socket" ? .socket : .signals, seconds: seconds))
            default:
                throw NotificationBenchmark.Failure(
                    "usage: Benchmarks flood LINK | Benchmarks notifications ADAPTER signals|socket SECONDS")
            }
        } catch {
            print("error: \(error)")
            exit(1)
        }
    }
}
