import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import Emulator

/// `waterh-emulator run`: a bottle on a link until it is stopped.
struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Be a bottle, until Ctrl-C.",
        discussion: "Tells systemd how it is, where systemd asks.")
    static var defaultControlPath: String { Paths.socket("waterh-emulator.sock") }

    @Option(
        help: ArgumentHelp("bluez, bluez:hci1, unix:PATH, stream:PATH, l2cap:hci1 or hci:HOST:PORT.", valueName: "link")
    )
    var link = LinkName.bluez(adapter: nil)

    @Option(
        help: "both, draft (exactly the founding documents' service) or retail (exactly what bottles on sale show).")
    var profile = OfferedProfiles.both

    @Option(help: "boost or vita; by default what the capture shows, else boost.")
    var model: BottleModel?

    @Option(help: "Advertised name; by default what such bottles are called.")
    var name: String?

    @Option(help: "Bluetooth address, its identity on links without a radio; by default derived from the name.")
    var address: BluetoothAddress?

    @Option(parsing: .upToNextOption, help: "Captures whose drinks fill the log.", completion: .file())
    var capture: [String] = []

    @Option(
        help:
            """
            Requests that the model does not know: model ignores them, capture answers as recorded, strict also \
            hangs up on what the captures never saw.
            """
    )
    var answers = RecordedAnswers.Mode.model

    @Option(help: "Byte 0 of records: calendar (year) or strict (1A). (default: 1A over FF02, year over FFE4)")
    var dialect: RecordDialect?

    @Option(help: "today: shift recorded times so that the last drink is now; keep: serve them as recorded.")
    var restamp = Restamp.keep

    @Option(
        help: ArgumentHelp("Keep the bottle's flash in this file over restarts.", valueName: "file"),
        completion: .file())
    var store: String?

    @Option(
        help: ArgumentHelp(
            """
            Record what passes on the link: btsnoop, or pcapng by suffix. Over bluez: the bottle's own ATT; the \
            whole air is for 'waterh-replay record'.
            """,
            valueName: "file"), completion: .file())
    var record: String?

    @Option(help: "Over bluez: offer centrals' values by socket (default) or by signals only, as older programs do.")
    var notifications: LinkFactory.NotificationWay?

    @Option(help: ArgumentHelp("A bad day; 'waterh-emulator faults' lists the words.", valueName: "plan"))
    var faults = ""

    @Option(help: "Of the faults' luck: the same seed gives the same day.")
    var seed: UInt64 = 1

    @Option(help: ArgumentHelp("Where 'waterh-emulator control' finds it.", valueName: "unix:PATH"))
    var control: ControlPath?

    @Option(
        help: ArgumentHelp(
            "Be any peripheral instead of a bottle: a document of 'waterh-replay clone'.", valueName: "file"),
        completion: .file())
    var gadget: String?

    @Option(
        help: ArgumentHelp(
            """
            What the gadget answers: once (each recorded answer in its order, then the last), loop (then from the \
            start), strict (only what was recorded, in its order), new (as once; other requests are told, and \
            answered by the file's rules).
            """,
            valueName: "mode"))
    var gadgetMode: GadgetMachine.Mode?

    @Flag(help: "Say nothing of what happens on the link.")
    var quiet = false

    @OptionGroup var speech: ServiceLogOptions

    func validate() throws {
        if case .capture = link {
            throw ValidationError("capture:FILE answers a gateway; an emulator takes its drinks with --capture FILE")
        }
        if gadget == nil, gadgetMode != nil { throw ValidationError("--gadget-mode is for a --gadget FILE") }
        if gadget != nil, let option = bottleOption {
            throw ValidationError("\(option) is a bottle's: a --gadget is what its file says")
        }
        if let name, !(1...248).contains(name.utf8.count) {
            throw ValidationError("A Bluetooth name has 1 to 248 bytes.")
        }
        if answers != .model, capture.isEmpty {
            throw ValidationError("--answers \(answers.rawValue) needs a --capture to answer from")
        }
        if notifications != nil {
            guard case .bluez = link else {
                throw ValidationError("--notifications is bluetoothd's business: only --link bluez takes it")
            }
        }
        let words: FaultWords
        do {
            words = try FaultWords(faults)
        } catch {
            throw ValidationError("\(error). The words are listed by: waterh-emulator faults")
        }
        if let refusal = words.link.flatMap({ LinkFactory.refusal(of: $0, on: link) }) {
            throw ValidationError(refusal)
        }
    }

    func run() async throws {
        speech.takeOver("waterh-emulator")
        if let gadget { return try await run(gadget) }
        let words = try FaultWords(faults)
        let log = log
        let store = try store.map { path in try Self.failing { try FlashStore(path: path) } }
        let (identity, flash) = try bottle(store, capacity: words.bottle.ring, log)
        // Not before: a pipe that nobody writes to is waited for, and whoever waits in vain can end that.
        let signals = StopSignals.stream()
        let recorder = try record.map { path in try makeRecorder(path, identity) }
        var instruments = LinkInstruments(faults: words.link, seed: seed, log: log)
        if let recorder {
            instruments.observe = { recorder.observe($0) }
            instruments.identify = { recorder.identify($0) }
        }
        let link = try peripheral(instruments)
        let recorded = try Self.failing { try RecordedAnswers(answers, captures: capture, wanted: address) }
        let machine = VirtualBottleMachine(
            identity, flash: flash, faults: words.bottle, seed: seed, answers: recorded, hasRadio: hasRadio,
            hostTime: HostClock.localTime(),
            at: MonotonicClock.system.now())
        let driver = BottleDriver(machine, on: link, save: { try store?.save($0) }, log: log)
        do {
            try await driver.open()
        } catch {
            throw Self.explain(error)
        }
        recorder?.begin()
        let control = try listen(driver, log)
        TextOutput.standard.line(ready(identity, records: flash.records.count))
        TextOutput.standard.flush()
        let supervisor = Supervisor()
        supervisor.tell("READY=1")
        let watchdog = Task { await supervisor.keepAlive { await driver.isOnTime(grace: .seconds(30)) } }

        let stopping = Task { () -> ExitStatus? in
            for await signal in signals {
                supervisor.tell("STOPPING=1")
                await link.close()
                return StopSignals.status(for: signal)
            }
            return nil
        }
        await driver.run()
        watchdog.cancel()
        control?.stop()
        stopping.cancel()
        let status = await stopping.value ?? .noLink
        recorder?.finish()
        if status != .done { throw ExitCode(status.rawValue) }
    }
}
