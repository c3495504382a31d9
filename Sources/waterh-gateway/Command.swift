import ArgumentParser
import CommandSupport

@main
struct Command: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-gateway", abstract: "Poll a WaterH bottle and serve its drinks",
        discussion: ExitStatus.help, version: ProgramVersion.text,
        subcommands: [
            Poll.self, Run.self, Nudge.self, Open.self, Invite.self, Pair.self, Demo.self, Scan.self, Adopt.self,
            Identity.self, Send.self,
            PostgresCommand.self, Doctor.self, Report.self, BenchDayCommand.self, SplitPeople.self,
        ])

    static func main() async { await CommandRunner.main(Command.self) }
}
