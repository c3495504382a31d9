import ArgumentParser
import CommandKit
import Foundation
import ScenarioFiles
import Scenarios

struct ScenarioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario", abstract: "Play bad days from files, on simulated time.",
        subcommands: [RunScenario.self, ListScenarios.self, ScenarioFromCapture.self])
}

struct RunScenario: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Play each scenario, and say whether all that it promises holds.",
        discussion: """
            The bottle, its link and its clock are simulated; the engine and the store are those of the service. Nothing is left behind.
            Of a folder its files *.toml are played. Exit code 1 when a promise breaks, 4 when a file cannot be read.
            """)

    @Argument(help: ArgumentHelp("Scenarios, or folders of them.", valueName: "file"))
    var files: [String]

    @Flag(help: "Print a JSON object for each.")
    var json = false

    @Flag(help: "Tell what happens, also where all holds.")
    var story = false

    @Option(help: ArgumentHelp("Write the result as JUnit's XML, too: a test case for each scenario.", valueName: "file"))
    var junit: String?

    func run() throws {
        let found = try ScenarioCatalogue.files(files)
        let place = try junit.map { try OutputFile($0, mode: 0o666, sparing: found) }
        // All are read before the first is played.
        let scenarios = try found.map { ($0, try ScenarioFile(path: $0).scenario) }
        var report = TestReport(suite: "waterh-gateway scenario run")
        for (file, scenario) in scenarios {
            let played = try PlayedScenario(scenario)
            report.cases.append(.init(name: scenario.title, seconds: played.seconds, failures: played.violations.map(\.sentence)))
            if json {
                TextOutput.standard.line(played.json(file: file))
            } else {
                for line in played.lines(file: file, tellsStory: story) { TextOutput.standard.line(line) }
            }
        }
        if let place {
            try place.write(Array(report.junit.utf8))
            try place.commit()
        }
        let broken = report.cases.count { !$0.failures.isEmpty }
        if !json { TextOutput.standard.line("\(scenarios.count) played, \(broken == 0 ? "all hold" : "\(broken) broken")") }
        if broken > 0 { throw ExitCode(ExitStatus.failed.rawValue) }
    }
}

struct ListScenarios: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Tell of scenarios as a page: what happens on each day, and what is promised.")

    @Argument(help: ArgumentHelp("Scenarios, or folders of them.", valueName: "file"))
    var files: [String]

    func run() throws {
        let scenarios = try ScenarioCatalogue.files(files).map { ((URL(fileURLWithPath: $0)).lastPathComponent, try ScenarioFile(path: $0).scenario) }
        TextOutput.standard.block(ScenarioCatalogue.page(scenarios.map { (name: $0.0, scenario: $0.1) }))
    }
}

struct ScenarioFromCapture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "from", abstract: "Make a scenario of a capture: its drinks, and a poll for each connection, cut off where that was cut off.")

    @Argument(help: ArgumentHelp("A capture, such as the service keeps of a poll that went wrong.", valueName: "capture"), completion: .file())
    var capture: String

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write. Without it: standard output.", valueName: "file"), completion: .file())
    var output = "-"

    func run() throws {
        let made = try ScenarioCapture(path: capture)
        for remark in made.remarks { Diagnostics.line(remark) }
        let file = try OutputFile(output, sparing: [capture])
        try file.write(Array(ScenarioText.text(made.scenario).utf8))
        try file.commit()
    }
}
