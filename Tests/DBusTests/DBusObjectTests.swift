import DBus
import DBusSupport
import Foundation
import Glibc
import Support
import Testing

/// Exported objects seen by busctl (sd-bus) and gdbus (GLib), which do not use libdbus.
@Suite struct DBusObjectTests {
    let bus: PrivateBus
    let server: DBusConnection

    init() async throws {
        bus = try await PrivateBus()
        server = try await bus.connect()
        _ = try await server.requestName("test.Service")
        await server.export("/test", isManager: true)
        let shape = DBusInterface(
            "test.Cup",
            methods: [
                DBusMethod("Fill", input: [.init("ml", "q"), .init("options", "a{sv}")], output: [.init("level", "q")])
                {
                    .values([.uint16(UInt16(($0.arguments[0].integer ?? 0) + 1))])
                }
            ],
            properties: [
                "Level": .uint16(12),
                "Name": .string("cup"), "Value": .bytes([1, 2, 3]),
            ])
        await server.export("/test/cup0", [shape])
    }

    private func property(_ name: String) async throws -> String {
        try await bus.run("busctl", ["get-property", "test.Service", "/test/cup0", "test.Cup", name]).output
    }

    @Test func `busctl lists the object tree`() async throws {
        let tree = try await bus.run("busctl", ["tree", "--list", "test.Service"])
        #expect(tree.lines.map(String.init) == ["/", "/test", "/test/cup0"])
        let shape = try await bus.run("busctl", ["introspect", "test.Service", "/test/cup0", "test.Cup"])
        let rows = shape.lines.dropFirst().map { $0.split(separator: " ").prefix(4).joined(separator: " ") }
        #expect(
            rows == [
                ".Fill method qa{sv} q", ".Level property q 12", ".Name property s \"cup\"", ".Value property ay 3",
            ])
        await server.close()
    }

    @Test func `busctl calls methods and reads properties`() async throws {
        #expect(
            try await bus.run(
                "busctl",
                ["call", "test.Service", "/test/cup0", "test.Cup", "Fill", "qa{sv}", "200", "1", "offset", "q", "3"]
            ).output == "q 201\n")
        #expect(try await property("Value") == "ay 3 1 2 3\n")
        let readOnly = try await bus.run(
            "busctl", ["set-property", "test.Service", "/test/cup0", "test.Cup", "Level", "q", "1"])
        #expect(readOnly.error.contains("cannot be set"))
        await server.close()
    }

    @Test func `gdbus reads managed objects`() async throws {
        let objects = try await bus.run(
            "gdbus",
            [
                "call", "--address", bus.address, "--dest", "test.Service", "--object-path", "/test", "--method",
                "org.freedesktop.DBus.ObjectManager.GetManagedObjects",
            ])
        #expect(
            objects.output
                == """
                ({objectpath '/test/cup0': {'test.Cup': {'Level': <uint16 12>, 'Name': <'cup'>, 'Value': <[byte \
                0x01, 0x02, 0x03]>}}},)\n
                """
        )
        await server.close()
    }

    @Test func `changes emit signals`() async throws {
        let client = try await bus.connect()
        let received = Collected<DBusSignal>()
        try await client.subscribe(DBusMatch(sender: "test.Service")) { received.add($0) }
        await server.setProperty("/test/cup0", "test.Cup", "Level", .uint16(9))
        await server.export("/test/cup1", [DBusInterface("test.Cup", properties: ["Level": .uint16(1)])])
        let signals = await received.wait(for: 2)
        #expect(signals.map(\.member) == ["PropertiesChanged", "InterfacesAdded"])
        #expect(signals[0].arguments[1].dictionary == ["Level": .uint16(9)])
        #expect(signals[1].arguments.first == .objectPath("/test/cup1"))
        await client.close()
        await server.close()
    }

    @Test func `a handler can change the object tree`() async throws {
        let server = server
        await server.export(
            "/test/button",
            [
                DBusInterface(
                    "test.Button",
                    methods: [
                        DBusMethod("Press") { call in
                            server.assumeIsolated {
                                $0.setProperty("/test/cup0", "test.Cup", "Level", .uint16(77))
                                $0.export(call.path)
                            }
                            return .done
                        }
                    ])
            ])
        #expect(
            try await bus.run("busctl", ["call", "test.Service", "/test/button", "test.Button", "Press"]).exitCode == 0)
        #expect(try await property("Level") == "q 77\n")
        #expect(
            try await bus.run("busctl", ["call", "test.Service", "/test/button", "test.Button", "Press"]).exitCode != 0)
        await server.close()
    }

    @Test func `the number of unanswered calls is limited`() async throws {
        await server.export("/test/mute", [DBusInterface("test.Mute", methods: [DBusMethod("Ask") { _ in .deferred }])])
        let client = try await bus.connect()
        let failures = Collected<DBusFailure>()
        for _ in 0..<1100 {
            await client.call(DBusCall("test.Service", "/test/mute", "test.Mute", "Ask")) {
                if case .failure(let failure) = $0 { failures.add(failure) }
            }
        }
        let refused = await failures.wait(for: 76)
        #expect(refused.count == 76 && refused.allSatisfy { $0.name == DBusFailure.limitsExceeded })
        await client.close()
        await server.close()
    }

    @Test func `malformed messages do not reach handlers`() async throws {
        let program = try #require(Program(system: "python3"), "this test needs python3")
        let path = bus.address.replacingOccurrences(of: "unix:path=", with: "")
        for hostile in [
            "b'l\\x01\\x00\\x01\\xff\\xff\\xff\\x7f' + b'A' * 64", "b'\\x00' * 4096",
            "b'l\\x01\\x00\\x01' + b'\\xff' * 5000",
        ] {
            _ = try await program.run([
                "-c",
                """
                import os, socket
                s = socket.socket(socket.AF_UNIX); s.connect('\(path)'); s.settimeout(5)
                s.sendall(b'\\0AUTH EXTERNAL ' + str(os.getuid()).encode().hex().encode() + b'\\r\\n'); s.recv(100)
                s.sendall(b'BEGIN\\r\\n' + \(hostile))
                try: s.recv(100)
                except OSError: pass
                """,
            ])
        }
        #expect(try await property("Level") == "q 12\n")
        await server.close()
    }

    @Test(arguments: [
        ["/test/cup0", "test.Cup", "Fill"], ["/test/cup0", "test.Cup", "Fill", "s", "x"],
        ["/test/cup0", "org.freedesktop.DBus.Properties", "Get"],
        ["/test/cup0", "org.freedesktop.DBus.Properties", "Get", "ii", "1", "2"],
        ["/test/cup0", "org.freedesktop.DBus.Properties", "Set", "ssv", "test.Cup", "Name", "i", "4"],
        ["/test/cup0", "org.freedesktop.DBus.Properties", "Set", "sss", "test.Cup", "Name", "x"],
        ["/test/cup0", "org.freedesktop.DBus.Properties", "Nonsense", "s", "test.Cup"],
        ["/test/cup0", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"], ["/", "test.Cup", "Fill"],
        ["/x", "org.freedesktop.DBus.Introspectable", "Introspect"],
    ])
    func `invalid calls return errors with messages`(_ call: [String]) async throws {
        let answer = try await bus.run("busctl", ["call", "test.Service"] + call)
        #expect(answer.exitCode != 0 && answer.error.contains("Call failed:"))
        #expect(try await property("Level") == "q 12\n")
        await server.close()
    }
}
