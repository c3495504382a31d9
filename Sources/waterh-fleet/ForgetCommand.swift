import ArgumentParser
import CommandKit
import FleetStore
import Foundation

struct ForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract:
            "Takes everything out that is known of a person, and throws the key of their rows in all backups away.",
        discussion: """
            What gateways tell of them later is passed over, until waterh-fleet allow names them again. The file of \
            the keys is written anew with --keys, or by the next waterh-fleet
            backup: from then on nobody reads their rows in any backup that was made so. What pg_dump made before \
            still holds all of it.
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
        guard try database.use({ try $0.forget(name) }) else {
            guard let file, try isForgottenNow(file) else {
                throw CommandFailure(
                    .refused, "Nobody goes by that name.", advice: "waterh-fleet report shows who there is.")
            }
            try write(file)
            return TextOutput.standard.line("Forgotten in the backups, too: the keys are written now.")
        }
        try file.map(write)
        TextOutput.standard.line("Forgotten.")
        // Copies of everything, of rehearsals.
        let folders = RehearsalTraces(words: database.words).sweep(NSTemporaryDirectory())
        for line in try folders + RestoreRehearsal.swept(database, underWay: true) { TextOutput.standard.line(line) }
    }

    /// Who is forgotten already, and who is in the backups only.
    private func isForgottenNow(_ file: KeyFile) throws -> Bool {
        try BackupCommand.translated {
            try database.use { store in try store.forgetOnceMore(name, isKnownElsewhere: file.opens(store.owner(name)))
            }
        }
    }

    private func write(_ file: KeyFile) throws {
        do { _ = try BackupCommand.translated { try file.write(database) } } catch let failure as CommandFailure {
            throw CommandFailure(
                failure.status,
                """
                \(name) is forgotten here, but the keys are not written, and the old ones still open what older \
                backups hold of them. \(failure.sentence)
                """,
                advice: "Mend that, and run this once more: it writes the keys. \(failure.advice ?? "")")
        }
    }
}
