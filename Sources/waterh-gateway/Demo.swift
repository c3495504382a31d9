import ArgumentParser
import Bluetooth
import CommandSupport
import Foundation
import Gateway
import Store
import TrackerCore
import TrackerService

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Run an emulated bottle and a gateway",
        discussion: """
            Needs no root, no Bluetooth and no configuration. Writes only to a temporary directory, which it removes. \
            Without --once it runs until Ctrl-C: its page shows days of three minutes each. waterh-emulator control \
            controls the bottle.
            """)

    @Flag(help: "Poll twice, show the day, and exit.")
    var once = false

    @Option(
        help: ArgumentHelp("Capture whose drinks fill the bottle (default: one of the package)", valueName: "file"),
        completion: .file())
    var capture: String?

    @Option(help: ArgumentHelp("Control socket (default: that of waterh-emulator control)", valueName: "unix:PATH"))
    var control: ControlPath?

    @Option(
        help: ArgumentHelp(
            "Port of the page on 127.0.0.1, 0 for a free one (default: 8077, or a free one)", valueName: "port"))
    var port: UInt16?

    @Option(
        help: ArgumentHelp(
            "Speed of the clock (1–3600) (default: 480)", valueName: "times"))
    var speed: Double?

    func validate() throws {
        if let speed, !(1...3600).contains(speed) { throw ValidationError("invalid --speed \(speed): expected 1–3600") }
        guard !once || port == nil else { throw ValidationError("--port cannot be used with --once") }
    }

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("waterh-demo-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .failed, "creating a temporary directory failed: \(FileErrorText.text(error))",
                advice: "Set TMPDIR to a writable directory.")
        }
        let store = StoreLocation(path: folder.appendingPathComponent("waterh.sqlite").path)
        let bottle = try await DemoBottle(capture: capture)
        let (outcome, stopped) = await Interruptible.stoppable { [self] in
            try await show(bottle, store)
            guard !once else { return }
            let service = DemoService(
                bottle: bottle, store: store, port: port, speed: speed ?? 480, control: control?.path)
            try await service.run()
        }
        await bottle.close()
        try outcome.get()
        if let stopped { throw ExitCode(stopped.rawValue) }
    }

    /// Runs two polls: the second one finds nothing new. Closes the store at the end.
    private func show(_ bottle: DemoBottle, _ location: StoreLocation) async throws {
        let provider = try StoreProvider(location, zone: nil)
        let driver = GatewayDriver(link: bottle.central, clock: .system(wall: { Machine.now() }))
        let out = TextOutput.standard
        func poll() async throws -> [String] {
            let (report, journaled) = await provider.poll(
                try await provider.pollOptions(dialect: nil), with: driver,
                show: { if $0.severity == .warning { Diagnostics.warning(PollAdvice.text($0)) } })
            provider.tracker().afterPoll(report)
            if let failure = report.commandFailure() { throw failure }
            return PollText.lines(report, entries: journaled.filter(\.outcome.isNew).map(\.entry), state: nil)
        }
        out.line("An emulated bottle, \(bottle.origin).")
        out.line("First poll:")
        for line in try await poll() { out.line("  " + line) }
        out.line("Second poll:")
        for line in try await poll().dropFirst() { out.line("  " + line) }
        let state = try provider.tracker().state()
        out.line("The day:")
        out.line("  " + PollText.day(state))
        out.line("  " + (state.lastDrinkAge.map { "Last drink: \($0)." } ?? "Nothing was drunk today yet."))
        out.flush()
    }
}
