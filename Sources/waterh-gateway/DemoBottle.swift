import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import Emulator
import TrackerCore

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

    /// - Parameter capture: the capture file; `nil` for a shipped capture.
    convenience init(capture: String?) async throws {
        guard let file = capture ?? Self.shippedCapture() else {
            throw CommandFailure(.failed, "no shipped capture was found", advice: "Name a capture with --capture.")
        }
        var fill: CapturedRecords
        do {
            fill = try CapturedRecords(files: [file])
        } catch {
            throw CommandFailure(
                .badInput, "invalid --capture: \(error)", advice: "Name another capture with --capture, or omit it.")
        }
        fill.shiftDates(newestTo: HostClock.localTime())
        let name = (file as NSString).lastPathComponent
        try await self.init(
            BottleIdentity(model: fill.model ?? .boost), records: fill.records,
            origin: "filled from \(name) (shifted so that its last drink is now)")
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

    /// The shipped capture: below the working directory, near the program, or in the package.
    private static func shippedCapture() -> String? {
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var directory = URL(fileURLWithPath: program ?? CommandLine.arguments[0])
        var folders = [FileManager.default.currentDirectoryPath]
        while directory.path != "/" {
            directory.deleteLastPathComponent()
            folders.append(directory.path)
        }
        return folders.flatMap { ["\($0)/captures", "\($0)/share/waterh/captures"] }.map {
            "\($0)/boost_two-days.btsnoop"
        }.first { FileManager.default.fileExists(atPath: $0) }
    }
}
