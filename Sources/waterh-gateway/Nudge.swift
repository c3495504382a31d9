import ArgumentParser
import CommandSupport

struct Nudge: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nudge",
        abstract: "Poll now: asks the running service.",
        discussion: "The service that keeps the same store. What the poll brought is in the day a moment later.")

    @OptionGroup var place: StoreOptions

    func run() throws {
        let store = try place.place(try Configuration.load(place.config))
        _ = try ServiceSocket(path: ServiceSocket.path(forStore: store.path)).post("/api/v1/poll")
        TextOutput.standard.line("The service polls now.")
    }
}
