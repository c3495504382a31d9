// Rates that the project promises, measured. Run in release: swift run -c release Benchmarks
// Each benchmark is a file here with one function that returns a line; add it to the list below.

@main
enum Benchmarks {
    static let all: [(name: String, run: @Sendable () -> String)] = [
        ("decode", FrameDecoding.run), ("ingest", StoreBenchmarks.ingest), ("tick", StoreBenchmarks.tick),
    ]

    static func main() {
        let wanted = CommandLine.arguments.dropFirst()
        // Material for the benchmarks of the commands (hardware/benchmarks), not a benchmark itself.
        if wanted == ["full-bottle"] { return print(FullBottle.hexText()) }
        if wanted.first == "big-capture", wanted.count == 2 || wanted.count == 3, let path = wanted.dropFirst().first {
            guard let notifications = wanted.count == 3 ? wanted.last.flatMap({ Int($0) }) : 500_000, notifications > 0 else {
                return print("usage: Benchmarks big-capture FILE [NOTIFICATIONS]")
            }
            do {
                return try BigCapture.write(path, notifications: notifications)
            } catch {
                return print("\(path) cannot be written: \(error)")
            }
        }
        for name in wanted where !all.contains(where: { $0.name == name }) {
            print("There is no benchmark '\(name)'; there are: \(all.map(\.name).joined(separator: ", ")).")
        }
        for benchmark in all where wanted.isEmpty || wanted.contains(benchmark.name) {
            print("\(benchmark.name): \(benchmark.run())  [swift run -c release Benchmarks \(benchmark.name)]")
        }
    }
}
