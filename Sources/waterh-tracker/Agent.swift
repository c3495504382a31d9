import ArgumentParser
import CommandKit
import CommandStore
import Desktop
import Foundation
import ServiceLog

struct Agent: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract:
            """
            Shows on this desktop what the service of a store has to tell: for a service that runs outside of the \
            session.
            """,
        discussion: """
            A system service has no desktop. This program belongs to the session, listens to the service, shows, and \
            says what it has shown; buttons act. It waits \
            for a service or a notification server that is not there. What the service shows on the desktop itself is \
            not shown again.
            """)
    @OptionGroup var options: StoreOptions
    @OptionGroup var speech: ServiceLogOptions

    func run() async throws {
        let signals = StopSignals.stream()
        speech.takeOver("waterh-tracker")
        let file = try Configuration.load(options.config)
        let place = try StorePlace.find(options.store, person: options.person, file)
        if let words = Self.nobodys(place, file) { Diagnostics.warning(words) }
        let agent = DesktopAgent(
            store: place.path, person: place.person.map { ($0.name, $0.name == file.people.first?.name) })
        let work = Task { await agent.run() }
        var stopped = ExitStatus.done
        for await signal in signals {
            stopped = StopSignals.status(for: signal)
            break
        }
        work.cancel()
        await work.value
        if stopped != .done { throw ExitCode(stopped.rawValue) }
    }

    /// What to say where people are listed and the store is none of theirs: no service will ever keep it.
    private static func nobodys(_ place: StorePlace, _ file: Configuration) -> String? {
        guard place.person == nil, !file.people.isEmpty else { return nil }
        let names = file.people.map(\.name)
        return
            """
            waterh.toml lists people (\(names.joined(separator: ", "))), each with a store, and \(place.path) is \
            none of theirs: no service keeps it. Say whose day this desktop shows: 
            """
                + """
                waterh-tracker agent --person \(names[0]), without --store; for the unit, the line OPTIONS=--person \
                \(names[0]) in ~/.config/waterh/agent.env.
                """
    }
}
