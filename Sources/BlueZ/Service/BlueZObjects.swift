import DBus

/// The cached objects of bluetoothd: object path, interface, property, value.
struct BlueZObjects {
    typealias Properties = [String: DBusValue]
    typealias Interfaces = [String: Properties]

    enum Change: Hashable, Sendable {
        case added(path: String, interfaces: Set<String>)
        case removed(path: String, interfaces: Set<String>)
        case changed(path: String, interface: String, Properties)
    }

    private(set) var objects: [String: Interfaces] = [:]

    /// The maximum number of objects, which limits the memory used by random addresses. bluetoothd drops unconnected
    /// devices after 30 s, so dropped objects can appear again.
    static let limit = 20_000

    /// Parses the reply of GetManagedObjects; `nil` if the reply has another type.
    init?(managedObjects value: DBusValue?) {
        guard case .dictionary(_, _, let entries)? = value else { return nil }
        for entry in entries {
            guard let path = entry.key.text, let interfaces = Self.interfaces(entry.value) else { return nil }
            objects[path] = interfaces
        }
    }

    init() {}

    private static func interfaces(_ value: DBusValue) -> Interfaces? {
        value.dictionary?.compactMapValues(\.dictionary)
    }

    /// Applies a signal of bluetoothd; `nil` if it changes nothing.
    mutating func apply(_ signal: DBusSignal) -> Change? {
        let arguments = signal.arguments
        switch (signal.interface, signal.member) {
        case (BlueZName.objectManager, "InterfacesAdded") where arguments.count == 2:
            guard let path = arguments[0].text, let added = Self.interfaces(arguments[1]) else { return nil }
            guard objects[path] != nil || objects.count < Self.limit else { return nil }
            objects[path, default: [:]].merge(added) { $1 }
            return .added(path: path, interfaces: Set(added.keys))
        case (BlueZName.objectManager, "InterfacesRemoved") where arguments.count == 2:
            guard let path = arguments[0].text, let removed = arguments[1].strings, objects[path] != nil else {
                return nil
            }
            for interface in removed { objects[path]?[interface] = nil }
            if objects[path]?.isEmpty == true { objects[path] = nil }
            return .removed(path: path, interfaces: Set(removed))
        case (BlueZName.properties, "PropertiesChanged") where arguments.count == 3:
            guard let interface = arguments[0].text, let values = arguments[1].dictionary,
                let gone = arguments[2].strings
            else { return nil }
            guard objects[signal.path]?[interface] != nil else { return nil }
            for (name, value) in values { objects[signal.path]?[interface]?[name] = value }
            for name in gone { objects[signal.path]?[interface]?[name] = nil }
            return .changed(path: signal.path, interface: interface, values)
        default:
            return nil
        }
    }

    subscript(path: String, interface: String) -> Properties? { objects[path]?[interface] }

    /// The paths of objects with an interface, below `parent`, in order.
    func paths(having interface: String, below parent: String? = nil) -> [String] {
        objects.filter { path, interfaces in
            interfaces[interface] != nil && (parent.map { path.hasPrefix($0 + "/") } ?? true)
        }.keys.sorted()
    }

    /// The adapter with that name (`hci1`) or address. An address also finds an adapter that was plugged in again.
    /// Without a name, it is the first powered adapter, else the first one.
    func adapter(named name: String?) -> String? {
        let all = paths(having: BlueZName.adapter)
        if let name {
            return all.first {
                $0.hasSuffix("/" + name)
                    || self[$0, BlueZName.adapter]?["Address"]?.text?.uppercased() == name.uppercased()
            }
        }
        return all.first { self[$0, BlueZName.adapter]?["Powered"]?.bool == true } ?? all.first
    }

    func device(address: String, on adapter: String) -> String? {
        paths(having: BlueZName.device, below: adapter).first {
            self[$0, BlueZName.device]?["Address"]?.text?.uppercased() == address.uppercased()
        }
    }
}
