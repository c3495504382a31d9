import ArgumentParser
import CommandKit
import FleetBackup
import FleetStore
import Foundation

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Writes the whole fleet into a file, in which each person's rows are sealed with a key of their own.",
        discussion: """
            The keys go into another file, which is always the newest one: keep it on another disk than the backups, \
            and no older one of it. Whoever is forgotten has no key in
            it any more, and is in no backup any more either. Servers may go on meanwhile: the backup is of the moment \
            in which it begins.
            """)

    @Argument(help: "The file; one that is there is replaced when the new one is whole.", completion: .file())
    var file: String

    @Option(help: "The file of the keys: of the same fleet, or new.")
    var keys: String

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard file != "-", keys != "-" else { throw ValidationError("Name files, and not standard output.") }
        guard let place = FilePlace(file) else { return }
        guard ![keys, KeyFile.lockName(keys)].contains(where: { FilePlace($0)?.isSame(as: place) == true }) else {
            throw ValidationError("The keys go into another file than what they open.")
        }
    }

    func run() throws {
        try Self.translated {
            try KeyFile(keys).checkBackup(database)
            let tally = try Self.write(file, keys, database)
            try database.use { try $0.noteChange("a backup was made") }
            TextOutput.standard.line(
                """
                \(tally.rows.values.reduce(0, +)) rows, among them \(tally.rows["entry"] ?? 0) entries of \
                \(tally.rows["person"] ?? 0) people.
                """
            )
            if tally.passedOver > 0 {
                TextOutput.standard.line(
                    "\(tally.passedOver) rows of people who were forgotten meanwhile are not in it.")
            }
        }
    }

    /// - Parameter snapshot: of which moment; `nil`: now.
    static func write(_ file: String, _ keys: String, _ database: DatabaseOptions, snapshot: String? = nil) throws
        -> FleetBackup.Tally
    {
        let output = try OutputFile(file)
        var random = SystemRandomNumberGenerator()
        let tally = try database.use(limit: .seconds(6 * 3600)) { store in
            try database.use { keeper in
                try FleetBackup.write(
                    store, keeper: keeper,
                    random: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }, snapshot: snapshot
                ) { try output.write($0) }
            }
        }
        // The keys first: a backup without them would be lost.
        let kept = try KeyFile(keys).write(database, used: tally.keys.keys)
        let thrown = Set(kept.thrown),
            lacks = tally.keys.contains { name, use in
                thrown.contains(name) && use.owner != FleetStore.memoryOwner && !kept.forgotten.contains(use.owner)
            }
        guard !lacks else {
            throw CommandFailure(
                .failed,
                """
                Somebody was forgotten and known again while the backup was made, and would be missing in it: it \
                was given up.
                """,
                advice: "Run it again.")
        }
        try output.commit()
        return tally
    }

    /// What goes wrong as a command's failure.
    static func translated<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let trouble as BackupTrouble {
            throw CommandFailure(
                .badInput, trouble.description,
                advice: trouble.isFirstForm ? "With --first-form it is taken all the same." : nil)
        }
    }
}
