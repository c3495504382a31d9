import Bluetooth
import DBus
import DBusSupport
import Foundation
import Support
import Testing

@testable import BlueZ

/// Failures of bluetoothd while a bottle is advertised. `hardware/machine/suite/adapter_failures.py` runs them on the
/// real one.
@Suite struct PeripheralFailureTests {
    let daemon: FakeBluetoothd
    let link: BlueZPeripheralLink
    let events = Collected<PeripheralEvent>()
    let address = "A4:C1:38:00:00:01"

    init() async throws {
        daemon = try await FakeBluetoothd()
        link = BlueZPeripheralLink(adapter: nil, bus: .address(daemon.bus.address))
        let (link, events) = (link, events)
        Task { for await event in link.events { events.add(event) } }
        try await link.open(GATTApplication(name: "WaterH-Trouble", services: []))
        await daemon.addDevice(address, name: "phone")
    }

    private func count(_ call: String) -> Int { daemon.calls.items.count { $0.hasPrefix(call + " ") } }

    private func count(_ call: String, reaches number: Int) async -> Bool {
        await eventually { count(call) >= number }
    }

    @Test func `a failed advertisement is retried`() async throws {
        await daemon.set("Connected", .boolean(true), of: BlueZName.device, at: FakeBluetoothd.path(address))
        #expect(await count("UnregisterAdvertisement", reaches: 1))
        daemon.refuse("RegisterAdvertisement", times: 2)
        await daemon.set("Connected", .boolean(false), of: BlueZName.device, at: FakeBluetoothd.path(address))
        await daemon.set("Powered", .boolean(false))
        // Two attempts fail; the third succeeds and is reported.
        #expect(await count("RegisterAdvertisement", reaches: 1 + 2))
        await daemon.set("Powered", .boolean(true))
        #expect(await count("RegisterAdvertisement", reaches: 1 + 3))
        #expect(await eventually { events.items.last == .available }, "\(events.items)")
        let errors = events.items.compactMap { if case .unavailable(let error) = $0 { error } else { nil } }
        #expect(errors.contains { $0.code == .poweredOff }, "\(errors)")
        await link.close()
        await daemon.stop()
    }

    @Test func `a failed start restores the adapter's name`() async throws {
        await link.close()
        daemon.refuse("RegisterApplication", times: 1)
        let second = BlueZPeripheralLink(adapter: nil, bus: .address(daemon.bus.address))
        await #expect(throws: LinkError.self) { try await second.open(GATTApplication(name: "WaterH", services: [])) }
        #expect(daemon.names.items == ["WaterH-Trouble", "bench", "WaterH", "bench"])
        await daemon.stop()
    }

    /// A reset of the controller causes this.
    @Test func `an advertisement that bluetoothd dropped is registered again`() async throws {
        await daemon.set("ActiveInstances", .byte(1), of: BlueZName.advertisingManager)
        #expect(await count("RegisterAdvertisement", reaches: 1))
        await daemon.set("ActiveInstances", .byte(0), of: BlueZName.advertisingManager)
        #expect(await count("RegisterAdvertisement", reaches: 2))
        await link.close()
        await daemon.stop()
    }

    @Test func `an adapter without power does not advertise`() async throws {
        await daemon.set("Powered", .boolean(false))
        #expect(await eventually { events.items.contains { if case .unavailable = $0 { true } else { false } } })
        // A repeated request for the current state does not power the adapter on.
        link.perform(.advertise(true))
        await daemon.set("Powered", .boolean(true))
        #expect(await eventually { events.items.contains(.available) }, "\(events.items)")
        #expect(events.items.count { $0 == .available } == 1, "\(events.items)")
        await link.close()
        await daemon.stop()
    }
}

/// Connections of other programs on the same adapter, and services that bluetoothd has not resolved yet.
@Suite struct CentralFailureTests {
    let daemon: FakeBluetoothd
    let folder: TemporaryFolder
    let peer = PeerID("A4:C1:38:00:00:02")

    init() async throws {
        daemon = try await FakeBluetoothd()
        folder = try TemporaryFolder()
    }

    private func central() -> (BlueZCentralLink, Collected<CentralEvent>) {
        let link = BlueZCentralLink(
            adapter: "00:aa:01:00:00:00", bus: .address(daemon.bus.address), held: HeldConnections(folder: folder.path))
        let events = Collected<CentralEvent>()
        Task { for await event in link.events { events.add(event) } }
        return (link, events)
    }

    private func wait(_ events: Collected<CentralEvent>, _ match: @Sendable (CentralEvent) -> Bool) async -> Bool {
        await eventually { events.items.contains(where: match) }
    }

    /// A link that has found the bottle.
    private func scanned(_ name: String, isConnected: Bool = false) async -> (
        BlueZCentralLink, Collected<CentralEvent>
    ) {
        await daemon.addDevice(peer.text, name: name, isConnected: isConnected)
        let (link, events) = central()
        link.perform(.startScan)
        #expect(await wait(events) { if case .advertised = $0 { true } else { false } }, "\(events.items)")
        return (link, events)
    }

