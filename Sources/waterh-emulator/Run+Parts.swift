import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Replay
import Emulator

// The parts that `run` puts together, and what it says when one does not fit.
extension Run {
    /// Lines about what happens, on standard error.
    var log: @Sendable (String) -> Void {
        let isQuiet = quiet
        return { line in if !isQuiet { Diagnostics.line(line) } }
    }

    /// Who the bottle is and what it remembers. A store that holds something wins over captures: they filled it when it
    /// was new.
    func bottle(_ store: FlashStore?, capacity: Int, _ log: (String) -> Void) throws -> (BottleIdentity, BottleFlash) {
        var fill: CaptureFill?
        if !capture.isEmpty { fill = try Self.failing { try CaptureFill(files: capture, wanted: address) } }
        for remark in fill?.remarks ?? [] { log(remark) }
        for remark in fill?.leftOut ?? [] { log("\(remark); name it with --address to take them instead") }
        let identity = BottleIdentity(
            profile: profile, model: model ?? fill?.model ?? .boost, name: name, address: address, dialect: dialect)
        if let stored = try store.flatMap({ store in try Self.failing { try store.load() } }) {
            if fill != nil {
                log("\(store?.path ?? "the store") remembers its log: the captures fill only a new bottle")
            }
            return (identity, stored)
        }
        if restamp == .today { fill?.restamp(newestTo: HostClock.localTime(), dialect: dialect) }
        let flash = BottleFlash(records: fill?.records ?? [], capacity: capacity)
        if flash.overwritten > 0 {
            log("the log holds \(capacity) records: the \(flash.overwritten) oldest of the captures are left out")
        }
        if let store {
            do {
                try store.save(flash)
            } catch {
                throw CommandFailure(
                    .failed, "\(error).", advice: "Name a file in a directory that can be written with --store.")
            }
        }
        return (identity, flash)
    }

    /// What it says is that the recording ends: that is told with --quiet, too.
    func makeRecorder(_ path: String, _ identity: BottleIdentity) throws -> LinkRecorder {
        let now = MonotonicClock.system.now()
        let epoch = HostClock.sinceEpoch() - .nanoseconds(now.nanoseconds)
        return try Self.failing {
            try LinkRecorder(path: path, peer: identity.address, epoch: epoch, log: { Diagnostics.warning($0) })
        }
    }

    /// Whether centrals see an address of the bottle's.
    var hasRadio: Bool {
        switch link {
        case .bluez, .l2cap, .hci, .esphome: true
        case .unix, .stream, .capture: false
        }
    }

    func peripheral(_ instruments: LinkInstruments) throws -> any PeripheralLink {
        try Self.failing { try LinkFactory.peripheral(link, notifications: notifications, instruments: instruments) }
    }

    /// Listens for `control`. At the place by default several emulators may meet: the first one has it.
    func listen(_ driver: BottleDriver, _ log: (String) -> Void) throws -> ControlServer? {
        do {
            return try ControlServer(path: control?.path ?? Self.defaultControlPath) { await driver.control($0) }
        } catch {
            guard control == nil else {
                throw CommandFailure(
                    .failed, "The control socket is not to be had: \(error).",
                    advice: "Name another one with --control unix:PATH.")
            }
            log("no control socket: \(error); name another one with --control unix:PATH")
            return nil
        }
    }

    /// `ready link=… profile=… model=… name=… records=…`, for people and scripts.
    func ready(_ identity: BottleIdentity, records: Int) -> String {
        """
        ready link=\(link) profile=\(identity.profile.rawValue) model=\(identity.model.rawValue) \
        name=\(identity.name) records=\(records)
        """
    }

    /// Says in this command's terms what went wrong below.
    static func failing<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            throw explain(error)
        }
    }

    static func explain(_ error: any Error) -> any Error {
        var sentence = String(describing: error)
        if !sentence.hasSuffix(".") { sentence += "." }
        return switch error {
        case let error as LinkError:
            CommandFailure(
                ExitReason.absent.status, sentence,
                advice: [.poweredOff, .permissionDenied, .serviceLost].contains(error.code)
                    ? LinkAdvice(linkName: "bluez", hasRadio: true, by: .emulator).about(error.code)
                    : "Without an adapter use --link unix:PATH; waterh-gateway doctor says what is missing.")
        case let error as FlashStore.Failure: CommandFailure(error.exitReason.status, sentence)
        case is CommandFailure: error
        default: CommandFailure(ExitReason.damaged.status, sentence)
        }
    }
}
