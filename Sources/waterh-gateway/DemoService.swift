import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import Gateway
import Logging
import Store
import TrackerCore
import TrackerService
import Utilities
import WebServer

/// The demo without `--once`: the service with an emulated bottle and automatic drinks, in accelerated time.
struct DemoService: Sendable {
    private static let defaultPort: UInt16 = 8077
    /// The minutes between two drinks, and their amounts in ml.
    private static let pauses = 20.0...55.0
    private static let amounts = 60...220

    let bottle: DemoBottle
    let store: StoreLocation
    let port: UInt16?
    let speed: Double
    let control: String?

    // Swift 6.3.1 crashes in a release build when it optimises this function.
    @_optimize(none)
    func run() async throws {
        let bottle = try await DemoBottle.emptied(bottle)
        let socket = control ?? Paths.runtimeFile("waterh-emulator.sock")
        let controlServer = try bottle.listen(at: socket)
        defer { controlServer.stop() }
        let log = Logger(label: "demo") { _ in SwiftLogNoOpLogHandler() }
        let zone = try StoreProvider.choice(nil).host
        if speed > 1 { Machine.accelerate(at: speed, from: Self.nextMorning(Machine.now(), zone)) }
        // Use an empty configuration next to the store.
        let configuration = store.path + ".toml"
        try Data().write(to: URL(fileURLWithPath: configuration))
        let plan = try ServicePlan(
            LinkOptions.parse(["--link", "unix:\(store.path).demo", "--bottle", bottle.address]),
            StoreOptions.parse(["--store", store.path, "--config", configuration]), keep: false, listen: "off")
        let host = try ServiceHost(plan, SystemdNotifier(), log: log, hasDesktop: false) { _ in bottle.central }
        // Skip the first-time setup, so that the page shows the day.
        _ = try await host.tracker.tracker().setUp([], notifications: "Not asked for.")
        let out = TextOutput.standard
        let server = HTTPServer(host.app, log: log)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await serve(server) {
                    out.line("The page: http://127.0.0.1:\($0)/sign-in#\(await server.administratorCode())")
                    printHints(socket, out)
                }
            }
            group.addTask { await drink(bottle, host, zone) }
            do {
                try await group.next()
            } catch is CancellationError {
            } catch {
                group.cancelAll()
                await host.close()
                throw error
            }
            group.cancelAll()
        }
        await host.close()
        await bottle.close()
    }

    private func printHints(_ socket: String, _ out: TextOutput) {
        if speed > 1 {
            out.line("Time runs \(Amounts.decimal(speed)) times as fast (--speed), and drinks are added automatically.")
        }
        let option = control == nil ? "" : " --control unix:\(socket)"
        out.line("Or try in another terminal: \(Self.emulator) control\(option) sip 120    (Ctrl-C ends)")
        out.flush()
    }

    private static var emulator: String {
        let name = "waterh-emulator"
        guard ChildProcess(name) == nil,
            let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        else { return name }
        let sibling = (executable as NSString).deletingLastPathComponent + "/" + name
        return access(sibling, X_OK) == 0 ? Escaping.shellWord(sibling) : name
    }

    private func serve(_ server: HTTPServer, _ ready: @escaping @Sendable (Int) async -> Void) async throws {
        for candidate in port.map({ [$0] }) ?? [Self.defaultPort, 0] {
            do {
                return try await server.run(on: .tcp(host: "127.0.0.1", port: Int(candidate))) {
                    if let port = $0 { await ready(port) }
                }
            } catch is CancellationError {
                return
            } catch {
                guard port == nil, candidate != 0 else {
                    throw CommandFailure(
                        .failed, "cannot serve the page at 127.0.0.1:\(candidate): \(error)",
                        advice: "Use another --port, or 0 for a free one.")
                }
            }
        }
    }

    /// Simulates a user who drinks mostly on time.
    private func drink(_ bottle: DemoBottle, _ host: ServiceHost, _ zone: Zone) async {
        while !Task.isCancelled {
            let minutes = Double.random(in: Self.pauses)
            guard (try? await Task.sleep(for: .seconds(minutes * 60 / speed))) != nil else { return }
            let wall = zone.wall(at: Machine.now())
            guard (7..<22).contains(wall.hour), let clock = BottleClock(wall) else { continue }
            await bottle.drink(ml: Int.random(in: Self.amounts), at: clock)
            await host.pollNow()
        }
    }

    /// The next 06:30 after 04:00, so that the page shows a whole day.
    private static func nextMorning(_ now: Instant, _ zone: Zone) -> Instant {
        var wall = zone.wall(at: now.advanced(seconds: 86_400 - 4 * 3600))
        (wall.hour, wall.minute, wall.second) = (6, 30, 0)
        switch zone.moments(of: wall) {
        case .once(let instant), .repeated(let instant, _), .skipped(let instant, _): return instant
        case nil: return now
        }
    }
}
