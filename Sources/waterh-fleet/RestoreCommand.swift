import ArgumentParser
import CommandKit
import FleetBackup
import FleetStore
import Foundation

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Takes a backup into a new database, and adds up its days.",
        discussion: """
            The database has to be migrated and unused. All of the backup is taken, or nothing. Whoever was forgotten \
            since has no key any more, and does not come back; nor do the
            audit and what was set aside of before that. Where any other key is missing, nothing is taken. Whose \
            credential was taken back by the time the keys were written is let in
            no more; of those who lost theirs later nobody knows that here.
            """)

    @Argument(help: "What waterh-fleet backup wrote.", completion: .file())
    var file: String

    @Option(help: "The newest file of its keys.")
    var keys: String

    @Flag(
        help:
            """
            Takes a backup of the first form, too (of before 26 November 2026), in which nobody can see whether \
            anything is missing.
            """
    )
    var firstForm = false

    @OptionGroup var database: DatabaseOptions

    func run() throws {
        let restored = try Self.restore(file, keys, database, takesFirstForm: firstForm, note: "a backup was restored")
        TextOutput.standard.line(
            """
            \(restored.rows.values.reduce(0, +)) rows, among them \(restored.rows["entry"] ?? 0) entries of \
            \(restored.rows["person"] ?? 0) people.
            """
        )
        if restored.isOfFirstForm {
            TextOutput.standard.line("It was of the first form: whether anything is missing in it nobody can see.")
        }
        if restored.unreadable > 0 {
            TextOutput.standard.line(
                "\(restored.unreadable) rows stay sealed: their key was thrown away when somebody was forgotten.")
        }
    }

    /// - Parameter note: for the audit.
    static func restore(
        _ file: String, _ keys: String, _ database: DatabaseOptions, takesFirstForm: Bool = false, note: String? = nil
    ) throws -> FleetBackup.Restored {
        try BackupCommand.translated {
            let keyFile = KeyFile(keys), keys = try keyFile.read()
            guard let input = FileHandle(forReadingAtPath: file) else {
                throw CommandFailure(
                    .badInput, "\(file) cannot be read.", advice: "Name a file that waterh-fleet backup wrote.")
            }
            defer { try? input.close() }
            return try database.use(limit: .seconds(6 * 3600)) { store in
                guard try store.isUnused() else {
                    throw CommandFailure(
                        .refused, "This database is in use: there are gateways or people in it.",
                        advice: "Create a new one, and run waterh-fleet migrate there.")
                }
                let restored = try FleetBackup.restore(
                    into: store, keys: keys, takesFirstForm: takesFirstForm, note: note
                ) { Array(try input.read(upToCount: $0) ?? Data()) }
                // It may have taken hours.
                let newest = try keyFile.read()
                try store.catchUp(
                    newest.forgettings, outlived: BackupKeys(store).outlived(by: newest), revoked: newest.revoked)
                return restored
            }
        }
    }
}
