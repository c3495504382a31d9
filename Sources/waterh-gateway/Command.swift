import ArgumentParser
import CommandSupport

@main
struct Command: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-gateway",
        abstract: "Takes the drinks from a WaterH bottle, stores them, and only then lets the bottle forget them.",
        discussion: ExitStatus.help,
        version: ProgramVersion.text,
        subcommands: [
            Poll.self, Run.self, Nudge.self, Pair.self, Demo.self, Scan.self, Adopt.self, Identity.self, Send.self,
            Doctor.self, Report.self, BenchDayCommand.self, SplitPeople.self,
        ])

    static func main() async { await CommandRunner.main(Command.self) }
}
