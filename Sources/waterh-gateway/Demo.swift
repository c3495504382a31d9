import ArgumentParser
import Bluetooth
import CommandSupport
import Foundation
import Gateway
import Synchronization
import TrackerCore

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run an emulated bottle and a gateway",
        discussion:
            """
            Needs no root, no Bluetooth and no configuration. Writes only to a temporary directory, which it removes. \
            Without --once it runs until Ctrl-C: its page shows days of two minutes each. waterh-emulator control \
            controls the bottle.
            """
    )

    @Flag(help: "Poll twice, show the day, and exit.")
    var once = false

    @Option(
        help: ArgumentHelp("Capture whose drinks fill the bottle (default: one of the package)", valueName: "file"),
        completion: .file())
    var capture: String?

    @Option(
        help: ArgumentHelp(
            "Control socket for waterh-emulator control (default: its default)", valueName: "unix:PATH"
        ))
    var control: String?

    @Option(
        help: ArgumentHelp(
            "Port of the page on 127.0.0.1, 0 for a free one (default: 8077, or a free one)",
            valueName: "port"))
    var port: UInt16?

    @Option(
        help: ArgumentHelp(
            "Speed of the clock (1–3600)", valueName: "times"))
    var speed: Double = 480

    func validate() throws {
        guard (1...3600).contains(speed) else { throw ValidationError("invalid --speed \(speed): expected 1–3600") }
        guard !once || port == nil else { throw ValidationError("--port cannot be used with --once") }
    }

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("waterh-demo-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .failed, "creating a temporary directory failed: \(error.localizedDescription)",
                advice: "Set TMPDIR to a writable directory.")
        }
        let store = StorePlace(path: folder.appendingPathComponent("waterh.sqlite").path)
        let bottle = try await DemoBottle(capture: capture)
        let place = try control.map(Self.path)
        let (outcome, stopped) = await Interruptible.stoppable { [self] () -> Result<Void, any Error> in
            do {
                try await show(bottle, store)
                if !once { try await DemoService(bottle, store, port: port, speed: speed, control: place).run() }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        await bottle.close()
        if let stopped, (try? outcome.get()) != nil { throw ExitCode(stopped.rawValue) }
        try outcome.get()
    }

    private static func path(_ text: String) throws -> String {
        guard case .unix(let path)? = try? LinkName(text) else {
            throw CommandFailure(.wrongUse, "'\(text)' is not a valid control socket path", advice: "Use unix:PATH.")
        }
        return path
    }

    /// Runs two polls: the second one finds nothing new. Closes the store at the end.
    private func show(_ bottle: DemoBottle, _ store: StorePlace) async throws {
        let gateway = DemoGateway(bottle.central, try StoreProvider(store, zone: nil))
        let out = TextOutput.standard
        out.line("An emulated bottle, \(bottle.origin).")
        do {
            out.line("First poll:")
            let first = try await gateway.poll()
            for line in PollText.lines(first.report, entries: first.new, state: nil) { out.line("  " + line) }
            out.line("Second poll:")
            let second = try await gateway.poll()
            for line in PollText.lines(second.report, entries: second.new, state: nil).dropFirst() {
                out.line("  " + line)
            }
            out.line("The day:")
            for line in try gateway.day() { out.line("  " + line) }
        } catch {
            await gateway.close()
            throw error
        }
        out.flush()
        await gateway.close()
    }
}

/// The gateway of the demo: one driver and one store.
struct DemoGateway: Sendable {
    private let driver: GatewayDriver
    private let party: GatewayDriver.Party
    private let depot: StoreProvider
    private let taken: Taken

    private final class Taken: Sendable {
        let entries = Mutex<[JournalEntry]>([])
    }

    init(_ link: any CentralLink, _ depot: StoreProvider) {
        self.depot = depot
        let taken = Taken()
        self.taken = taken
        var outlets = depot.outlets()
        outlets.journaled = { entries, outcomes in
            let new = zip(entries, outcomes).filter { $0.1.isNew }.map(\.0)
            taken.entries.withLock { $0 += new }
        }
        outlets.diagnostic = { if $0.severity == .warning { Diagnostics.warning(PollAdvice.words($0)) } }
        driver = GatewayDriver(link: link, clock: .system(wall: { Machine.now() }))
        party = GatewayDriver.Party(journal: depot.store, outlets: outlets)
    }

    func poll() async throws(CommandFailure) -> (report: PollReport, new: [JournalEntry]) {
        taken.entries.withLock { $0 = [] }
        let options: PollOptions
        do {
            options = try await depot.pollOptions(dialect: nil)
        } catch {
            throw error as? CommandFailure ?? CommandFailure(.failed, "\(error)")
        }
        let report = await driver.poll(options, for: party)
        depot.desk().afterPoll(report)
        if let failure = report.commandFailure { throw failure }
        return (report, taken.entries.withLock { $0 })
    }

    func day() throws(CommandFailure) -> [String] {
        do {
            let state = try StoreProvider.explained { try depot.desk().state() }
            return [
                PollText.day(state), state.lastDrinkAge.map { "Last drink: \($0)." } ?? "Nothing was drunk today yet.",
            ]
        } catch {
            throw error as? CommandFailure ?? CommandFailure(.failed, "\(error)")
        }
    }

    func close() async { await driver.close() }
}
