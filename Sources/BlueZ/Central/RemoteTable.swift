import Bluetooth
import DBus

/// The services of a device as bluetoothd exports them, with the object path of each handle.
struct RemoteTable {
    private(set) var services: [RemoteService] = []
    private(set) var paths: [UInt16: String] = [:]
    private(set) var handles: [String: UInt16] = [:]

    /// Parses `…/service000a/char000b`. The numbers are the handles of the declarations (src/gatt-client.c); the value
    /// handle is the next one (Core 5.4, Vol 3 Part G, 3.3). Other paths are ignored.
    init(of device: String, in objects: BlueZObjects) {
        var characteristics: [String: [RemoteCharacteristic]] = [:]
        for path in objects.paths(having: BlueZName.gattCharacteristic, below: device) {
            guard let properties = objects[path, BlueZName.gattCharacteristic],
                let service = properties["Service"]?.text,
                let uuid = properties["UUID"]?.text.flatMap(BluetoothUUID.init),
                let declaration = Self.handle(path, "char"), declaration < 0xFFFF
            else { continue }
            let handle = declaration + 1
            characteristics[service, default: []].append(
                RemoteCharacteristic(
                    uuid: uuid, handle: handle,
                    properties: CharacteristicProperties(flags: properties["Flags"]?.strings ?? [])))
            paths[handle] = path
            handles[path] = handle
        }
        for path in objects.paths(having: BlueZName.gattService, below: device) {
            guard let properties = objects[path, BlueZName.gattService], properties["Primary"]?.bool != false,
                let uuid = properties["UUID"]?.text.flatMap(BluetoothUUID.init),
                let handle = Self.handle(path, "service")
            else { continue }
            let inside = (characteristics[path] ?? []).sorted { $0.handle < $1.handle }
            services.append(RemoteService(uuid: uuid, handle: handle, characteristics: inside))
        }
        services.sort { $0.handle < $1.handle }
    }

    init() {}

    private static func handle(_ path: String, _ prefix: String) -> UInt16? {
        guard let name = path.split(separator: "/").last, name.hasPrefix(prefix) else { return nil }
        return UInt16(name.dropFirst(prefix.count), radix: 16)
    }
}

extension CharacteristicProperties {
    /// The names of the properties in bluetoothd.
    private static let flags: [(property: Self, name: String)] = [
        (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write-without-response"),
        (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
        (.signedWrite, "authenticated-signed-writes"), (.extended, "extended-properties"),
    ]

    init(flags: [String]) { self = Self(Self.flags.filter { flags.contains($0.name) }.map(\.property)) }

    var flags: [String] { Self.flags.filter { contains($0.property) }.map(\.name) }
}
