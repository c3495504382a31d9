import ArgumentParser
import CommandKit

struct ForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Takes everything out that is known of a person, and throws the key of their rows in all backups away.",
        discussion: """
            What gateways tell of them later is passed over, until waterh-fleet allow names them again. The file of the keys is written anew with --keys, or by the next waterh-fleet
            backup: from then on nobody reads their rows in any backup that was made so. What pg_dump made before still holds all of it.
            """)

    @Argument(help: "The person, as the overview names them.")
    var name: String

    @Option(help: "The file of the backups' keys, to be written anew at once.")
    var keys: String?

    @OptionGroup var database: DatabaseOptions

    func run() throws {
        let file = keys.map(KeyFile.init)
        // Before anything is gone: the keys of another fleet are not written over.
        try BackupCommand.translated { try file?.check(database) }
        guard try database.use({ try $0.forget(name) }) else { throw CommandFailure(.refused, "Nobody goes by that name.", advice: "waterh-fleet report shows who there is.") }
        try file?.write(database)
        TextOutput.standard.line("Forgotten.")
    }
}
