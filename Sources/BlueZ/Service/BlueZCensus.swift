import Bluetooth
import DBus

/// What bluetoothd knows just now: its adapters and the devices on them. For people who look for a fault.
package struct BlueZCensus: Hashable, Sendable {
    /// A Bluetooth adapter of this machine.
    package struct Adapter: Hashable, Sendable {
        /// `hci0`.
        package var name: String
        /// Its own address, as bluetoothd writes it.
        package var address: String
        /// Whether it is switched on.
        package var isPowered: Bool
        /// Somebody scans.
        package var isDiscovering: Bool
        /// `central`, `peripheral`, `central-peripheral`; empty where bluetoothd does not say (before 5.52).
        package var roles: [String]
        /// Advertisements on the air, and how many more fit; `nil`: it cannot advertise.
        package var advertisements: (active: Int, free: Int)? { canAdvertise ? (active, free) : nil }
        /// It serves GATT for applications like the emulator.
        package var canServe: Bool
        var canAdvertise: Bool
        var active: Int
        var free: Int

        /// An adapter as doctors are shown it; `advertisements` is `nil` of one that cannot advertise.
        package init(
            name: String, address: String, isPowered: Bool, isDiscovering: Bool = false,
            roles: [String] = ["central", "peripheral"],
            canServe: Bool = true, advertisements: (active: Int, free: Int)? = (0, 5)
        ) {
            self.name = name
            self.address = address
            self.isPowered = isPowered
            self.isDiscovering = isDiscovering
            self.roles = roles
            self.canServe = canServe
            canAdvertise = advertisements != nil
            active = advertisements?.active ?? 0
            free = advertisements?.free ?? 0
        }
    }

    /// A device that bluetoothd knows, near or not.
    package struct Device: Hashable, Sendable {
        /// The adapter that knows it: `hci0`.
        package var adapter: String
        /// Its address, as bluetoothd writes it.
        package var address: String
        /// The name that it shows, or that somebody gave it.
        package var name: String?
        /// Whether it is connected now.
        package var isConnected: Bool
        /// Whether it is paired.
        package var isPaired: Bool
        /// Whether connections with it are refused.
        package var isBlocked: Bool
        /// An advertisement of it was heard by a scan that is under way.
        package var isHeard: Bool

        package init(
            adapter: String, address: String, name: String? = nil, isConnected: Bool = false, isPaired: Bool = false,
            isBlocked: Bool = false,
            isHeard: Bool = false
        ) {
            self.adapter = adapter
            self.address = address
            self.name = name
            self.isConnected = isConnected
            self.isPaired = isPaired
            self.isBlocked = isBlocked
            self.isHeard = isHeard
        }
    }

    /// `5.66`, from the adapters' `Modalias`; `nil` without an adapter.
    package var version: String?
    /// In the order of their names.
    package var adapters: [Adapter]
    /// In the order of their addresses.
    package var devices: [Device]

    package init(version: String?, adapters: [Adapter], devices: [Device]) {
        self.version = version
        self.adapters = adapters
        self.devices = devices
    }

    /// Why there is no census.
    package enum Refusal: Error, Hashable, Sendable {
        case noBus(reason: String)
        case notRunning
        case denied
        case noAnswer(reason: String)
    }

    /// Asks bluetoothd, once, for at most `limit` a step.
    package static func take(bus: DBusConnection.Bus = .system, limit: Duration = .seconds(5)) async -> Result<
        BlueZCensus, Refusal
    > {
        let connection: DBusConnection
        do throws(DBusFailure) {
            connection = try await DBusConnection.open(bus, on: QueueExecutor("census"), limit: limit)
        } catch {
            return .failure(.noBus(reason: error.description))
        }
        let outcome = await ask(connection, limit)
        await connection.close()
        return outcome
    }

    private static func ask(_ connection: DBusConnection, _ limit: Duration) async -> Result<BlueZCensus, Refusal> {
        do throws(DBusFailure) {
            // The bus is asked first: a call to bluetoothd would have it started, where it can be.
            let owned = DBusCall(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
                [.string(BlueZName.service)])
            guard try await connection.call(owned, limit: limit).first?.bool == true else {
                return .failure(.notRunning)
            }
            let values = try await connection.call(
                DBusCall(BlueZName.service, "/", BlueZName.objectManager, "GetManagedObjects"), limit: limit)
            guard let objects = BlueZObjects(managedObjects: values.first) else {
                return .failure(.noAnswer(reason: "its list of objects has another shape"))
            }
            return .success(BlueZCensus(objects))
        } catch {
            return .failure(error.name == DBusFailure.accessDenied ? .denied : .noAnswer(reason: error.description))
        }
    }

    init(_ objects: BlueZObjects) {
        version = nil
        adapters = []
        devices = []
        for path in objects.paths(having: BlueZName.adapter) {
            let properties = objects[path, BlueZName.adapter] ?? [:]
            version = version ?? properties["Modalias"]?.text.flatMap(Self.version)
            let advertising = objects[path, BlueZName.advertisingManager].map {
                ($0["ActiveInstances"]?.integer ?? 0, $0["SupportedInstances"]?.integer ?? 0)
            }
            adapters.append(
                Adapter(
                    name: Self.lastPart(path), address: properties["Address"]?.text ?? "",
                    isPowered: properties["Powered"]?.bool == true,
                    isDiscovering: properties["Discovering"]?.bool == true, roles: properties["Roles"]?.texts ?? [],
                    canServe: objects[path, BlueZName.gattManager] != nil, advertisements: advertising))
        }
        for path in objects.paths(having: BlueZName.device) {
            let properties = objects[path, BlueZName.device] ?? [:]
            guard let adapter = properties["Adapter"]?.text else { continue }
            devices.append(
                Device(
                    adapter: Self.lastPart(adapter), address: properties["Address"]?.text ?? "",
                    name: properties["Name"]?.text,
                    isConnected: properties["Connected"]?.bool == true, isPaired: properties["Paired"]?.bool == true,
                    isBlocked: properties["Blocked"]?.bool == true, isHeard: properties["RSSI"] != nil))
        }
    }

    private static func lastPart(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    /// `usb:v1D6Bp0246d0542`: vendor, product, and the version, a byte before the point and a byte behind it.
    static func version(modalias: String) -> String? {
        guard let mark = modalias.lastIndex(of: "d"),
            let number = UInt16(modalias[modalias.index(after: mark)...], radix: 16), number > 0
        else { return nil }
        return "\(number >> 8).\(number & 0xFF)"
    }
}
