import ArgumentParser
import CommandSupport
import Replay

struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare two captures",
        discussion:
            "Compares drinks, deliveries and commands, without record numbers and times. Exit code 4: they differ.")

    @Argument(help: "Capture of any format", completion: .file())
    var first: String

    @Argument(help: "Second capture, in any format", completion: .file())
    var second: String

    @OptionGroup var filter: FilterArguments

    func validate() throws {
        if first == "-", second == "-" { throw ValidationError("only one of the two captures can be standard input") }
    }

    func run() throws {
        let run = try CaptureRun()
        var readings: [CaptureReading] = []
        var isWhole = true
        for path in [first, second] {
            let parts = try run.parts(path, copiesPipes: true)
            guard !parts.isEmpty else { continue }
            var reading = try CaptureReading(of: parts, hostYear: DrinkReader.Options.hostYear, filter: filter.filter)
            reading.head = nil
            readings.append(reading)
            for (part, error) in zip(parts, reading.readingErrors) {
                guard let error = part.readingError ?? error else { continue }
                isWhole = false
                run.report("\(part.name): \(error)")
            }
        }
        guard readings.count == 2 else { return try run.finish() }
        let comparison = ReadingComparison(
            names: ("in \(CaptureRun.name(first))", "in \(CaptureRun.name(second))"), ignoring: ["frame", "capturedAt"])
        let differences = comparison.differences(readings[0], readings[1])
        for difference in differences { run.out.put(text: "\(difference)\n") }
        if differences.isEmpty {
            run.out.put(
                text:
                    """
                    no difference\(isWhole ? "" : " in the readable part"): \
                    \(counted(readings[0].drinks.count, "delivery", "deliveries")), \
                    \(counted(readings[0].commands.count, "command"))\n
                    """
            )
        }
        try run.finish()
        if !differences.isEmpty { throw ExitCode(ExitStatus.badInput.rawValue) }
    }
}
