import ArgumentParser
import Bluetooth
import CommandSupport
import Foundation
import Emulator

// `run --gadget`: any peripheral instead of a bottle.
extension Run {
    /// An option that says something of a bottle, where one was given.
    var bottleOption: String? {
        if !capture.isEmpty { return "--capture" }
        if model != nil { return "--model" }
        if name != nil { return "--name" }
        if address != nil { return "--address" }
        if store != nil { return "--store" }
        if control != nil { return "--control" }
        return nil
    }

    func run(_ path: String) async throws {
        let signals = StopSignals.stream()
        let log = log
        let words = try FaultWords(faults)
        guard words.bottle == BottleFaults() else {
            throw CommandFailure(
                .wrongUse, "The plan has faults of a bottle's own, and this is a gadget.",
                advice: "Use those of the link: waterh-emulator faults")
        }
        let (gadget, whole) = try gadget(path)
        let machine = GadgetMachine(gadget, mode: gadgetMode ?? .once, tellsWritesApart: !isOverBluetoothd)
        let peer = gadget.address ?? Self.nobody
        let recorder = try record.map { path in
            let now = MonotonicClock.system.now()
            return try Self.failing {
                try LinkRecorder(
                    path: path, peer: peer, isPeerRandom: gadget.addressType == .random,
                    epoch: HostClock.sinceEpoch() - .nanoseconds(now.nanoseconds), log: { Diagnostics.warning($0) })
            }
        }
        var instruments = LinkInstruments(faults: words.link, seed: seed, log: log)
        if let recorder {
            instruments.observe = { recorder.observe($0) }
            instruments.identify = { recorder.identify($0) }
        }
        let link = try peripheral(instruments)
        let driver = GadgetDriver(machine, on: link, log: log) { line in
            TextOutput.standard.line(line)
            TextOutput.standard.flush()
        }
        for remark in machine.remarks { log(remark) }
        if whole.services.count > gadget.services.count {
            let omitted = whole.services.filter { !gadget.services.contains($0) }.compactMap { $0.uuid?.description }
            log(
                """
                left out, because bluetoothd serves them by itself: \(omitted.joined(separator: ", ")); handles are \
                its own
                """)
        }
        do {
            try await driver.open()
        } catch {
            throw Self.explain(error)
        }
        recorder?.begin()
        if let recorder, let advertisement = machine.application.advertisement {
            recorder.observe(advertisement, at: MonotonicClock.system.now())
        }
        TextOutput.standard.line(
            """
            ready link=\(self.link) gadget=\(gadget.name ?? gadget.address?.description ?? "nameless") \
            mode=\(machine.mode.rawValue) services=\(gadget.services.count) \
            characteristics=\(gadget.characteristics.count) exchanges=\(gadget.exchangeCount)
            """
        )
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
        stopping.cancel()
        let status = await stopping.value ?? .noLink
        recorder?.finish()
        if status != .done { throw ExitCode(status.rawValue) }
    }

    /// In a recording of a gadget whose address the capture did not hold.
    private static let nobody = BluetoothAddress(0xC000_0000_0001)

    /// As the link can show it, and as the file has it.
    private func gadget(_ path: String) throws -> (shown: Gadget, whole: Gadget) {
        let whole: Gadget
        do {
            whole = try GadgetFile.load(path)
        } catch {
            throw CommandFailure(
                error.exitReason.status, "\(error).", advice: "'waterh-replay clone' makes such files.")
        }
        return (isOverBluetoothd ? whole.leavingOut(Gadget.stackServices) : whole, whole)
    }

    private var isOverBluetoothd: Bool {
        if case .bluez = link { true } else { false }
    }
}
