import ArgumentParser
import CommandKit
import Foundation
import Replay

struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "What two captures say differently of a bottle: drinks, deliveries and commands.",
        discussion: "Record numbers, capture times and formats may differ. Exit code 4 when something else does.")

    @Argument(help: "A capture of any format.")
    var first: String

    @Argument(help: "Another.")
    var second: String

    func validate() throws {
        if first == "-", second == "-" { throw ValidationError("only one of the two captures can be standard input") }
    }

    func run() throws {
        let run = CaptureRun()
        var readings: [CaptureReading] = []
        for path in [first, second] {
            try run.read(path) { _ in
                let source = try SpooledCapture(path)
                var reading = try CaptureReading(of: source.path, hostYear: Calendar(identifier: .gregorian).component(.year, from: Date()))
                reading.head = ""
                readings.append(reading)
                if let trouble = reading.trouble { run.report("\(Self.name(path)): \(trouble)") }
            }
        }
        guard readings.count == 2 else { return try run.finish() }
        let comparison = ReadingComparison(names: ("in \(Self.name(first))", "in \(Self.name(second))"), ignoring: ["frame", "capturedAt"])
        let differences = comparison.differences(readings[0], readings[1])
        for difference in differences { run.out.put(text: "\(difference)\n") }
        if differences.isEmpty {
            run.out.put(text: "no difference: \(count(readings[0].drinks.count, "delivery", "deliveries")), \(count(readings[0].commands.count, "command"))\n")
        }
        try run.finish()
        if !differences.isEmpty { throw ExitCode(ExitStatus.badInput.rawValue) }
    }

    private static func name(_ path: String) -> String { path == "-" ? "standard input" : path }
}
