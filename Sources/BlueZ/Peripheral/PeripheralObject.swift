import Bluetooth
import DBus

/// Object paths of an application of ours: one per connection to the bus, so they are always the same.
enum PeripheralPaths {
    static let root = "/waterh"
    static let advertisement = "/waterh/advertisement"
    static func service(_ number: Int) -> String { "\(root)/service\(number)" }
    static func characteristic(_ service: Int, _ number: Int) -> String { "\(self.service(service))/char\(number)" }
}

extension BluetoothUUID {
    /// All 128 bits in small letters, as bluetoothd and bluetoothctl write them.
    fileprivate var busText: String { fullDescription.lowercased() }
}

/// An object to be exported.
struct PeripheralObject: Sendable {
    var path: String
    var interfaces: [DBusInterface]
    var isManager = false
}

extension DBusConnection {
    /// From an actor that shares the executor.
    nonisolated func assumeIsolatedExport(_ objects: [PeripheralObject]) {
        assumeIsolated { connection in
            for object in objects { connection.export(object.path, object.interfaces, isManager: object.isManager) }
        }
    }
}

extension BlueZPeripheral {
    /// The objects of an application, as bluetoothctl's own gatt menu makes them (BlueZ client/gatt.c).
    func objects(for application: GATTApplication) -> [PeripheralObject] {
        var objects = [PeripheralObject(path: PeripheralPaths.root, interfaces: [], isManager: true), advertisement(of: application)]
        characteristics = [:]
        for (number, service) in application.services.enumerated() {
            let path = PeripheralPaths.service(number)
            objects.append(
                PeripheralObject(path: path, interfaces: [
                    DBusInterface(BlueZName.gattService, properties: [
                        "UUID": DBusProperty(.string(service.uuid.busText)), "Primary": DBusProperty(.boolean(true)),
                        "Includes": DBusProperty(.array(.objectPath, [])),
                    ])
                ]))
            for (index, shape) in service.characteristics.enumerated() {
                let characteristic = PeripheralPaths.characteristic(number, index)
                characteristics[shape.uuid] = Characteristic(path: characteristic, shape: shape)
                objects.append(PeripheralObject(path: characteristic, interfaces: [interface(of: shape, in: path)]))
                if let text = shape.userDescription {
                    objects.append(PeripheralObject(path: characteristic + "/desc0", interfaces: [description(text, of: characteristic)]))
                }
            }
        }
        return objects
    }

    /// 31 bytes of advertisement: flags and a 16-bit service fit; the name goes into the scan response, which takes 29.
    private func advertisement(of application: GATTApplication) -> PeripheralObject {
        var name = application.name
        while name.utf8.count > 29 { name.removeLast() }
        var properties: [String: DBusProperty] = [
            "Type": DBusProperty(.string("peripheral")), "Discoverable": DBusProperty(.boolean(true)),
            "ServiceUUIDs": DBusProperty(.strings(application.advertisedServices.map(\.busText))),
        ]
        if !name.isEmpty { properties["LocalName"] = DBusProperty(.string(name)) }
        let release = DBusMethod("Release") { [weak self] _ in
            self?.assumeIsolated { $0.advertisementReleased() }
            return .done
        }
        return PeripheralObject(
            path: PeripheralPaths.advertisement, interfaces: [DBusInterface(BlueZName.advertisement, methods: [release], properties: properties)])
    }

    private func description(_ text: String, of characteristic: String) -> DBusInterface {
        let bytes = Array(text.utf8)
        let read = DBusMethod("ReadValue", input: [.init("options", "a{sv}")], output: [.init("value", "ay")]) { call in
            let offset = call.arguments[0].named?["offset"]?.integer ?? 0
            guard (0...bytes.count).contains(offset) else { return .failure("org.bluez.Error.InvalidOffset", "") }
            return .values([.bytes(Array(bytes[offset...]))])
        }
        return DBusInterface(BlueZName.gattDescriptor, methods: [read], properties: [
            "UUID": DBusProperty(.string(BluetoothUUID(0x2901).busText)), "Characteristic": DBusProperty(.objectPath(characteristic)),
            "Value": DBusProperty(.bytes(bytes)), "Flags": DBusProperty(.strings(["read"])),
        ])
    }

    private func interface(of shape: LocalCharacteristic, in service: String) -> DBusInterface {
        let uuid = shape.uuid
        func method(
            _ name: String, _ input: [DBusArgument], _ output: [DBusArgument], _ answer: @escaping @Sendable (isolated BlueZPeripheral, DBusInvocation) -> DBusAnswer
        ) -> DBusMethod {
            DBusMethod(name, input: input, output: output) { [weak self] call in
                guard let self else { return .failure("org.bluez.Error.Failed", "closed") }
                return self.assumeIsolated { answer($0, call) }
            }
        }
        let options = DBusArgument("options", "a{sv}")
        var methods = [
            method("ReadValue", [options], [.init("value", "ay")]) { $0.readValue(uuid, $1) },
            method("WriteValue", [.init("value", "ay"), options], []) { $0.writeValue(uuid, $1) },
        ]
        var properties: [String: DBusProperty] = [
            "UUID": DBusProperty(.string(uuid.busText)), "Service": DBusProperty(.objectPath(service)),
            "Flags": DBusProperty(.strings(Self.flags(shape.properties))), "Value": DBusProperty(.bytes(shape.constant ?? [])),
        ]
        if !shape.properties.isDisjoint(with: [.notify, .indicate]) {
            properties["Notifying"] = DBusProperty(.boolean(false))
            methods += [method("StartNotify", [], []) { peripheral, _ in peripheral.startNotify(uuid) }, method("StopNotify", [], []) { peripheral, _ in peripheral.stopNotify(uuid) }]
            // Where this property is, BlueZ asks for a socket and never calls StartNotify (src/gatt-database.c).
            if way == .socket {
                properties["NotifyAcquired"] = DBusProperty(.boolean(false))
                methods.append(method("AcquireNotify", [options], [.init("fd", "h"), .init("mtu", "q")]) { $0.acquireNotify(uuid, $1) })
            }
            if shape.properties.contains(.indicate) { methods.append(method("Confirm", [], []) { _, _ in .done }) }
        }
        return DBusInterface(BlueZName.gattCharacteristic, methods: methods, properties: properties)
    }

    private static func flags(_ properties: CharacteristicProperties) -> [String] {
        let names: [(CharacteristicProperties, String)] = [
            (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write-without-response"), (.write, "write"), (.notify, "notify"),
            (.indicate, "indicate"), (.signedWrite, "authenticated-signed-writes"), (.extended, "extended-properties"),
        ]
        return names.filter { properties.contains($0.0) }.map(\.1)
    }
}
