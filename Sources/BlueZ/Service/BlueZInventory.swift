import Bluetooth
package import DBus

/// The adapters and devices of bluetoothd, for `doctor`.
package struct BlueZInventory: Hashable, Sendable {
    package struct Adapter: Hashable, Sendable {
        package var name: String
        package var address: String
        package var isPowered: Bool
        package var isDiscovering: Bool
        /// `central`, `peripheral`, `central-peripheral`; empty if bluetoothd does not report roles (before 5.52).
        package var roles: [String]
        /// The numbers of active advertisements and of free ones; `nil` if the adapter cannot advertise.
        package var advertisements: Advertisements?
        /// Whether the adapter supports GATT applications.
        package var supportsGATTServer: Bool
    }

    package struct Advertisements: Hashable, Sendable {
        package var active: Int
        package var free: Int
    }

    /// A device object of bluetoothd, in range or not.
    package struct Device: Hashable, Sendable {
        package var adapter: String
        package var address: String
        /// The device name, or the user's alias.
        package var name: String?
        package var isConnected = false
        package var isPaired = false
        /// Whether bluetoothd rejects connections with the device.
        package var isBlocked = false
    }

    /// The BlueZ version, such as `5.66`, from the adapters' `Modalias`; `nil` without an adapter.
    package var version: String?
    package var adapters: [Adapter]
    package var devices: [Device]

    /// The reason why bluetoothd could not be queried.
    package enum Failure: Error, Hashable, Sendable {
        case noBus(reason: String)
        case notRunning
        case denied
        case noAnswer(reason: String)
    }

    /// Queries bluetoothd with the time limit `limit` for each call.
    package static func query(bus: DBusConnection.Bus = .system, limit: Duration = .seconds(5)) async -> Result<
        BlueZInventory, Failure
    > {
        let connection: DBusConnection
        do throws(DBusFailure) {
            connection = try await DBusConnection.open(bus, on: QueueExecutor("inventory"), limit: limit)
        } catch {
            return .failure(.noBus(reason: error.description))
        }
        let outcome = await read(connection, limit)
        await connection.close()
        return outcome
    }

    private static func read(_ connection: DBusConnection, _ limit: Duration) async -> Result<BlueZInventory, Failure> {
        do throws(DBusFailure) {
            // Ask the bus first, because a call to bluetoothd could start it.
            let owned = DBusCall.bus("NameHasOwner", [.string(BlueZName.service)])
            guard try await connection.call(owned, limit: limit).first?.bool == true else {
                return .failure(.notRunning)
            }
            let values = try await connection.call(
                DBusCall(BlueZName.service, "/", BlueZName.objectManager, "GetManagedObjects"), limit: limit)
            guard let objects = BlueZObjects(managedObjects: values.first) else {
                return .failure(.noAnswer(reason: "its list of objects is invalid"))
            }
            return .success(BlueZInventory(objects))
        } catch {
            return .failure(error.name == DBusFailure.accessDenied ? .denied : .noAnswer(reason: error.description))
        }
    }

    /// The version in `usb:v1D6Bp0246d0542`: vendor, product, version (one byte each before and after the point).
    static func version(modalias: String) -> String? {
        guard let prefixIndex = modalias.lastIndex(of: "d"),
            let number = UInt16(modalias[modalias.index(after: prefixIndex)...], radix: 16), number > 0
        else { return nil }
        return "\(number >> 8).\(number & 0xFF)"
    }
}

extension BlueZInventory {
    init(_ objects: BlueZObjects) {
        version = nil
        adapters = []
        devices = []
        for path in objects.paths(having: BlueZName.adapter) {
            let properties = objects[path, BlueZName.adapter] ?? [:]
            version = version ?? properties["Modalias"]?.text.flatMap(Self.version)
            let advertising = objects[path, BlueZName.advertisingManager].map {
                Advertisements(
                    active: $0["ActiveInstances"]?.integer ?? 0, free: $0["SupportedInstances"]?.integer ?? 0)
            }
            adapters.append(
                Adapter(
                    name: BlueZName.lastElement(of: path), address: properties["Address"]?.text ?? "",
                    isPowered: properties["Powered"]?.bool == true,
                    isDiscovering: properties["Discovering"]?.bool == true, roles: properties["Roles"]?.strings ?? [],
                    advertisements: advertising, supportsGATTServer: objects[path, BlueZName.gattManager] != nil))
        }
        for path in objects.paths(having: BlueZName.device) {
            let properties = objects[path, BlueZName.device] ?? [:]
            guard let adapter = properties["Adapter"]?.text else { continue }
            devices.append(
                Device(
                    adapter: BlueZName.lastElement(of: adapter), address: properties["Address"]?.text ?? "",
                    name: properties["Name"]?.text,
                    isConnected: properties["Connected"]?.bool == true, isPaired: properties["Paired"]?.bool == true,
                    isBlocked: properties["Blocked"]?.bool == true))
        }
    }
}
