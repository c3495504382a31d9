import ArgumentParser

@main
struct Command: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "waterh-emulator")
}
