import ArgumentParser
import CommandSupport
import Notifications
import Foundation

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
        let place = try StorePlace.find(options.store, file)
        let agent = DesktopAgent(store: place.path, instance: file.instance)
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
}
