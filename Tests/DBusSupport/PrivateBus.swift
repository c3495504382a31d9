package import DBus
import Foundation
package import Support

/// A private dbus-daemon without policies and services. Needs dbus-daemon (Debian: package dbus).
package final class PrivateBus: Sendable {
    package let address: String
    private let folder: TemporaryFolder
    private let daemon: RunningProgram

    package init() async throws {
        folder = try TemporaryFolder()
        let program = try Self.program("dbus-daemon", "apt-get install dbus-daemon")
        address = "unix:path=\(folder.file("bus"))"
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" \
            "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type><limit \
            name="max_replies_per_connection">50000</limit><listen>\(address)</listen><auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/><allow user="*"/>
              </policy>
            </busconfig>
            """
        try Data(configuration.utf8).write(to: folder.url("bus.conf"))
        daemon = try program.start(["--config-file=\(folder.file("bus.conf"))", "--nofork", "--print-address"])
        _ = try await daemon.line { $0.contains("unix:path") }
    }

    package func connect() async throws -> DBusConnection {
        try await DBusConnection.open(.address(address), on: QueueExecutor("test"))
    }

    package func stop() { daemon.send(signal: SIGTERM) }

    package func run(_ tool: String, _ arguments: [String]) async throws -> Program.Result {
        let program = try Self.program(tool, "apt-get install systemd libglib2.0-bin")
        let address = ["busctl": ["--address=\(address)"], "dbus-send": ["--bus=\(address)"]][tool] ?? []
        return try await program.run(address + arguments)
    }

    private static func program(_ name: String, _ remedy: String) throws -> Program {
        guard let program = Program(system: name) else {
            throw Missing(description: "this test needs \(name): \(remedy)")
        }
        return program
    }
}

private struct Missing: Error, CustomStringConvertible {
    let description: String
}

/// Collects items from handlers, and supports waiting.
package final class Collected<Item: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var held: [Item] = []
    package init() {}
    package var items: [Item] { lock.withLock { held } }
    package func add(_ item: Item) { lock.withLock { held.append(item) } }

    package func wait(for count: Int, limit: Double = 20) async -> [Item] {
        await event(within: limit) { self.items.count >= count ? self.items : nil } ?? items
    }
}
