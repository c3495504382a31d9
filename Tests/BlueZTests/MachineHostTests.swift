import Bluetooth
import Foundation
import BlueZ
import Support
import Testing

/// Adapters, the monitor channel and the raw link on a real kernel. Runs in the test VM only, without bluetoothd
/// (`hardware/machine/tests`).
@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment["BENCH_MACHINE"] != nil,
        "needs two adapters: runs inside hardware/bench vm"), .serialized, .timeLimit(.minutes(5)))
struct MachineHostTests {
    @Test func `adapters are found by name and by address`() throws {
        let all = try HostAdapter.all()
        #expect(all.map(\.name) == ["hci0", "hci1"])
        for adapter in all {
            #expect(try HostAdapter(adapter.name).address == adapter.address)
            #expect(try HostAdapter(adapter.address.description.lowercased()).index == adapter.index)
        }
        #expect { try HostAdapter("hci9") } throws: {
            ($0 as? LinkError)?.code == .noAdapter && "\($0)".contains("hci0 (")
        }
    }

    @Test func `the HCI monitor receives the commands of adapters`() async throws {
        let monitor = try HCIMonitor()
        let adapter = try HostAdapter("hci1")
        try adapter.switchOn()
        #expect(try HostAdapter("hci1").isUp)
        try adapter.switchOn()
        let link = ATTPeripheralLink(try L2CAPListener("hci1"))
        try await link.open(
            GATTApplication(
                name: "WaterH-Host-Test", advertisedServices: [0xFF00],
                services: [LocalService(uuid: 0xFF00, characteristics: [])]))
        let address = await link.ownAddress()
        #expect(address == adapter.address)
        // LE Set Advertising Enable, on, of adapter 1: 0A 20 01 01.
        let isReceived = await within(20) {
            for try await packet in monitor.packets
            where packet.adapter == 1 && packet.opcode == 2 && packet.bytes == [0x0A, 0x20, 0x01, 0x01] { return true }
            return false
        }
        #expect(isReceived == true)
        await link.close()
        monitor.close()
    }

    @Test func `an L2CAP link carries a session`() async throws {
        for name in ["hci0", "hci1"] { try HostAdapter(name).switchOn() }
        let application = GATTApplication(
            name: "WaterH-Host-Test",
            services: [
                LocalService(
                    uuid: 0xFFE0,
                    characteristics: [
                        LocalCharacteristic(uuid: 0x2A25, properties: .read, constant: Array("A4C138".utf8))
                    ])
            ])
        let peripheral = ATTPeripheralLink(try L2CAPListener("hci1"))
        try await peripheral.open(application)
        let drained = Task { for await _ in peripheral.events {} }
        let central = ATTCentralLink(try L2CAPDialer(HostAdapter("hci1").address.description))
        central.perform(.connect(PeerID(try HostAdapter("hci1").address.description), limit: .seconds(30)))
        let value = await within(60) { () -> [UInt8]? in
            for await event in central.events {
                switch event {
                case .connected: central.perform(.discover)
                case .discovered(let services):
                    guard let handle = services.flatMap(\.characteristics).first(where: { $0.uuid == 0x2A25 })?.handle
                    else { return nil }
                    central.perform(.read(handle: handle))
                case .read(_, let value): return value
                case .connectFailed, .disconnected, .discoveryFailed, .readFailed: return nil
                default: break
                }
            }
            return nil
        }
        #expect(value == .some(Array("A4C138".utf8)))
        await central.close()
        await peripheral.close()
        await drained.value
    }

    /// The result, or `nil` after `limit` seconds.
    private func within<Answer: Sendable>(_ limit: Double, _ body: @escaping @Sendable () async throws -> Answer?) async
        -> Answer?
    {
        await withTaskGroup(of: Answer?.self) { group in
            group.addTask { (try? await body()) ?? nil }
            group.addTask {
                try? await Task.sleep(for: .seconds(limit))
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}

@Suite(.enabled(if: !FileManager.default.fileExists(atPath: "/sys/class/bluetooth"), "this machine has Bluetooth"))
struct NoBluetoothTests {
    @Test func `each HCI interface reports a missing permission`() {
        let interfaces: [(String, () throws -> Void)] = [
            ("adapters", { _ = try HostAdapter.all() }), ("monitor", { _ = try HCIMonitor() }),
            ("peripheral", { _ = try L2CAPListener("hci0") }),
            ("dial", { _ = try L2CAPDialer("A4:C1:38:01:02:03").dial(PeerID("A4:C1:38:01:02:03")) }),
        ]
        for (name, open) in interfaces {
            #expect("\(name)") { try open() } throws: {
                ($0 as? LinkError)?.code == .noAdapter && "\($0)".contains("no Bluetooth")
            }
        }
    }
}
