import ArgumentParser
import CommandKit
import FleetStore
import Foundation

struct ParkedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parked",
        abstract: "Lines of gateways that were no entries and are set aside, with the reason: oldest first, times UTC.",
        discussion: """
            Of each line its beginning is kept. After an upgrade --again reads all of them once more, and takes those \
            that the newer program understands, as if the gateway told
            them now; what it does not understand stays where it is.
            """)

    @Option(help: "Of this gateway only.")
    var gateway: String?

    @Option(help: "So many lines at most, the newest (1 to 100000).")
    var lines = 1000

    @Flag(help: "Reads them again, and takes what is an entry now.")
    var again = false

    @Flag(help: "One JSON object a line: gateway, parked, reason, line.")
    var json = false

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard (1...100_000).contains(lines) else { throw ValidationError("--lines is 1 to 100000.") }
        guard !again || !json else {
            throw ValidationError("--json shows what is set aside, and goes without --again.")
        }
    }

    func run() throws {
        let output = TextOutput.standard
        guard again else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            for line in try database.use({ try $0.parkedLines(of: gateway, limit: lines) }) {
                if json {
                    output.line(String(decoding: try encoder.encode(line), as: UTF8.self))
                } else {
                    output.line("\(line.parked) \(line.gateway): \(line.reason): \(line.line)")
                }
            }
            return
        }
        let result = try database.use { store in
            let result = try store.takeParkedAgain(of: gateway)
            try store.noteChange("what was set aside was read again, \(result.taken) taken")
            return result
        }
        output.line("\(result.taken) taken, \(result.known) known already, \(result.left) still set aside.")
        for words in result.refused.sorted() { output.line(words) }
    }
}
