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
        for name in wanted where !all.contains(where: { $0.name == name }) {
            print("There is no benchmark '\(name)'; there are: \(all.map(\.name).joined(separator: ", ")).")
        }
        for benchmark in all where wanted.isEmpty || wanted.contains(benchmark.name) {
            print("\(benchmark.name): \(benchmark.run())  [swift run -c release Benchmarks \(benchmark.name)]")
        }
    }
}
