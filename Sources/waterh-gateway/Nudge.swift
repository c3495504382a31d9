import ArgumentParser
import CommandSupport

struct Nudge: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nudge", abstract: "Ask the running service to poll now",
        discussion: "The service of the same store polls. The result is stored a moment later.")

    @OptionGroup var storeOptions: LocationOptions

    func run() throws {
        let store = try storeOptions.load().store
        _ = try ServiceSocket(path: ServiceSocket.path(forStore: store.path)).post("/api/v1/poll")
        TextOutput.standard.line("The service polls now.")
    }
}
