import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import Emulator

/// The emulated bottle of the demo on an in-memory link.
final class DemoBottle: Sendable {
    let origin: String
    let central: any CentralLink
    var address: String { identity.address.description }
    private let identity: BottleIdentity
    private let link: any PeripheralLink
    private let driver: PeripheralDriver

    /// An emulated bottle with the same identity on another link, with an empty log.
    static func emptied(_ other: DemoBottle) async throws -> DemoBottle {
        try await DemoBottle(other.identity, records: [], origin: other.origin)
    }

    /// - Parameter capture: the capture file; `nil` for a shipped capture, or without one for drinks of this morning.
    convenience init(capture: String?) async throws {
        let file = capture ?? Self.shippedCapture()
        let origin: String
        var records: [[UInt8]] = []
        var model: BottleModel?
        if let file {
            do {
                var fill = try CaptureFill(files: [file])
                fill.restamp(newestTo: HostClock.localTime())
                (records, model) = (fill.records, fill.model)
            } catch {
                throw CommandFailure(
                    .badInput, "invalid --capture: \(error)",
                    advice: "Name another capture with --capture, or omit it.")
            }
            origin = "filled from \((file as NSString).lastPathComponent) (shifted so that its last drink is now)"
        } else {
            records = Self.morning()
            origin = "filled with drinks of this morning (no shipped capture was found)"
        }
        try await self.init(BottleIdentity(model: model ?? .boost), records: records, origin: origin)
    }

    private init(_ identity: BottleIdentity, records: [[UInt8]], origin: String) async throws {
        (self.identity, self.origin) = (identity, origin)
        let machine = VirtualBottleMachine(
            identity, flash: BottleFlash(records: records, capacity: 500), hostTime: HostClock.localTime(),
            at: MonotonicClock.system.now())
        let pair = MemoryLink.pair(name: "demo")
        (central, link) = (pair.central, pair.peripheral)
        driver = PeripheralDriver(machine, on: pair.peripheral)
        do {
            try await driver.open()
        } catch {
            throw CommandFailure(.failed, asSentence(error.description))
        }
        Task { [driver] in await driver.run() }
    }

    /// Serves `waterh-emulator control` for this bottle.
    func listen(at path: String) throws(CommandFailure) -> ControlServer {
        let driver = driver
        do throws(LinkError) {
            return try ControlServer(path: path) { await driver.control($0) }
        } catch {
            throw CommandFailure(
                .failed, asSentence(error.description), advice: "Name another path with --control unix:PATH.")
        }
    }

    /// Adds a drink to the bottle at a time of its clock.
    func drink(ml: Int, at clock: BottleClock) async {
        _ = await driver.control(.clock(clock))
        _ = await driver.control(.sip(ml: ml))
    }

    func close() async { await link.close() }

    /// A shipped capture of a Boost: below the working directory, near the program, or in the package.
    private static func shippedCapture() -> String? {
        var folders = [FileManager.default.currentDirectoryPath]
        var directory = URL(fileURLWithPath: CommandLine.arguments.first ?? "").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        if let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            directory = URL(fileURLWithPath: program).deletingLastPathComponent()
        }
        while directory.path != "/" {
            folders.append(directory.path)
            directory.deleteLastPathComponent()
        }
        for captures in folders.flatMap({ [$0 + "/captures", $0 + "/share/waterh/captures"] }) {
            let names = ((try? FileManager.default.contentsOfDirectory(atPath: captures)) ?? []).sorted()
            let fits = names.filter {
                $0.lowercased().hasPrefix("boost")
                    && ($0.hasSuffix(".btsnoop") || $0.hasSuffix(".hex") || $0.hasSuffix(".txt"))
            }
            if let name = fits.first(where: { $0.contains("two") || $0.contains("days") }) ?? fits.first {
                return captures + "/" + name
            }
        }
        return nil
    }

    /// Records of six drinks in the last hours. The newest is 15 min old.
    private static func morning() -> [[UInt8]] {
        let now = HostClock.localTime()
        return [(225, 180), (170, 120), (120, 250), (75, 90), (40, 210), (15, 60)].map { minutes, ml in
            let clock = LocalTime(milliseconds: now.milliseconds - Int64(minutes) * 60_000).clock
            return DrinkRecord(clock: clock, amountMl: UInt16(ml), sensor: (1, 97)).raw
        }
    }
}
