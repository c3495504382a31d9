import DBusSupport
import Foundation
import Support
import Testing

/// `scan` and `doctor` over a fake bluetoothd.
@Suite struct AdoptedBottleTests {
    private static let (own, other, hidden) = ("A4:C1:38:01:02:03", "A4:C1:38:09:09:09", "5A:C1:38:0A:0B:0C")

    /// Runs the gateway on the bus of a bluetoothd with these devices. With `owns`, the store has adopted the bottle
    /// `own`.
    private func gateway(_ arguments: [String], devices: [String], owns: Bool = true) async throws -> Program.Result {
        let fake = try await FakeBluetoothd()
        for address in devices {
            await fake.addDevice(
                address, name: "WaterH-Boost-24oz", addressType: address == Self.hidden ? "random" : "public")
        }
        let folder = try TemporaryFolder()
        let environment = [
            "DBUS_SYSTEM_BUS_ADDRESS": fake.bus.address, "HOME": folder.path, "XDG_CONFIG_HOME": folder.file("config"),
            "WATERH_STORE": folder.file("w.sqlite"), "WATERH_LINK": "", "WATERH_BOTTLE": "",
        ]
        let program = Program("waterh-gateway")
        if owns { #expect(try await program.run(["adopt", Self.own], environment: environment).exitCode == 0) }
        let result = try await program.run(arguments, environment: environment)
        await fake.stop()
        return result
    }

    @Test func `scan marks bottles of the store`() async throws {
        let result = try await gateway(["scan", "--seconds", "2"], devices: [Self.own, Self.other, Self.hidden])
        #expect(result.exitCode == 0, "\(result.error)")
        func line(_ address: String) -> Substring { result.lines.first { $0.contains(address) } ?? "" }
        #expect(line(Self.own).hasSuffix("bottle, this store's own"), "\(result.output)")
        #expect(
            line(Self.other).hasSuffix("bottle, not adopted: waterh-gateway adopt \(Self.other)"), "\(result.output)")
        #expect(line(Self.hidden).contains("private address"), "\(result.output)")
    }

    @Test func `scan without a store marks no bottle`() async throws {
        let result = try await gateway(["scan", "--seconds", "1"], devices: [Self.other], owns: false)
        #expect(result.lines.first?.hasSuffix("  bottle") == true, "\(result.output)")
    }

    @Test func `scan --json marks bottles of the store`() async throws {
        let result = try await gateway(
            ["scan", "--seconds", "2", "--json"], devices: [Self.own, Self.other, Self.hidden])
        let found = try result.lines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        func object(_ address: String) -> [String: Any]? { found.last { $0["address"] as? String == address } }
        #expect(object(Self.own)?["own"] as? Bool == true && object(Self.own)?["privateAddress"] as? Bool == false)
        #expect(object(Self.other)?["own"] as? Bool == false)
        #expect(
            object(Self.hidden)?["own"] is NSNull && object(Self.hidden)?["privateAddress"] as? Bool == true,
            "\(result.output)")
    }

    @Test(arguments: [([own], true), ([other], false), ([other, own], true)])
    func `doctor reports the owner of a bottle`(_ devices: [String], _ isOwn: Bool) async throws {
        let result = try await gateway(["doctor", "--link", "bluez:hci0"], devices: devices)
        let line = result.lines.first { $0.contains("link bluez") && $0.contains("is in range") } ?? ""
        #expect(
            line.contains(
                isOwn ? "this store's own bottle is in range" : "a bottle that is not this store's is in range"),
            "\(result.output)\(result.error)")
        #expect(result.output.contains("If it is yours: waterh-gateway adopt \(Self.other)") == !isOwn)
        #expect(result.output.contains("bottles: \(Self.own)"))
    }
}
