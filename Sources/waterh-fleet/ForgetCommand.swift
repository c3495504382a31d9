import ArgumentParser
import CommandKit

struct ForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Takes everything out that is known of a person.",
        discussion: """
            What gateways tell of them later is passed over, until waterh-fleet allow names them again. Dumps of the database that were made before still hold all of it.
            """)

    @Argument(help: "The person, as the overview names them.")
    var name: String

    @OptionGroup var database: DatabaseOptions

    func run() throws {
        guard try database.use({ try $0.forget(name) }) else { throw CommandFailure(.refused, "Nobody goes by that name.", advice: "waterh-fleet report shows who there is.") }
        TextOutput.standard.line("Forgotten.")
    }
}
