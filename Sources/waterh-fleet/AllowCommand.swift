import ArgumentParser
import CommandKit
import FleetStore

struct AllowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "allow",
        abstract: "Says of whom a gateway may tell from now on, or whom a carer sees, instead of whom it might before.",
        discussion:
            """
            Who was forgotten and is named here for a gateway is known again. Of the one who is called like it it \
            may always tell. What was refused meanwhile still waits at the gateway, and comes within minutes. \
            Where the file of the keys says that they are forgotten, --keys undoes that, too.
            """
    )

    @Argument(help: "The gateway or carer, as it was enrolled.")
    var name: String

    @Argument(help: "People as listed there.")
    var people: [String] = []

    @Flag(help: "Of anybody.")
    var anybody = false

    @Option(
        help:
            """
            The file of the backups' keys: also there those who are named are known again, whoever forgot them \
            elsewhere.
            """
    )
    var keys: String?

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        try Self.check(people, anybody)
        guard keys == nil || !people.isEmpty else { throw ValidationError("--keys goes with people who are named.") }
    }

    static func check(_ people: [String], _ anybody: Bool) throws {
        guard people.isEmpty || !anybody else { throw ValidationError("Name people, or anybody, and not both.") }
        guard
            people.allSatisfy({
                (1...64).contains($0.unicodeScalars.count)
                    && $0.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
            })
        else {
            throw ValidationError("A person's name has 1 to 64 printable characters.")
        }
    }

    func run() throws {
        // Before anything is changed: the keys of another fleet are not written over, and a carer makes nobody known
        // again.
        if keys != nil, try database.use({ try $0.role(of: name) }) == .carer {
            throw CommandFailure(
                .refused, "\(name) cares for people, and tells of nobody: --keys goes with a gateway.",
                advice: "Name a gateway, or leave --keys out.")
        }
        try BackupCommand.translated { try keys.map(KeyFile.init)?.check(database) }
        let (back, isKnown, role) = try database.use {
            (try $0.forgotten(among: people), try $0.allow(name, people: anybody ? nil : people), try $0.role(of: name))
        }
        guard isKnown else {
            throw CommandFailure(
                .refused, "No gateway was enrolled as \(name).", advice: "waterh-fleet report shows which were.")
        }
        guard role != .carer else {
            return TextOutput.standard.line(
                "\(name) cares for \(anybody ? "anybody" : people.isEmpty ? "nobody" : people.joined(separator: ", "))."
            )
        }
        TextOutput.standard.line(
            anybody
                ? "\(name) may tell of anybody." : "\(name) may tell of: \(([name] + people).joined(separator: ", ")).")
        Self.tell(back, to: .standard)
        _ = try BackupCommand.translated { try keys.map(KeyFile.init)?.write(database, knownAgain: people) }
    }

    /// Says who was forgotten, and is known again.
    static func tell(_ back: [String], to output: TextOutput) {
        guard !back.isEmpty else { return }
        output.line(
            """
            \(back.joined(separator: ", ")): forgotten before, and known again from now on. Drinks that were told \
            meanwhile are not stored.
            """
        )
        output.flush()
    }
}
