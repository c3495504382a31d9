import ArgumentParser
import CommandKit

@main
enum Main {
    static func main() async {
        await CommandRunner.main(Command.self, arguments: verbFirst(Array(CommandLine.arguments.dropFirst())))
    }

    /// `--store F log 250` means `log 250 --store F`: what every verb takes may stand before the verb too.
    static func verbFirst(_ arguments: [String]) -> [String] {
        var rest = arguments[...]
        var shared: [String] = []
        while let first = rest.first {
            if first == "--json" || ["--store=", "--now=", "--zone="].contains(where: first.hasPrefix) {
                shared.append(first)
                rest = rest.dropFirst()
            } else if ["--store", "--now", "--zone"].contains(first), rest.count > 1 {
                shared += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else {
                break
            }
        }
        // Without a verb they belong to the default one as they stand.
        guard let verb = rest.first, !verb.hasPrefix("-") else { return arguments }
        let end = rest.firstIndex(of: "--") ?? rest.endIndex
        return rest[..<end] + shared + rest[end...]
    }
}

struct Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-tracker",
        abstract: "The day, from the store: what was drunk, what is due, and a Waterline session when there is one.",
        discussion: """
            Every verb takes --store FILE, --json, and --now INSTANT --zone ZONE to ask what it would say then.
            Exit codes: 0 done, 1 failed, 2 wrong use, 3 refused by a rule, 4 bad file.
            """,
        version: ProgramVersion.text,
        subcommands: [
            Status.self, Log.self, Undo.self, Edit.self, Delete.self, ResetToday.self, HistoryCommand.self, Streak.self,
            DrinkCommand.self, Water.self, SessionCommand.self, PresetCommand.self, SettingsCommand.self, Setup.self,
            TokenCommand.self, Export.self, Import.self, Backup.self, Restore.self, Purge.self, Check.self, JournalCommand.self,
        ],
        defaultSubcommand: Status.self)
}
