import ArgumentParser
import CommandSupport

@main
struct Emulator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-emulator",
        abstract: "A WaterH bottle that is not there.",
        discussion: """
            Start one in a terminal, and let a gateway or an app drain it:

              waterh-emulator run --link unix:/tmp/b.sock
              waterh-emulator control sip 120
              waterh-gateway poll --link unix:/tmp/b.sock

            \(ExitStatus.help)
            """,
        version: ProgramVersion.text,
        subcommands: [Run.self, Control.self, Faults.self])

    static func main() async { await CommandRunner.main(Emulator.self) }
}
