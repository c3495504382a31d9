import DBus
import DBusSupport
import Synchronization

@testable import BlueZ

/// The parts of bluetoothd that failures of a link involve, on a private bus: one adapter, devices, and errors on
/// request. The test VM checks the real one.
final class FakeBluetoothd: Sendable {
    static let adapter = "/org/bluez/hci0"
    let bus: PrivateBus
    let connection: DBusConnection
    /// Calls in order of arrival: `Connect /org/bluez/hci0/dev_…`.
    let calls = Collected<String>()
    let filters = Collected<[String: DBusValue]>()
    /// The values of the adapter's name that were set.
    let names = Collected<String>()
    private let refusals = Mutex<[String: Int]>([:])
    private let devices = Mutex<[String: DBusInterface]>([:])

    init() async throws {
        bus = try await PrivateBus()
        connection = try await bus.connect()
        await connection.export("/", isManager: true)
        await connection.export(Self.adapter, adapterInterfaces())
        _ = try await connection.requestName(BlueZName.service)
    }

    /// The next `count` calls of that method fail, as bluetoothd's do without power.
    func refuse(_ member: String, times count: Int) { refusals.withLock { $0[member] = count } }

    func set(
        _ property: String, _ value: DBusValue, of interface: String = BlueZName.adapter,
        at path: String = FakeBluetoothd.adapter
    ) async {
        await connection.setProperty(path, interface, property, value)
    }

    static func path(_ address: String) -> String { "\(adapter)/dev_" + address.replacing(":", with: "_") }

    /// A device with its characteristics in one service: handle -> UUID and flags.
    func addDevice(_ address: String, name: String, isConnected: Bool = false, addressType: String = "public") async {
        let path = Self.path(address)
        let device = DBusInterface(
            BlueZName.device,
            methods: [
                method("Connect") { fake, call in fake.set(call.path, "Connected", .boolean(true)) },
                method("Disconnect") { fake, call in fake.set(call.path, "Connected", .boolean(false)) },
            ],
            properties: [
                "Address": .string(address), "AddressType": .string(addressType), "Name": .string(name),
                "Connected": .boolean(isConnected), "ServicesResolved": .boolean(true), "RSSI": .int16(-60),
                "UUIDs": .strings([]),
            ])
        devices.withLock { $0[path] = device }
        await connection.export(path, [device])
    }

    func addService(
        _ address: String, _ uuid: String, at handle: UInt16 = 0x0A, characteristic: String, flags: [String]
    ) async {
        let service = Self.path(address) + "/service\(String(handle, radix: 16))"
        await connection.export(
            service,
            [DBusInterface(BlueZName.gattService, properties: ["UUID": .string(uuid), "Primary": .boolean(true)])])
        await connection.export(
            service + "/char\(String(handle + 1, radix: 16))",
            [
                DBusInterface(
                    BlueZName.gattCharacteristic, methods: [method("StartNotify"), method("StopNotify")],
                    properties: [
                        "UUID": .string(characteristic), "Service": .objectPath(service), "Flags": .strings(flags),
                        "MTU": .uint16(247),
                    ])
            ])
    }

    func stop() async {
        await connection.close()
        bus.stop()
    }

    private func set(_ path: String, _ property: String, _ value: DBusValue) {
        connection.assumeIsolated { $0.setProperty(path, BlueZName.device, property, value) }
    }

    private func method(
        _ name: String, _ input: [DBusArgument] = [],
        _ act: @escaping @Sendable (FakeBluetoothd, DBusInvocation) -> Void = { _, _ in }
    ) -> DBusMethod {
        DBusMethod(name, input: input) { [weak self] call in
            guard let self else { return .done }
            calls.add("\(name) \(call.path)")
            let isRefused = refusals.withLock { refusals in
                guard let remaining = refusals[name], remaining > 0 else { return false }
                refusals[name] = remaining - 1
                return true
            }
            if isRefused { return .failure("org.bluez.Error.Failed", "Not Powered") }
            act(self, call)
            return .done
        }
    }

    private func adapterInterfaces() -> [DBusInterface] {
        let registration: [DBusArgument] = [.init("object", "o"), .init("options", "a{sv}")]
        return [
            DBusInterface(
                BlueZName.adapter,
                methods: [
                    method("SetDiscoveryFilter", [.init("filter", "a{sv}")]) {
                        $0.filters.add($1.arguments[0].dictionary ?? [:])
                    },
                    method("StartDiscovery"), method("StopDiscovery"),
                    method("RemoveDevice", [.init("device", "o")]) { fake, call in
                        guard let path = call.arguments[0].text, let device = fake.devices.withLock({ $0[path] }) else {
                            return
                        }
                        fake.connection.assumeIsolated {
                            try? $0.emit(
                                path: "/", interface: BlueZName.objectManager, "InterfacesRemoved",
                                [.objectPath(path), .strings([BlueZName.device])])
                            // A scan reports it before the reply is sent.
                            $0.export(path, [device])
                        }
                    },
                ],
                properties: [
                    "Address": .string("00:AA:01:00:00:00"), "Alias": .string("bench"), "Powered": .boolean(true),
                    "Discovering": .boolean(false),
                ]),
            DBusInterface(
                BlueZName.properties,
                methods: [
                    method("Set", [.init("interface", "s"), .init("name", "s"), .init("value", "v")]) { fake, call in
                        guard call.arguments[1].text == "Alias", case .variant(let name) = call.arguments[2] else {
                            return
                        }
                        fake.names.add(name.text ?? "")
                        fake.connection.assumeIsolated { $0.setProperty(call.path, BlueZName.adapter, "Alias", name) }
                    }
                ]),
            DBusInterface(
                BlueZName.gattManager,
                methods: [
                    method("RegisterApplication", registration),
                    method("UnregisterApplication", [.init("object", "o")]),
                ]),
            DBusInterface(
                BlueZName.advertisingManager,
                methods: [
                    method("RegisterAdvertisement", registration),
                    method("UnregisterAdvertisement", [.init("object", "o")]),
                ],
                properties: ["ActiveInstances": .byte(0)]),
        ]
    }
}
