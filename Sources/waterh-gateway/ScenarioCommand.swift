import ArgumentParser
import Bluetooth
import CommandKit
import CommandStore
import Emulation
import Foundation
import Links
import ScenarioFiles
import Scenarios

struct ScenarioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario", abstract: "Play bad days from files, on simulated time.",
        subcommands: [RunScenario.self, ListScenarios.self, ScenarioFromCapture.self, ShrinkScenario.self])
}

struct RunScenario: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Play each scenario, and say whether all that it promises holds.",
        discussion: """
            The bottle, its link and its clock are simulated; the engine and the store are those of the service. \
            Nothing is left behind.
            Of a folder its files *.toml are played. Exit code 1 when a promise breaks, 4 when a file cannot be read: \
            the others are played, and the report has it as
            a test that failed.

            With --link they are played for real: by the gateway over that link, with the emulator at its other end, \
            to whose control socket
            is told what its owner does. Steps come one after the other, a second apart; what only a simulated world \
            can do is refused.
            A broker that goes away is Debian's mosquitto then.
            """)

    @Argument(help: ArgumentHelp("Scenarios, or folders of them.", valueName: "file"), completion: .file())
    var files: [String]

    @Flag(help: "Print a JSON object for each.")
    var json = false

    @Flag(help: "Tell what happens, also where all holds.")
    var story = false

    @Option(
        help: ArgumentHelp("Write the result as JUnit's XML, too: a test case for each scenario.", valueName: "file"),
        completion: .file())
    var junit: String?

    @Option(help: ArgumentHelp("Play for real, over this link.", valueName: "link"))
    var link: String?

    @Option(help: ArgumentHelp("With --link: the emulator's control socket, unix:PATH.", valueName: "control"))
    var control: String?

    @Option(help: ArgumentHelp("With --link: seconds between steps of different times.", valueName: "seconds"))
    var pause = 1.0

    func run() async throws {
        let found = try ScenarioCatalogue.files(files)
        let place = try junit.map { try OutputFile($0, mode: 0o666, sparing: found) }
        var report = TestReport(suite: "waterh-gateway scenario run")
        // All are read before the first is played.
        var (scenarios, unread): ([(String, Scenario)], [any Error]) = ([], [])
        for file in found {
            do {
                scenarios.append((file, try ScenarioFile(path: file).scenario))
            } catch {
                unread.append(error)
                report.cases.append(.init(name: file, seconds: 0, failures: ["\(error)"]))
            }
        }
        // Nobody waits for a day to hear of a file that cannot be read.
        for error in unread.dropLast() { Diagnostics.error("\(error)") }
        for (file, scenario) in scenarios {
            let played = try await play(scenario)
            report.cases.append(
                .init(name: scenario.title, seconds: played.seconds, failures: played.violations.map(\.sentence)))
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
        let broken = report.cases.count { !$0.failures.isEmpty } - unread.count
        if !json, !scenarios.isEmpty {
            TextOutput.standard.line("\(scenarios.count) played, \(broken == 0 ? "all hold" : "\(broken) broken")")
        }
        if let last = unread.last { throw last }
        if broken > 0 { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func play(_ scenario: Scenario) async throws -> PlayedScenario {
        guard let link else {
            guard control == nil else {
                throw CommandFailure(
                    .wrongUse, "--control is for scenarios that are played for real.",
                    advice: "Name the link, too: --link LINK.")
            }
            return try PlayedScenario(scenario)
        }
        guard let text = control, case .unix(let socket)? = try? LinkName(text) else {
            throw CommandFailure(
                .wrongUse, "To play for real somebody has to tell the bottle what its owner does.",
                advice: "Name the emulator's control socket: --control unix:PATH.")
        }
        guard (0...3600).contains(pause) else { throw CommandFailure(.wrongUse, "--pause takes 0 to 3600 seconds.") }
        let name: LinkName
        do { name = try LinkName(link) } catch { throw CommandFailure(.wrongUse, "\(error).") }
        if case .capture = name {
            throw CommandFailure(
                .wrongUse, "A recording has no owner who drinks.",
                advice: "Name a link with an emulator at its other end.")
        }
        do {
            let live = try LiveScenario(scenario, control: socket, pause: .seconds(pause)) { faults in
                try LinkFactory.central(
                    name, runtimeFolder: Paths.runtime, proxyKey: Configuration.proxyKey(),
                    instruments: LinkInstruments(faults: faults, seed: scenario.seed))
            }
            return try await live.play()
        } catch let error as LiveScenario.Unplayable {
            throw CommandFailure(
                .refused, sentence("\(error)"), advice: "Without --link it is played on simulated time.")
        } catch let error as ControlSocket.Failure {
            throw CommandFailure(.noLink, sentence("\(error)"), advice: "Start the emulator with --control \(text).")
        }
    }
}

struct ListScenarios: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Tell of scenarios as a page: what happens on each day, and what is promised.")

    @Argument(help: ArgumentHelp("Scenarios, or folders of them.", valueName: "file"), completion: .file())
    var files: [String]

    func run() throws {
        let scenarios = try ScenarioCatalogue.files(files).map {
            ((URL(fileURLWithPath: $0)).lastPathComponent, try ScenarioFile(path: $0).scenario)
        }
        TextOutput.standard.block(ScenarioCatalogue.page(scenarios.map { (name: $0.0, scenario: $0.1) }))
    }
}

struct ScenarioFromCapture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "from",
        abstract:
            "Make a scenario of a capture: its drinks, and a poll for each connection, cut off where that was cut off.")

    @Argument(
        help: ArgumentHelp("A capture, such as the service keeps of a poll that went wrong.", valueName: "capture"),
        completion: .file())
    var capture: String

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The file to write. Without it: standard output.", valueName: "file"),
        completion: .file())
    var output = "-"

    func run() throws {
        let made = try ScenarioCapture(path: capture)
        for remark in made.remarks { Diagnostics.line(remark) }
        let file = try OutputFile(output, sparing: [capture])
        try file.write(Array(ScenarioText.text(made.scenario).utf8))
        try file.commit()
    }
}

struct ShrinkScenario: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shrink",
        abstract: "Make a day that breaks a promise as small as it goes: the fewest steps that still break it.",
        discussion:
            """
            The same promise breaks on the smaller day. Exit code 1 where the day holds on simulated time: then \
            there is nothing to shrink, and nothing is written.
            """
    )

    @Argument(help: ArgumentHelp("A scenario.", valueName: "file"), completion: .file(extensions: ["toml"]))
    var file: String

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The file to write. Without it: standard output.", valueName: "file"),
        completion: .file())
    var output = "-"

    @Option(help: ArgumentHelp("Seconds after which the smallest day so far is taken.", valueName: "seconds"))
    var seconds = 120.0

    func run() throws {
        guard (1...86_400).contains(seconds) else { throw CommandFailure(.wrongUse, "--seconds takes 1 to 86400.") }
        let scenario = try ScenarioFile(path: file).scenario
        let end = ContinuousClock.now + .seconds(seconds)
        guard
            let small = try ScenarioShrinker(isOver: { ContinuousClock.now >= end }, play: PlayedScenario.broken)
                .shrunk(scenario)
        else {
            throw CommandFailure(
                .failed, "All that \"\(scenario.title)\" promises holds on simulated time: there is nothing to shrink.")
        }
        let place = try OutputFile(output, sparing: [file])
        try place.write(Array(ScenarioText.text(small).utf8))
        try place.commit()
        Diagnostics.line(small.story)
    }
}
