import ArgumentParser
import CommandKit
import FleetStore
import Foundation

struct RehearseRestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse-restore", abstract: "Backs the fleet up, restores that into a database of its own, and compares everything with the original.",
        discussion: """
            As waterh-fleet backup and restore do it; --dump: as PostgreSQL's pg_dump and pg_restore do. The original is only read, at one moment (and gets the keys that are missing), and servers go on meanwhile. The
            database that it makes beside the original (the user needs the right to create one) is called fleet_rehearsal_ and eight more; it and its files are gone when it ends. It
            fails where anything differs.
            """)

    @Flag(help: "With pg_dump and pg_restore.")
    var dump = false

    @Option(help: "Where the backup lies meanwhile: as large as the fleet's tables. Default: the folder for temporary files.")
    var folder: String?

    @OptionGroup var database: DatabaseOptions

    func run() throws {
        let mark = UUID().uuidString.prefix(8).lowercased()
        let place = (folder ?? NSTemporaryDirectory()) + "/waterh-fleet-\(mark)", name = "fleet_rehearsal_\(mark)"
        // Programs beside this one, and the copy, find the place so; a password stands in no list of processes.
        for (name, value) in try database.environment() { setenv(name, value, 1) }
        var copy = DatabaseOptions()
        copy.database = "dbname=\(name)"
        do { try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700]) } catch {
            throw CommandFailure(.failed, "\(place) cannot be made: \(error.localizedDescription)", advice: "Name another folder with --folder.")
        }
        defer { try? FileManager.default.removeItem(atPath: place) }
        let began = ContinuousClock.now
        let original = try database.use(limit: Self.limit) { store in
            try store.atOneMoment { snapshot in
                try backUp(into: place, snapshot)
                return try store.contents()
            }
        }
        let size = try FileManager.default.contentsOfDirectory(atPath: place).reduce(0) { try $0 + (FileManager.default.attributesOfItem(atPath: "\(place)/\($1)")[.size] as? Int ?? 0) }
        TextOutput.standard.line("Backed up \(dump ? "by pg_dump" : "sealed") in \((ContinuousClock.now - began).components.seconds) s: \(size >> 10) KiB.")
        TextOutput.standard.flush()
        let again = ContinuousClock.now
        let (back, wrongDays) = try database.use(limit: Self.limit) { store in
            try store.withScratchDatabase(name) {
                try putBack(from: place, copy)
                return try copy.use(limit: Self.limit) { copy in
                    try copy.refresh()
                    return (try copy.contents(), try copy.wrongDays())
                }
            }
        }
        TextOutput.standard.line("Restored and added up in \((ContinuousClock.now - again).components.seconds) s, and taken away again.")
        var differences = wrongDays == 0 ? 0 : 1
        for (one, other) in zip(original, back) {
            guard one == other else {
                differences += 1
                TextOutput.standard.line("DIFFERENT, \(one.name): \(one.rows) in the original, \(other.rows) restored\(one.rows == other.rows ? ", and not the same" : "").")
                continue
            }
            TextOutput.standard.line("The same, \(one.name): \(one.rows).")
        }
        TextOutput.standard.line(wrongDays == 0 ? "All days that were added up are those of their entries." : "DIFFERENT, \(wrongDays) days are added up otherwise than their entries say.")
        guard differences == 0 else { throw CommandFailure(.failed, "What was restored is not what there was: see the lines above.", advice: "Do not rely on these backups before that is explained.") }
        TextOutput.standard.line("What was restored is what there was.")
    }

    private static let limit = Duration.seconds(6 * 3600)

    private func backUp(into place: String, _ snapshot: String) throws {
        guard dump else {
            _ = try BackupCommand.translated { try BackupCommand.write("\(place)/backup", "\(place)/keys", database, snapshot: snapshot) }
            return
        }
        try Self.program("pg_dump", ["--format=custom", "--no-password", "--snapshot=\(snapshot)", "--file=\(place)/dump"], place)
    }

    private func putBack(from place: String, _ copy: DatabaseOptions) throws {
        guard dump else {
            _ = try copy.use(checked: false, limit: Self.limit) { try $0.migrate() }
            _ = try RestoreCommand.restore("\(place)/backup", "\(place)/keys", copy)
            return
        }
        guard let name = copy.database else { return }
        try Self.program("pg_restore", ["--exit-on-error", "--no-owner", "--no-password", "--dbname=\(name)", "\(place)/dump"], place)
    }

    /// Runs one of PostgreSQL's programs to its end.
    private static func program(_ name: String, _ arguments: [String], _ place: String) throws {
        guard let path = OtherProgram.path(of: name) else { throw CommandFailure(.failed, "There is no \(name) here.", advice: "Install it (apt-get install postgresql-client), or go without --dump.") }
        let process = Process(), said = Pipe(), isOver = DispatchSemaphore(value: 0)
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice, said)
        process.terminationHandler = { _ in isOver.signal() }
        try process.runHearingSignals()
        let number = process.processIdentifier, end = DispatchWorkItem { kill(number, SIGTERM) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(limit.components.seconds)), execute: end)
        defer { end.cancel() }
        let words = String(decoding: (try? said.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        guard isOver.wait(timeout: .now() + .seconds(60)) == .success, process.terminationStatus == 0 else {
            throw CommandFailure(.failed, "\(name) failed: \(words.split(separator: "\n").last ?? "it said nothing").", advice: "It has to be of the server's version or newer, and the user needs the right to read and to create.")
        }
    }
}
