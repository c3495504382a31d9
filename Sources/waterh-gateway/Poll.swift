import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Gateway
import Store
import TrackerCore
import TrackerService

struct Poll: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "poll", abstract: "Poll the bottle once")

    @OptionGroup var link: LinkOptions
    @OptionGroup var storeOptions: StoreOptions

    @Flag(help: "Acknowledge nothing: the bottle keeps its log")
    var keep = false

    @Flag(inversion: .prefixedNo, help: "Set the bottle's clock if it is more than 120 s off")
    var setClock = true

    @Flag(help: "Trust this computer's clock: date and acknowledge records by it, and set the bottle's clock")
    var trustClock = false

    @Flag(help: "Print one JSON object")
    var json = false

    func run() async throws {
        let (file, store) = try storeOptions.location.load()
        let link = link.filled(from: file)
        let hasNeighbours = try link.name.hasNeighbours
        let needsAdoption = hasNeighbours && Adoption.adoptedBottles(store).isEmpty
        let isNamed = link.selectedBottle != nil || !file.bottles.isEmpty
        let isUnadopted = needsAdoption && !isNamed
        guard !isUnadopted || TextOutput.isInteractive && !json else { throw Adoption.missing(link: self.link.link) }
        let driver = GatewayDriver(link: try link.open(), clock: .system(wall: { Machine.now() }))
        let provider = try StoreProvider(store, zone: storeOptions.namedZone(file))
        if isUnadopted {
            do { try await Adoption.chooseBottle(driver, provider) } catch {
                await driver.close()
                throw error
            }
        } else if needsAdoption, TextOutput.isInteractive, !json {
            try provider.tracker().choose(try await Adoption.choice())
        }
        var options = try await provider.pollOptions(dialect: storeOptions.dialect ?? file.dialect)
        options.select(link.selectedBottle, file)
        options.allowPowerCycle = link.allowPowerCycle
        options.isAcknowledgementDisabled = keep || file.keep == true
        if !setClock { options.correctClockBeyond = nil }
        if trustClock || file.trustClock == true { options.isClockSynchronised = true }
        // Without `--bottle`, the poll reads an adopted bottle or one from the configuration. Both belong to the store.
        let isOwnBottle = self.link.selectedBottle == nil || options.selectsOwnBottle
        if case .capture = try link.name {
            options.markAsReplay()
        } else if options.ownBottles.isEmpty || !options.selectsOwnBottle {
            options.bottlesOfOtherServices = Adoption.bottlesOfOtherServices(than: store.path)
        }

        let printer = PollProgressPrinter(verbose: link.verbose)
        let (report, journaled) = try await Interruptible.run { [options] in
            await provider.poll(options, with: driver, show: { printer.show($0) }, progress: { printer.show($0) })
        }
        await driver.close()
        printer.clear()
        // A capture or an unknown name says nothing about the connection to the store's bottles.
        provider.tracker().afterPoll(report, isLive: !options.isReplay && (isOwnBottle || report.failure == nil))
        let state = try provider.tracker().state()
        if json {
            TextOutput.standard.line(try TrackerAPI.json(PollJSON(report: report, state: state)))
        } else {
            let new = journaled.filter(\.outcome.isNew).map(\.entry)
            for line in PollText.lines(report, entries: new, state: report.bottle == nil ? nil : state) {
                TextOutput.standard.line(line)
            }
            if let line = PollText.adoption(report) { TextOutput.standard.line(Diagnostics.withStore(line)) }
        }
        if let failure = report.commandFailure(besideServiceOf: provider.store.path) { throw failure }
    }
}

/// Runs an operation that SIGINT or SIGTERM cancels.
enum Interruptible {
    static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await stoppable(body).result.get()
    }

    /// Runs `body` and cancels it at a stop signal. Returns its result, and the exit code of the first signal or `nil`.
    static func stoppable<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async -> (
        result: Result<Value, any Error>, stopped: ExitStatus?
    ) {
        let work = Task { try await body() }
        let signals = StopSignals.stream(StopSignals.interrupting)
        let canceller = Task {
            var first: ExitStatus?
            for await signal in signals {
                first = first ?? StopSignals.status(for: signal)
                work.cancel()
            }
            return first
        }
        let result = await work.result
        canceller.cancel()
        return (result, await canceller.value)
    }
}
