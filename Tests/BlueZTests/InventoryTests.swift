import DBus
import DBusSupport
import Testing

@testable import BlueZ

/// Tests the adapters and devices that `doctor` reads from a fake bluetoothd on a private bus.
@Suite struct InventoryTests {
    @Test func `an inventory of bluetoothd lists adapters and devices`() async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        #expect(await BlueZInventory.query(bus: .address(bus.address)) == .failure(.notRunning))
        let daemon = try await bus.connect()
        #expect(try await daemon.requestName("org.bluez"))
        await daemon.export("/", isManager: true)
        await daemon.export(
            "/org/bluez/hci0",
            [
                DBusInterface(
                    "org.bluez.Adapter1",
                    properties: [
                        "Address": .string("00:AA:01:00:00:00"), "Powered": .boolean(true),
                        "Discovering": .boolean(true), "Modalias": .string("usb:v1D6Bp0246d0542"),
                        "Roles": .strings(["central", "peripheral"]),
                    ]),
                DBusInterface("org.bluez.GattManager1"),
                DBusInterface(
                    "org.bluez.LEAdvertisingManager1",
                    properties: ["ActiveInstances": .byte(1), "SupportedInstances": .byte(4)]),
            ])
        // An adapter without properties.
        await daemon.export("/org/bluez/hci1", [DBusInterface("org.bluez.Adapter1")])
        await daemon.export(
            "/org/bluez/hci0/dev_A4_C1_38_01_02_03",
            [
                DBusInterface(
                    "org.bluez.Device1",
                    properties: [
                        "Address": .string("A4:C1:38:01:02:03"), "Name": .string("WaterH"), "Connected": .boolean(true),
                        "Adapter": .objectPath("/org/bluez/hci0"), "RSSI": .int16(-60),
                    ])
            ])
        let inventory = try await BlueZInventory.query(bus: .address(bus.address)).get()
        #expect(inventory.version == "5.66")
        #expect(
            inventory.adapters == [
                .init(
                    name: "hci0", address: "00:AA:01:00:00:00", isPowered: true, isDiscovering: true,
                    roles: ["central", "peripheral"], advertisements: .init(active: 1, free: 4),
                    supportsGATTServer: true),
                .init(
                    name: "hci1", address: "", isPowered: false, isDiscovering: false, roles: [],
                    advertisements: nil, supportsGATTServer: false),
            ])
        #expect(
            inventory.devices == [
                .init(adapter: "hci0", address: "A4:C1:38:01:02:03", name: "WaterH", isConnected: true)
            ])
        await daemon.close()
    }

    @Test func `an inventory of a silent bluetoothd fails at the time limit`() async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let daemon = try await bus.connect()
        #expect(try await daemon.requestName("org.bluez"))
        await daemon.export(
            "/",
            [
                DBusInterface(
                    "org.freedesktop.DBus.ObjectManager", methods: [DBusMethod("GetManagedObjects") { _ in .deferred }])
            ])
        guard
            case .failure(.noAnswer(let reason)) = await BlueZInventory.query(
                bus: .address(bus.address), limit: .milliseconds(300))
        else {
            Issue.record("it answered")
            return
        }
        #expect(reason.contains("NoReply"))
        await daemon.close()
    }

    @Test(arguments: [
        ("usb:v1D6Bp0246d0542", "5.66"), ("usb:v1D6Bp0246d0557", "5.87"), ("bluetooth:v000Fp1200d0000", nil),
        ("usb:", nil), ("d", nil), ("", nil), ("dzzzz", nil), ("d123456789", nil),
    ])
    func `the BlueZ version is parsed from Modalias`(_ modalias: String, _ version: String?) {
        #expect(BlueZInventory.version(modalias: modalias) == version)
    }
}
