import ArgumentParser
import CommandKit

struct RebuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild", abstract: "Throws the days away that were added up, and adds up all entries again.",
        discussion: "Nothing else changes. Servers may go on meanwhile.")

    @OptionGroup var database: DatabaseOptions

    func run() throws {
        try database.use(limit: .seconds(6 * 3600)) { store in
            try store.rebuild()
            try store.noteChange("all days were added up again")
        }
        TextOutput.standard.line("All days are added up again.")
    }
}
