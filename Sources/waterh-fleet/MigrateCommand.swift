import ArgumentParser
import CommandKit

struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Makes the tables, or brings them up to date.",
        discussion:
            """
            Only forwards, step by step, in one transaction; who runs it a second time at once waits for the \
            first. Tables of a newer program are left alone.
            """
    )

    @OptionGroup var database: DatabaseOptions

    func run() throws {
        let (before, after) = try database.use(checked: false, limit: .seconds(6 * 3600)) { try $0.migrate() }
        TextOutput.standard.line(
            before == after ? "The tables are of version \(after) already." : "The tables are of version \(after) now.")
    }
}
