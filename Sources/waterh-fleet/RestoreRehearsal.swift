import CommandKit
import FleetBackup
import FleetStore
import Foundation

/// A backup, its restore into a database of its own, and the comparison of both.
struct RestoreRehearsal: Sendable {
    /// That name the original.
    let words: String
    /// With pg_dump and pg_restore.
    let dump: Bool
    /// Where the backup lies meanwhile.
    let folder: String
    let traces: RehearsalTraces

    private var database: DatabaseOptions { Self.options(words) }

    private static func options(_ words: String) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.database = words
        return options
    }

    func run() throws {
        for line in try Self.swept(database) + traces.sweep(folder) { TextOutput.standard.line(line) }
        for _ in 0..<3 {
            let (lines, differences, isDisturbed) = try once()
            guard differences == 0 || !isDisturbed else {
                TextOutput.standard.line(
                    "Somebody was forgotten meanwhile, and is in the one and not in the other: once more.")
                TextOutput.standard.flush()
                continue
            }
            for line in lines { TextOutput.standard.line(line) }
            guard differences == 0 else {
                throw CommandFailure(
                    .failed, "What was restored is not what there was: see the lines above.",
                    advice: "Do not rely on these backups before that is explained.")
            }
            return TextOutput.standard.line("What was restored is what there was.")
        }
        throw CommandFailure(
            .failed, "Somebody was forgotten during each of three rehearsals: nothing can be said of these backups.",
            advice: "Run it again when nobody is forgotten meanwhile.")
    }

    /// Databases that others left behind: what became of them, in words.
    /// - Parameter underWay: also of rehearsals of this fleet that nobody left.
    static func swept(_ database: DatabaseOptions, underWay: Bool = false) throws -> [String] {
        let sweeping = try database.use(limit: .seconds(600)) { try $0.sweepScratchDatabases() }
        return sweeping.dropped.map { "\($0), which a rehearsal left behind, is taken away." }
            + sweeping.left.map {
                """
                \($0) was left behind by a rehearsal and is still there, with all that it holds: drop it when \
                nobody is in it.
                """
            }
            + (underWay
                ? sweeping.underWay.map { "\($0) holds what there was, until the rehearsal that is under way ends." }
                : [])
    }

    /// - Returns: what is to be said, how much differs, and whether somebody was forgotten meanwhile.
    private func once() throws -> (lines: [String], differences: Int, isDisturbed: Bool) {
        defer { try? traces.takeAway() }
        let mark = String(UUID().uuidString.prefix(8).lowercased()), place = try traces.makeFolder(in: folder, mark)
        let began = ContinuousClock.now
        let (original, forgettings) = try database.use(limit: Self.limit) { store in
            try store.atOneMoment { snapshot in
                try backUp(into: place, snapshot)
                return (try store.contents(), try store.sealsAndForgettings().forgettings)
            }
        }
        let size = try FileManager.default.contentsOfDirectory(atPath: place).reduce(0) {
            try $0 + (FileManager.default.attributesOfItem(atPath: "\(place)/\($1)")[.size] as? Int ?? 0)
        }
        TextOutput.standard.line(
            """
            Backed up \(dump ? "by pg_dump" : "sealed") in \((ContinuousClock.now - began).components.seconds) s: \
            \(size >> 10) KiB.
            """
        )
        TextOutput.standard.flush()
        let again = ContinuousClock.now
        let (back, wrongDays) = try database.use(limit: Self.limit) { store in
            let copy = Self.options("dbname=\(try traces.makeDatabase(store, mark))")
            try putBack(from: place, copy)
            return try copy.use(limit: Self.limit) { copy in
                try copy.refresh()
                return (try copy.contents(), try copy.wrongDays())
            }
        }
        try traces.takeAway()
        TextOutput.standard.line(
            "Restored and added up in \((ContinuousClock.now - again).components.seconds) s, and taken away again.")
        var differences = wrongDays == 0 ? 0 : 1, lines: [String] = []
        for (one, other) in zip(original, back) {
            guard one == other else {
                differences += 1
                lines.append(
                    """
                    DIFFERENT, \(one.name): \(one.rows) in the original, \(other.rows) \
                    restored\(one.rows == other.rows ? ", and not the same" : "").
                    """
                )
                continue
            }
            lines.append("The same, \(one.name): \(one.rows).")
        }
        lines.append(
            wrongDays == 0
                ? "All days that were added up are those of their entries."
                : "DIFFERENT, \(wrongDays) days are added up otherwise than their entries say.")
        let now = try database.use { try $0.sealsAndForgettings().forgettings }
        return (lines, differences, now != forgettings)
    }

    private static let limit = Duration.seconds(6 * 3600)

    private func backUp(into place: String, _ snapshot: String) throws {
        guard dump else {
            _ = try BackupCommand.translated {
                try BackupCommand.write("\(place)/backup", "\(place)/keys", database, snapshot: snapshot)
            }
            return
        }
        try program(
            "pg_dump", ["--format=custom", "--no-password", "--snapshot=\(snapshot)", "--file=\(place)/dump"], place)
    }

    private func putBack(from place: String, _ copy: DatabaseOptions) throws {
        guard dump else {
            _ = try copy.use(checked: false, limit: Self.limit) { try $0.migrate() }
            _ = try RestoreCommand.restore("\(place)/backup", "\(place)/keys", copy)
            return
        }
        guard let name = copy.database else { return }
        try program(
            "pg_restore", ["--exit-on-error", "--no-owner", "--no-password", "--dbname=\(name)", "\(place)/dump"], place
        )
    }

    /// Runs one of PostgreSQL's programs to its end.
    private func program(_ name: String, _ arguments: [String], _ place: String) throws {
        guard let path = OtherProgram.path(of: name) else {
            throw CommandFailure(
                .failed, "There is no \(name) here.",
                advice: "Install it (apt-get install postgresql-client), or go without --dump.")
        }
        let process = Process(), said = Pipe(), isOver = DispatchSemaphore(value: 0)
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        (process.standardInput, process.standardOutput, process.standardError) = (
            FileHandle.nullDevice, FileHandle.nullDevice, said
        )
        process.terminationHandler = { [traces] _ in
            traces.programEnded()
            isOver.signal()
        }
        try traces.start(process)
        let number = process.processIdentifier, end = DispatchWorkItem { kill(number, SIGTERM) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(Self.limit.components.seconds)), execute: end)
        defer { end.cancel() }
        let words = String(decoding: (try? said.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        guard isOver.wait(timeout: .now() + .seconds(60)) == .success, process.terminationStatus == 0 else {
            throw CommandFailure(
                .failed, "\(name) failed: \(words.split(separator: "\n").last ?? "it said nothing").",
                advice:
                    "It has to be of the server's version or newer, and the user needs the right to read and to create."
            )
        }
    }
}
