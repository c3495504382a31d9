import Bluetooth
import DBus

/// The object paths of the application. They are constant: each bus connection has one application.
enum PeripheralPaths {
    static let root = "/waterh"
    static let advertisement = "/waterh/advertisement"
    static func service(_ number: Int) -> String { "\(root)/service\(number)" }
}

extension BluetoothUUID {
    /// The 128-bit form in lower case, as bluetoothd writes it.
    fileprivate var busText: String { fullDescription.lowercased() }
}

extension BlueZPeripheralLink {
    func export(_ application: GATTApplication, on connection: DBusConnection) {
        let objects = objects(for: application)
        connection.assumeIsolated { connection in
            connection.export(PeripheralPaths.root, isManager: true)
            for (path, interface) in objects { connection.export(path, [interface]) }
        }
    }

    /// The objects of an application with the interface of each, as in bluetoothctl's gatt menu (BlueZ client/gatt.c).
    ///
    /// bluetoothd owns the GAP and GATT services and the descriptors 2900 and 2902, and rejects an application with one
    /// of them. It also assigns the handles.
    private func objects(for application: GATTApplication) -> [(path: String, interface: DBusInterface)] {
        var objects = [(path: PeripheralPaths.advertisement, interface: advertisement(of: application))]
        characteristics = [:]
        let services = application.services.filter {
            $0.uuid != GATTTable.genericAccess && $0.uuid != GATTTable.genericAttribute
        }
        for (number, service) in services.enumerated() {
            let path = PeripheralPaths.service(number)
            let included = service.includes.compactMap { include in services.firstIndex { $0.handle == include.start } }
                .filter { $0 != number }
            let properties: [String: DBusValue] = [
                "UUID": .string(service.uuid.busText), "Primary": .boolean(service.isPrimary),
                "Includes": .array("o", included.map { .objectPath(PeripheralPaths.service($0)) }),
            ]
            objects.append((path, DBusInterface(BlueZName.gattService, properties: properties)))
            for (index, definition) in service.characteristics.enumerated() {
                let characteristic = "\(path)/char\(index)"
                characteristics[definition.id] = Characteristic(path: characteristic, definition: definition)
                objects.append((characteristic, interface(of: definition, in: path)))
                if let text = definition.userDescription {
                    objects.append((characteristic + "/desc0", description(text, of: characteristic)))
                }
                for (position, descriptor) in definition.descriptors.enumerated()
                where !Self.ownDescriptors.contains(descriptor.uuid) {
                    let path = "\(characteristic)/desc\(position + 1)"
                    var attribute = LocalCharacteristic(uuid: descriptor.uuid, properties: [.read, .write])
                    attribute.id = descriptor.id
                    characteristics[descriptor.id] = Characteristic(path: path, definition: attribute)
                    objects.append((path, interface(of: descriptor, in: characteristic)))
                }
            }
        }
        return objects
    }

    private func advertisement(of application: GATTApplication) -> DBusInterface {
        let converted = AdvertisedProperties(application.advertised)
        for structure in converted.omitted { log("not advertised: \(structure)") }
        let properties = converted.properties.merging(["Type": .string("peripheral")]) { $1 }
        let release = method("Release") { peripheral, _ in
            peripheral.advertisementReleased()
            return .done
        }
        return DBusInterface(BlueZName.advertisement, methods: [release], properties: properties)
    }

    private static let ownDescriptors: Set<BluetoothUUID> = [0x2900, GATTTable.cccd]
    private static let options = DBusArgument("options", "a{sv}")
    private static let value = DBusArgument("value", "ay")

    private func method(
        _ name: String, _ input: [DBusArgument] = [], _ output: [DBusArgument] = [],
        _ answer: @escaping @Sendable (isolated BlueZPeripheralLink, DBusInvocation) -> DBusReply
    ) -> DBusMethod {
        DBusMethod(name, input: input, output: output) { [weak self] call in
            guard let self else { return .failure("org.bluez.Error.Failed", "closed") }
            return self.assumeIsolated { answer($0, call) }
        }
    }

    private func readAndWrite(_ name: BluetoothUUID) -> [DBusMethod] {
        [
            method("ReadValue", [Self.options], [Self.value]) { $0.readValue(name, $1) },
            method("WriteValue", [Self.value, Self.options]) { $0.writeValue(name, $1) },
        ]
    }

    private func description(_ text: String, of characteristic: String) -> DBusInterface {
        let bytes = Array(text.utf8)
        let read = DBusMethod("ReadValue", input: [Self.options], output: [Self.value]) { call in
            Self.part(of: bytes, from: call.arguments[0].dictionary?["offset"]?.integer ?? 0)
        }
        return descriptor(0x2901, in: characteristic, value: bytes, flags: ["read"], methods: [read])
    }

    private func interface(of descriptor: LocalDescriptor, in characteristic: String) -> DBusInterface {
        self.descriptor(
            descriptor.uuid, in: characteristic, value: [], flags: ["read", "write"],
            methods: readAndWrite(descriptor.id))
    }

    private func descriptor(
        _ uuid: BluetoothUUID, in characteristic: String, value: [UInt8], flags: [String], methods: [DBusMethod]
    ) -> DBusInterface {
        DBusInterface(
            BlueZName.gattDescriptor, methods: methods,
            properties: [
                "UUID": .string(uuid.busText),
                "Characteristic": .objectPath(characteristic),
                "Value": .bytes(value), "Flags": .strings(flags),
            ])
    }

    private func interface(of definition: LocalCharacteristic, in service: String) -> DBusInterface {
        let uuid = definition.id
        var methods = readAndWrite(uuid)
        var properties: [String: DBusValue] = [
            "UUID": .string(definition.uuid.busText), "Service": .objectPath(service),
            "Flags": .strings(definition.properties.subtracting(.extended).flags),
            "Value": .bytes(definition.constant ?? []),
        ]
        if !definition.properties.isDisjoint(with: [.notify, .indicate]) {
            properties["Notifying"] = .boolean(false)
            methods += [
                method("StartNotify") { peripheral, _ in peripheral.startNotify(uuid) },
                method("StopNotify") { peripheral, _ in peripheral.stopNotify(uuid) },
            ]
            // With this property, BlueZ acquires a socket and never calls StartNotify (src/gatt-database.c).
            if notificationMethod == .socket {
                properties["NotifyAcquired"] = .boolean(false)
                methods.append(
                    method("AcquireNotify", [Self.options], [.init("fd", "h"), .init("mtu", "q")]) {
                        $0.acquireNotify(uuid, $1)
                    })
            }
            if definition.properties.contains(.indicate) { methods.append(method("Confirm") { _, _ in .done }) }
        }
        return DBusInterface(BlueZName.gattCharacteristic, methods: methods, properties: properties)
    }
}
