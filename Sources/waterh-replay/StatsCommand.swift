import ArgumentParser
import CommandSupport
import Replay

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract:
            """
            What passed, counted: requests and how long they took, values, errors, what was lost; per connection \
            and per characteristic.
            """,
        discussion: """
            Latency is the time from a request to its answer: median, the value that 95 % do not exceed, and the \
            worst. Of more than 256 answers
            the first two are up to 1.6 % off; the worst is exact. A rate counts the time in which something passed: \
            pauses over a second are left
            out. What is not as it should be is told in sentences at the end.
            """)

    @Argument(help: "Captures of any format; - for standard input.", completion: .file())
    var files: [String]

    @OptionGroup var filter: FilterArguments
    @OptionGroup var attribution: AttributionArguments
    @OptionGroup var colors: ColorArguments

    @Flag(help: "One JSON object a line, one line a capture.")
    var json = false

    @Flag(help: "One table: a line for the whole, each kind of request, each connection, each characteristic.")
    var csv = false

    func validate() throws {
        if json, csv { throw ValidationError("--json and --csv ask for two outputs; name one") }
    }

    func run() throws {
        let run = CaptureRun()
        if csv { run.out.put(text: StatisticsTable.head) }
        for (index, part) in try run.parts(files).enumerated() {
            let statistics = CaptureStatistics(filter.filter, given: attribution.given)
            var packets = 0
            let isWhole = try run.read(part) { file in try statistics.read(&file) { _ in packets += 1 } }
            // An unreadable file has no statistics; its error is already on standard error.
            if !isWhole, packets == 0 { continue }
            let report = StatisticsReport(file: part.place, packets: packets, statistics: statistics)
            if json {
                run.out.put(text: report.json.text + "\n")
            } else if csv {
                run.out.put(text: StatisticsTable(report).rows)
            } else {
                run.out.put(text: (index > 0 ? "\n" : "") + (colors.isColoured ? report.coloured : report.text))
            }
        }
        try run.finish()
    }
}
