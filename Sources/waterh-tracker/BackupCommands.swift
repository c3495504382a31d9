import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

extension ContentsReport {
    fileprivate var words: String {
        """
        \(counted(drinks, "drink")), \(counted(sessions, "session")), \(counted(presets, "preset")), \
        \(counted(settings, "setting"))
        """
    }
}

struct Backup: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write everything that the store has to one file.",
        discussion:
            """
            Drinks with their raw records, tombstones, sessions, presets, settings, goals, reminders. It may run \
            while others write.
            """
    )
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Argument(help: "The file to write; - for standard output.", completion: .file()) var file: String

    func run(_ desk: Desk) throws {
        let output = try OutputFile(
            file, kind: .database, sparing: desk.storeFiles + [options.config ?? Paths.configuration])
        let scratch = try ScratchFolder()
        let copy = scratch.file("backup.sqlite")
        try desk.tracker.backUp(to: copy)
        do {
            try InputFile(copy).read { try output.write($0) }
            try output.commit()
        } catch is OutputFile.NobodyReads {
            throw CommandFailure(.failed, "Nobody read the backup to its end.")
        }
        guard file != "-" else { return }
        let contents = try desk.tracker.contents()
        try desk.say(contents) {
            ["Wrote \(contents.words) to \(file).", "Take it back with: waterh-tracker restore \(file)"]
        }
    }
}

struct Restore: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a backup in the place of everything that the store has.",
        discussion:
            """
            All of it or nothing, while no service uses the store. A store with drinks is only replaced with \
            --yes, or when you say so; what it had is kept in a file beside it.
            """
    )
    @OptionGroup var options: StoreOptions
    @Argument(help: "The backup; - for standard input.", completion: .file()) var file: String
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false

    func run(_ desk: Desk) throws {
        guard !ServiceSocket(path: ServiceSocket.path(forStore: desk.path)).isAnswering else {
            throw CommandFailure(
                .refused, "A service uses the store \(desk.path). Nothing was changed.",
                advice:
                    """
                    Stop the service, restore, and start it again: sudo systemctl stop waterh-gateway (a service of \
                    your own: systemctl --user stop waterh-gateway)
                    """
            )
        }
        let scratch = try ScratchFolder()
        let backup = file == "-" ? scratch.file("input.sqlite") : file
        let input = try InputFile(file, sparing: desk.storeFiles)
        if file == "-" {
            let spool = try OutputFile(backup)
            try input.read { try spool.write($0) }
            try spool.commit()
        }
        if try desk.tracker.isUsed() {
            try Confirmation.ask("Replace everything in \(desk.path)?", isConfirmed: yes, console: desk.console)
        }
        let (contents, removed) = try desk.tracker.restore(from: backup, scratch: scratch.path)
        StorePlace.report(removedSettings: removed)
        try desk.say(contents) {
            let kept =
                contents.replaced.map {
                    ["What was there is in \($0). Take it back with: waterh-tracker restore \($0)"]
                } ?? []
            return ["Restored \(contents.words)."] + kept + [desk.standing(try desk.tracker.state())]
        }
    }
}
