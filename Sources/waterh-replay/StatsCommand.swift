import ArgumentParser
import CommandSupport
import Replay

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Count traffic and latencies",
        discussion: """
            Latency is the time from a request to its response: median, 95th percentile and maximum. With more \
            than 256 responses, the first two are accurate to 1.6 %. A rate leaves out pauses of more than a \
            second. Anomalies are listed at the end.
            """)

    @Argument(help: "Captures of any format (- for standard input)", completion: .file())
    var files: [String]

    @OptionGroup var filter: FilterArguments
    @OptionGroup var attribution: AttributionArguments
    @OptionGroup var colors: ColorArguments

    @Flag(help: "Print one JSON object per line, one per capture")
    var json = false

    @Flag(help: "Print CSV: one row each for the total, request kinds, connections and characteristics")
    var csv = false

    func validate() throws {
        if json, csv { throw ValidationError("--json cannot be used with --csv") }
    }

    func run() throws {
        let run = try CaptureRun()
        if csv { run.out.put(text: StatisticsTable.head) }
        for (index, part) in try run.parts(files).enumerated() {
            let statistics = CaptureStatistics(filter.filter, handles: attribution.handles)
            var packets = 0
            let isWhole = try run.read(part) { file in try statistics.read(&file) { _ in packets += 1 } }
            // An unreadable file has no statistics; its error is already on standard error.
            if !isWhole, packets == 0 { continue }
            let report = StatisticsReport(file: part.reportName, packets: packets, statistics: statistics)
            if json {
                run.out.put(text: report.json.text + "\n")
            } else if csv {
                run.out.put(text: StatisticsTable(report: report).rows)
            } else {
                run.out.put(text: (index > 0 ? "\n" : "") + (colors.isColoured ? report.coloured : report.text))
            }
        }
        try run.finish()
    }
}