    private func connected(_ name: String, isConnected: Bool = false) async -> (
        BlueZCentralLink, Collected<CentralEvent>
    ) {
        let (link, events) = await scanned(name, isConnected: isConnected)
        link.perform(.connect(peer, limit: .seconds(10)))
        #expect(await wait(events) { if case .connected = $0 { true } else { false } }, "\(events.items)")
        return (link, events)
    }

    private func close(_ link: BlueZCentralLink) async {
        await link.close()
        await daemon.stop()
    }

    private var isRemarked: @Sendable (CentralEvent) -> Bool {
        { if case .warning(let text) = $0 { text.contains("Another program") } else { false } }
    }

    @Test func `a connection of another program is shared and kept`() async throws {
        let (link, events) = await connected("WaterH-Shared", isConnected: true)
        #expect(events.items.contains(where: isRemarked), "\(events.items)")
        link.perform(.disconnect)
        #expect(await wait(events) { $0 == .disconnected(nil) })
        link.perform(.clearCache(peer))
        #expect(
            await wait(events) {
                if case .recovered(let text) = $0 { text.contains("another program") } else { false }
            }, "\(events.items)")
        await link.close()
        #expect(
            !daemon.calls.items.contains { $0.hasPrefix("Disconnect") || $0.hasPrefix("RemoveDevice") },
            "\(daemon.calls.items)")
        await daemon.stop()
    }

    @Test func `the link ends a connection that it established`() async throws {
        let (link, events) = await connected("WaterH-Ours")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
        link.perform(.disconnect)
        #expect(await wait(events) { $0 == .disconnected(nil) })
        #expect(daemon.calls.items.contains { $0.hasPrefix("Disconnect") } && !events.items.contains(where: isRemarked))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        await close(link)
    }

    /// bluetoothd discovers the device again while it removes it, before it replies.
    @Test func `a removed device that reappears at once counts as removed`() async throws {
        let (link, events) = await scanned("WaterH-Back")
        link.perform(.clearCache(peer))
        #expect(await wait(events) { $0 == .recovered("bluetoothd removed \(self.peer)") }, "\(events.items)")
        await close(link)
    }

    /// The services arrive after the name, without another change.
    @Test func `services that bluetoothd finds later are reported`() async throws {
        let (link, events) = await scanned("WaterH-Late")
        await daemon.set(
            "UUIDs", .strings(["0000ffe0-0000-1000-8000-00805f9b34fb"]), of: BlueZName.device,
            at: FakeBluetoothd.path(peer.text))
        #expect(
            await wait(events) { if case .advertised(let found) = $0 { found.services == [0xFFE0] } else { false } },
            "\(events.items)")
        await close(link)
    }

    @Test func `a gateway does not end a connection that another running process holds`() throws {
        var (one, other) = (HeldConnections(folder: folder.path), HeldConnections(folder: folder.path))
        #expect(!one.isHeldByThisUser("A"))
        one.hold("A")
        other.hold("A")
        #expect(one.isHeldByThisUser("A") && !other.isHeldByThisUser("A"))
        other.release("A")
        #expect(one.isHeldByThisUser("A"))
        one.release("A")
        #expect(!one.isHeldByThisUser("A") && !other.isHeldByThisUser("A"))
        for hostile in ["../A", String(repeating: "A", count: 300)] {
            one.hold(hostile)
            #expect(!one.isHeldByThisUser(hostile))
        }
    }

    /// If one client sets a pattern, bluetoothd hides other devices from all clients without the empty pattern.
    @Test func `every scan sets a pattern that matches all devices`() async throws {
        let (link, _) = central()
        link.perform(.startScan)
        #expect(
            await daemon.filters.wait(for: 1).first == [
                "Transport": .string("le"), "DuplicateData": .boolean(true), "Pattern": .string(""),
            ])
        await close(link)
    }

    /// After a firmware update the services disappear and reappear one by one.
    @Test func `discovery waits for services that are resolved late`() async throws {
        let (link, events) = await connected("WaterH-Updated")
        link.perform(.discover)
        let discovered = { events.items.contains { if case .discovered = $0 { true } else { false } } ? true : nil }
        #expect(await event(within: 0.3, discovered) == nil)
        await daemon.addService(
            peer.text, "00001800-0000-1000-8000-00805f9b34fb", at: 1,
            characteristic: "00002a00-0000-1000-8000-00805f9b34fb", flags: ["read"])
        #expect(await event(within: 0.1, discovered) == nil, "the first service does not end the discovery")
        await daemon.addService(
            peer.text, "0000ffe0-0000-1000-8000-00805f9b34fb", characteristic: "0000ffe4-0000-1000-8000-00805f9b34fb",
            flags: ["notify"])
        #expect(
            await wait(events) {
                if case .discovered(let services) = $0 { services.map(\.uuid) == [0x1800, 0xFFE0] } else { false }
            }, "\(events.items)")
        await close(link)
    }
}
