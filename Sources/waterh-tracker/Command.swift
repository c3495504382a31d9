import ArgumentParser
import CommandSupport

@main
enum Main {
    static func main() async { await CommandRunner.main(Command.self) }
}

struct Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-tracker",
        abstract: "The day, from the store: what was drunk, what is due, and a Waterline session when there is one.",
        discussion: """
            Every verb takes --store FILE, --config FILE, --json, and --now INSTANT --zone ZONE to ask \
            what it would say then.
            \(ExitStatus.help)
            """,
        version: ProgramVersion.text,
        subcommands: [
            Status.self, Log.self, Undo.self, Edit.self, Delete.self, ResetToday.self, HistoryCommand.self, Streak.self,
            DrinkCommand.self, Water.self, SessionCommand.self, PresetCommand.self, SettingsCommand.self, Setup.self,
            TokenCommand.self, Export.self, Import.self, Backup.self, Restore.self, Purge.self, Check.self, Agent.self,
            JournalCommand.self, WhyCommand.self, SnoozeCommand.self,
        ],
        defaultSubcommand: Status.self)
}
