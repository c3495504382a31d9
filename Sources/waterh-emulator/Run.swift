import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Emulator
import Foundation
import Replay

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run an emulated bottle",
        discussion: "Runs until it is stopped. Sends systemd its state (sd_notify).")
    static var defaultControlPath: String { Paths.runtimeFile("waterh-emulator.sock") }

    @Option(
        help: ArgumentHelp("bluez, bluez:hci1, unix:PATH, stream:PATH, l2cap:hci1 or hci:HOST:PORT", valueName: "link"))
    var link = LinkName.bluez(adapter: nil)

    @Option(help: "Services: retail (bottles on sale), draft (the original requirements), or both")
    var profile = OfferedProfiles.both

    @Option(help: "Model of the bottle (default: the model of the capture, else boost)")
    var model: BottleModel?

    @Option(help: "Advertised name (default: the usual name of the model)")
    var name: String?

    @Option(help: "Bluetooth address, the identity on links without a radio (default: derived from the name)")
    var address: BluetoothAddress?

    @Option(parsing: .upToNextOption, help: "Captures whose drinks fill the log", completion: .file())
    var capture: [String] = []

    @Option(
        help: """
            Responses to unsupported requests: model (none), capture (as recorded), strict (as recorded; disconnects \
            if a request was not recorded)
            """)
    var answers = ResponseSource.model

    @Option(help: "Byte 0 of records: calendar (year) or strict (1A) (default: 1A over FF02, year over FFE4)")
    var dialect: RecordDialect?

    @Option(help: "Recorded times; today shifts the last drink to now")
    var restamp = Restamp.keep

    @Option(
        help: ArgumentHelp("File that keeps the bottle's flash between runs", valueName: "file"), completion: .file())
    var store: String?

    @Option(
        help: ArgumentHelp(
            """
            File that records the link: btsnoop, or pcapng by its suffix. Over bluez it has the bottle's ATT only; \
            'waterh-replay record' records the adapter.
            """,
            valueName: "file"), completion: .file())
    var record: String?

    @Option(help: "How GATT values are sent over bluez (default: socket)")
    var notifications: LinkFactory.NotificationMethod?

    @Option(help: ArgumentHelp("Fault plan; see 'waterh-emulator faults'", valueName: "plan"))
    var faults = ""

    @Option(help: "Seed of the faults: the same seed gives the same faults")
    var seed: UInt64 = 1

    @Option(help: ArgumentHelp("Socket (default: waterh-emulator.sock in $XDG_RUNTIME_DIR)", valueName: "unix:PATH"))
    var control: ControlPath?

    @Option(
        name: .customLong("gadget"),
        help: ArgumentHelp("Device profile of 'waterh-replay clone', emulated instead of a bottle", valueName: "file"),
        completion: .file())
    var profilePath: String?

    @Option(
        name: .customLong("gadget-mode"),
        help: ArgumentHelp(
            """
            Responses of the device profile: once (in recorded order, then the last one again), loop (from the start \
            again), strict (only to requests in recorded order), new (as once; logs other requests)
            """,
            valueName: "mode"))
    var profileMode: ProfileMachine.Mode?

    @Flag(help: "Log nothing about the link")
    var quiet = false

    @OptionGroup var logOptions: ServiceLogOptions

    func validate() throws {
        if case .capture = link {
            throw ValidationError("invalid --link capture:FILE: fill the emulator's log with --capture FILE")
        }
        if profilePath == nil, profileMode != nil { throw ValidationError("--gadget-mode requires --gadget FILE") }
        if profilePath != nil, let option = bottleOption {
            throw ValidationError("\(option) cannot be used with --gadget")
        }
        if let name, !(1...248).contains(name.utf8.count) {
            throw ValidationError("invalid --name: expected 1–248 bytes")
        }
        if answers != .model, capture.isEmpty {
            throw ValidationError("--answers \(answers.rawValue) requires --capture")
        }
        if notifications != nil, !isOverBluetoothd { throw ValidationError("--notifications requires --link bluez") }
        let plan: FaultOptions
        do { plan = try FaultOptions(faults) } catch {
            throw ValidationError("\(error). List the faults with: waterh-emulator faults")
        }
        if let refusal = plan.link.flatMap({ LinkFactory.refusal(of: $0, on: link) }) { throw ValidationError(refusal) }
    }

    private var bottleOption: String? {
        [
            ("--capture", !capture.isEmpty), ("--model", model != nil), ("--name", name != nil),
            ("--address", address != nil), ("--store", store != nil), ("--control", control != nil),
        ].first(where: \.1)?.0
    }

    private var isOverBluetoothd: Bool { if case .bluez = link { true } else { false } }

    private var log: @Sendable (String) -> Void {
        { [quiet] line in if !quiet { Diagnostics.line(line) } }
    }

    func run() async throws {
        logOptions.redirectDiagnostics("waterh-emulator")
        if let profilePath { return try await runProfile(profilePath) }
        let plan = try FaultOptions(faults)
        let store = try store.map { path in try FlashFile(path: path) }
        let (identity, flash) = try bottle(store, capacity: plan.bottle[.ring])
        let signals = StopSignals.stream()
        let (link, recorder) = try peripheral(plan, peer: identity.address)
        let responses = try explained {
            try RecordedResponses(
                captures: answers == .model ? [] : capture, wanted: address, isStrict: answers == .strict)
        }
        let machine = VirtualBottleMachine(
            identity, flash: flash, faults: plan.bottle, seed: seed, responses: responses,
            hasRadio: self.link.hasRadio, hostTime: HostClock.localTime(), at: MonotonicClock.system.now())
        let driver = PeripheralDriver(machine, on: link, save: { try store?.save($0) }, log: log)
        try await open(driver, recorder)
        let server = try listen(driver)
        defer { server?.stop() }
        try await serve(
            driver, link, signals, recorder,
            details: """
                profile=\(identity.profile.rawValue) model=\(identity.model.rawValue) name=\(identity.name) \
                records=\(flash.records.count)
                """)
    }

    private func runProfile(_ path: String) async throws {
        let signals = StopSignals.stream()
        let plan = try FaultOptions(faults)
        guard plan.bottle == BottleFaults() else {
            throw CommandFailure(
                .wrongUse, "--faults contains faults of a bottle, which --gadget does not support",
                advice: "List the faults of the link with: waterh-emulator faults")
        }
        let full = try ProfileFile.load(path)
        let emulated = isOverBluetoothd ? full.excluding(PeripheralProfile.stackServices) : full
        let machine = ProfileMachine(emulated, mode: profileMode ?? .once, distinguishesWrites: !isOverBluetoothd)
        let (link, recorder) = try peripheral(
            plan, peer: emulated.address ?? BluetoothAddress(0xC000_0000_0001),
            isPeerRandom: emulated.addressType == .random)
        let driver = PeripheralDriver(machine, on: link, log: log) { line in
            TextOutput.standard.line(line)
            TextOutput.standard.flush()
        }
        for remark in machine.remarks { log(remark) }
        let omitted = full.services.filter { !emulated.services.contains($0) }.compactMap { $0.uuid?.description }
        if !omitted.isEmpty {
            log(
                "services omitted, because bluetoothd provides them: \(omitted.joined(separator: ", ")); handles differ"
            )
        }
        try await open(driver, recorder)
        if let recorder, let advertisement = machine.application.advertisement {
            recorder.observe(advertisement, at: MonotonicClock.system.now())
        }
        try await serve(
            driver, link, signals, recorder,
            details: """
                gadget=\(emulated.name ?? emulated.address?.description ?? "nameless") mode=\(machine.mode.rawValue) \
                services=\(emulated.services.count) characteristics=\(emulated.characteristics.count) \
                exchanges=\(emulated.exchangeCount)
                """)
    }

    private func open(_ driver: PeripheralDriver, _ recorder: LinkRecorder?) async throws {
        do { try await driver.open() } catch { throw explain(error) }
        recorder?.begin()
    }

    /// Prints the line `ready`, which shows scripts that the peripheral accepts connections, and runs until a signal.
    private func serve(
        _ driver: PeripheralDriver, _ link: any PeripheralLink, _ signals: AsyncStream<Int32>,
        _ recorder: LinkRecorder?, details: String
    ) async throws {
        TextOutput.standard.line("ready link=\(self.link) \(details)")
        TextOutput.standard.flush()
        let systemd = SystemdNotifier()
        systemd.notify("READY=1")
        let watchdog = Task { await systemd.keepAlive { await driver.isOnTime(grace: .seconds(30)) } }
        let stopping = Task { () -> ExitStatus? in
            for await signal in signals {
                systemd.notify("STOPPING=1")
                await link.close()
                return StopSignals.status(for: signal)
            }
            return nil
        }
        await driver.run()
        watchdog.cancel()
        stopping.cancel()
        let status = await stopping.value ?? .noLink
        recorder?.finish()
        if status != .done { throw ExitCode(status.rawValue) }
    }

    /// Returns the bottle and its flash. A flash file takes precedence over captures.
    private func bottle(_ store: FlashFile?, capacity: Int) throws -> (BottleIdentity, BottleFlash) {
        var fill: CapturedRecords?
        if !capture.isEmpty { fill = try explained { try CapturedRecords(files: capture, wanted: address) } }
        for remark in fill?.remarks ?? [] { log(remark) }
        for remark in fill?.otherBottleNotes ?? [] { log("\(remark); to use them: --address ADDRESS") }
        let identity = BottleIdentity(
            profile: profile, model: model ?? fill?.model ?? .boost, name: name, address: address, dialect: dialect)
        if let stored = try store?.load() {
            if fill != nil { log("\(store?.path ?? "the store") already contains a log: the captures are not used") }
            return (identity, stored)
        }
        if restamp == .today { fill?.shiftDates(newestTo: HostClock.localTime(), dialect: dialect) }
        let flash = BottleFlash(records: fill?.records ?? [], capacity: capacity)
        if flash.overwritten > 0 {
            log("the log has room for \(capacity) records: the \(flash.overwritten) oldest of the captures are omitted")
        }
        do { try store?.save(flash) } catch {
            throw CommandFailure(.failed, "\(error)", advice: "Name another file with --store.")
        }
        return (identity, flash)
    }

    private func peripheral(_ plan: FaultOptions, peer: BluetoothAddress, isPeerRandom: Bool = false) throws
        -> (any PeripheralLink, LinkRecorder?)
    {
        let recorder = try record.map { path in
            let epoch = HostClock.sinceEpoch() - .nanoseconds(MonotonicClock.system.now().nanoseconds)
            return try explained {
                try LinkRecorder(
                    path: path, peer: peer, isPeerRandom: isPeerRandom, epoch: epoch, log: { Diagnostics.warning($0) })
            }
        }
        var instruments = LinkInstruments(faults: plan.link, seed: seed, log: log)
        if let recorder {
            instruments.observe = { recorder.observe($0) }
            instruments.identify = { recorder.identify($0) }
        }
        let applied = instruments
        return (
            try explained { try LinkFactory.peripheral(link, notifications: notifications, instruments: applied) },
            recorder
        )
    }

    /// Listens on the control socket. Only the first of several emulators without `--control` gets the default socket.
    private func listen(_ driver: PeripheralDriver) throws -> ControlServer? {
        do {
            return try ControlServer(path: control?.path ?? Self.defaultControlPath) { await driver.control($0) }
        } catch {
            guard control == nil else {
                throw CommandFailure(
                    .failed, "cannot open the control socket: \(error)",
                    advice: "Name another one with --control unix:PATH.")
            }
            log("no control socket: \(error); name another one with --control unix:PATH")
            return nil
        }
    }

    private func explained<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch { throw explain(error) }
    }

    /// Adds the exit code and the advice to an error of a lower layer.
    private func explain(_ error: any Error) -> any Error {
        switch error {
        case let error as LinkError where !link.hasRadio:
            CommandFailure(.noLink, "\(error)", advice: "Name another path with --link.")
        case let error as LinkError:
            CommandFailure(
                .noLink, "\(error)",
                advice: [.poweredOff, .permissionDenied, .serviceLost].contains(error.code)
                    ? LinkAdvice(linkName: "bluez", hasRadio: true, by: .emulator).about(error.code)
                    : "Use --link unix:PATH, which needs no adapter, or see: waterh-gateway doctor")
        case let error as CaptureFileError:
            CommandFailure(.badInput, "\(error)", advice: "Name another capture with --capture.")
        case is CommandFailure: error
        default: CommandFailure(.badInput, "\(error)")
        }
    }
}
