import ArgumentParser
import CommandKit
import FleetStore

struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Who let whom in, took it back, or said of whom a gateway may tell: oldest first, times UTC.")

    @Option(help: "So many lines at most, the newest (1 to 100000).")
    var lines = 1000

    @Flag(help: "Also every batch and every look at a person, of the last 90 days.")
    var all = false

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard (1...100_000).contains(lines) else { throw ValidationError("--lines is 1 to 100000.") }
    }

    func run() throws {
        for (at, who, what) in try database.use({ try $0.audit(limit: lines, all: all) }) {
            TextOutput.standard.line("\(at) \(who): \(what)")
        }
    }
}
