import ArgumentParser
package import Bluetooth
import BottleProtocol
import Captures
import CommandSupport
import Emulator
import Foundation
import Replay
import Synchronization

struct PlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Emulate the recorded bottle",
        discussion: """
            Sends the recorded response to each request. Requests that are not in the capture get the response of an \
            emulated bottle (--mode once), or a message and the end of the connection (--mode strict, with exit code 3 \
            at the end). If a capture has several bottles, select one with --bottle. Runs until Ctrl-C.
            """)

    @Argument(help: "Capture of any format", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("unix:PATH, stream:PATH, bluez, bluez:hci1, l2cap:hci1 or hci:HOST:PORT", valueName: "link")
    )
    var link: LinkName = .bluez(adapter: nil)

    @Option(help: "Speed, as a multiple of the recorded one (at least 0.001)")
    var speed: Double = 1

    @Flag(help: "Answer without delay")
    var flush = false

    @Option(help: "Response to requests that are not in the capture: once (emulated) or strict (disconnect)")
    var mode = Mode.once

    @OptionGroup var attribution: AttributionArguments

    @Option(help: ArgumentHelp("Bottle of the capture, by its address", valueName: "address"))
    var bottle: BluetoothAddress?

    enum Mode: String, CaseIterable, ExpressibleByArgument { case once, strict }

    func validate() throws {
        // The delays at a lower speed could exceed the range of a clock.
        guard speed >= 0.001, speed.isFinite else {
            throw ValidationError("invalid --speed \(speed): expected a number of at least 0.001")
        }
        if case .capture = link {
            throw ValidationError(
                "invalid --link capture:FILE: it is for a gateway; expected unix:PATH, bluez or l2cap:ADAPTER")
        }
    }

    func run() async throws {
        let script = try script()
        let signals = StopSignals.stream()
        let log: @Sendable (String) -> Void = { Diagnostics.line($0) }
        let peripheral: any PeripheralLink
        do {
            peripheral = try LinkFactory.peripheral(link, instruments: LinkInstruments(log: log))
        } catch {
            throw CommandFailure(.noLink, "\(error)", advice: advice)
        }
        let machine = VirtualBottleMachine(
            script, isStrict: mode == .strict, speed: flush ? nil : speed, hostTime: HostClock.localTime(),
            at: MonotonicClock.system.now())
        let mismatches = Mutex(0)
        let driver = PeripheralDriver(machine, on: peripheral, log: log) { line in
            mismatches.withLock { $0 += 1 }
            log("strict: \(line)")
        }
        do {
            try await driver.open()
        } catch {
            throw CommandFailure(.noLink, "\(error)", advice: advice)
        }
        TextOutput.standard.line(
            """
            ready link=\(link) profile=\(script.profile.rawValue) \
            name=\(machine.identity.name.withoutControls) exchanges=\(script.exchanges.count) \
            records=\(script.records.count)
            """
        )
        TextOutput.standard.flush()
        let stopping = Task { () -> ExitStatus? in
            for await signal in signals {
                await peripheral.close()
                return StopSignals.status(for: signal)
            }
            return nil
        }
        await driver.run()
        stopping.cancel()
        let status = await stopping.value ?? .noLink
        if mismatches.withLock({ $0 }) > 0 { throw ExitCode(ExitStatus.refused.rawValue) }
        if status != .done { throw ExitCode(status.rawValue) }
    }

    private var advice: String? {
        link.hasRadio ? "Without an adapter use --link unix:PATH." : nil
    }

    private func script() throws -> ResponseScript {
        let found: ResponseScript.Reading
        do {
            let opened = try CaptureOpener(copiesPipes: true).open(file)
            for remark in opened.remarks { Diagnostics.line("\(file): \(remark)") }
            found = try ResponseScript.read(opened.parts, handles: attribution.handles)
        } catch let error as CaptureError {
            throw CommandFailure(.badInput, "\(file): \(error)")
        } catch let error as ResponseScriptError {
            throw CommandFailure(.badInput, error.description, advice: "List the contents: waterh-replay info \(file)")
        }
        if let error = found.readingError { Diagnostics.warning("\(file): \(error); the part before it is used") }
        let wanted = bottle
        let candidates = found.scripts.filter { wanted == nil || $0.address == wanted }
        guard let script = candidates.max(by: { $0.records.count < $1.records.count }) else {
            let known = found.scripts.map { $0.address?.description ?? "a bottle without an address" }.joined(
                separator: ", ")
            throw CommandFailure(
                .noLink, "no bottle \(wanted.map(\.description) ?? "") in \(file)", advice: "Bottles: \(known).")
        }
        if candidates.count > 1 {
            Diagnostics.warning(
                """
                \(file) has \(candidates.count) bottles; emulating \
                \(script.address?.description ?? "the one without an address"), select another with --bottle
                """
            )
        }
        return script
    }
}

extension LinkName: ExpressibleByArgument {
    package init?(argument: String) { try? self.init(argument) }
    package var defaultValueDescription: String { description }
}
