/// The exported objects of a connection, with the standard interfaces Introspectable, Properties and ObjectManager. It
/// returns methods and signals, and sends nothing itself.
struct DBusObjectTree {
    /// A D-Bus signal to send after a change of the tree.
    struct Emission {
        var path: String
        var interface: String
        var signal: String
        var arguments: [DBusValue]
    }

    private struct Object {
        var interfaces: [String: DBusInterface]
        var isManager: Bool
    }

    private var objects: [String: Object] = [:]

    mutating func add(_ path: String, _ interfaces: [DBusInterface], isManager: Bool) -> Emission? {
        objects[path] = Object(interfaces: Dictionary(interfaces.map { ($0.name, $0) }) { $1 }, isManager: isManager)
        guard !interfaces.isEmpty, let manager = manager(of: path) else { return nil }
        return Emission(
            path: manager, interface: Self.objectManager, signal: "InterfacesAdded",
            arguments: [.objectPath(path), interfaceProperties(path)])
    }

    mutating func set(_ path: String, _ interface: String, _ property: String, _ value: DBusValue) -> Emission? {
        guard objects[path]?.interfaces[interface]?.properties[property] != nil else { return nil }
        objects[path]?.interfaces[interface]?.properties[property] = value
        return Emission(
            path: path, interface: Self.properties, signal: "PropertiesChanged",
            arguments: [.string(interface), .properties([property: value]), .strings([])])
    }

    /// The method that a call selects. The connection calls the handler, so that the handler can change the tree.
    func method(for call: DBusInvocation) throws(DBusFailure) -> DBusMethod {
        guard objects[call.path] != nil || !children(of: call.path).isEmpty else {
            throw DBusFailure(DBusFailure.unknownObject, "unknown object \(call.path)")
        }
        // A call without an interface selects any interface with the method.
        let selected = interfaces(of: call.path).filter { call.interface.isEmpty || $0.name == call.interface }
        guard !selected.isEmpty else { throw Self.unknownInterface(call.interface, call.path) }
        for interface in selected {
            for method in interface.methods where method.name == call.member {
                let (wanted, given) = (method.input.map(\.signature).joined(), call.arguments.map(\.type).joined())
                guard wanted == given else {
                    let sentence = "\(interface.name).\(method.name) takes '\(wanted)', not '\(given)'"
                    throw DBusFailure(DBusFailure.invalidArguments, sentence)
                }
                return method
            }
        }
        let target = call.interface.isEmpty ? call.path : call.interface
        throw DBusFailure(DBusFailure.unknownMethod, "\(target) has no method '\(call.member)'")
    }

    private static func unknownInterface(_ name: String, _ path: String) -> DBusFailure {
        DBusFailure(DBusFailure.unknownInterface, "\(path) has no interface '\(name)'")
    }

    private func manager(of path: String) -> String? {
        objects.filter { $0.value.isManager && $0.key != path && isBelow(path, $0.key) }.keys.max {
            $0.utf8.count < $1.utf8.count
        }
    }

    private func isBelow(_ path: String, _ root: String) -> Bool {
        root == "/" ? path != "/" : path.hasPrefix(root + "/")
    }

    /// The names one level below a path.
    private func children(of path: String) -> [String] {
        let prefix = path == "/" ? "/" : path + "/"
        let names = objects.keys.filter { $0.hasPrefix(prefix) && $0 != path }
            .compactMap { $0.dropFirst(prefix.count).split(separator: "/").first.map(String.init) }
        return Array(Set(names)).sorted()
    }
}

// MARK: - Standard interfaces (D-Bus specification, "Standard Interfaces")

extension DBusObjectTree {
    private static let introspectable = "org.freedesktop.DBus.Introspectable"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let objectManager = "org.freedesktop.DBus.ObjectManager"

    /// The interfaces of an object by name, then the standard ones.
    private func interfaces(of path: String) -> [DBusInterface] {
        let object = objects[path]
        let own = (object?.interfaces ?? [:]).values.sorted { $0.name < $1.name }
        let introspect = DBusMethod("Introspect", output: [.init("xml_data", "s")]) { _ in
            .values([.string(introspection(of: path))])
        }
        var found = own + [DBusInterface(Self.introspectable, methods: [introspect])]
        if !own.isEmpty {
            found.append(DBusInterface(Self.properties, methods: propertyMethods))
        }
        if object?.isManager == true {
            let list = DBusMethod("GetManagedObjects", output: [.init("objects", "a{oa{sa{sv}}}")]) { _ in
                .values([managedObjects(below: path)])
            }
            found.append(DBusInterface(Self.objectManager, methods: [list]))
        }
        return found
    }

    private var propertyMethods: [DBusMethod] {
        let (interface, name) = (DBusArgument("interface", "s"), DBusArgument("name", "s"))
        return [
            DBusMethod("Get", input: [interface, name], output: [.init("value", "v")]) { (call) throws(DBusFailure) in
                .values([.variant(try property(call))])
            },
            DBusMethod("GetAll", input: [interface], output: [.init("properties", "a{sv}")]) {
                (call) throws(DBusFailure) in
                .values([.properties(try self.interface(call).properties)])
            },
            DBusMethod("Set", input: [interface, name, .init("value", "v")]) { (call) throws(DBusFailure) in
                _ = try property(call)
                let key = call.arguments.prefix(2).compactMap(\.text).joined(separator: ".")
                throw DBusFailure(DBusFailure.readOnly, "\(key) cannot be set")
            },
        ]
    }

    /// The interface that the first argument names.
    private func interface(_ call: DBusInvocation) throws(DBusFailure) -> DBusInterface {
        let name = call.arguments[0].text ?? ""
        guard let found = objects[call.path]?.interfaces[name] else { throw Self.unknownInterface(name, call.path) }
        return found
    }

    /// The value of the property that the second argument names.
    private func property(_ call: DBusInvocation) throws(DBusFailure) -> DBusValue {
        let (interface, key) = (try interface(call), call.arguments[1].text ?? "")
        guard let value = interface.properties[key] else {
            throw DBusFailure(DBusFailure.unknownProperty, "\(interface.name) has no property '\(key)'")
        }
        return value
    }

    /// All interfaces of an object and their properties, as `a{sa{sv}}`.
    private func interfaceProperties(_ path: String) -> DBusValue {
        let interfaces = objects[path]?.interfaces ?? [:]
        let entries = interfaces.sorted { $0.key < $1.key }.map { name, interface in
            DBusValue.Entry(.string(name), .properties(interface.properties))
        }
        return .dictionary("s", "a{sv}", entries)
    }

    private func managedObjects(below root: String) -> DBusValue {
        let paths = objects.filter { isBelow($0.key, root) && !$0.value.interfaces.isEmpty }.keys.sorted()
        return .dictionary("o", "a{sa{sv}}", paths.map { .init(.objectPath($0), interfaceProperties($0)) })
    }

    /// The description of an object in XML: its methods, its properties and the objects below it, but no signals.
    private func introspection(of path: String) -> String {
        """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN" \
        "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>

        """ + interfaces(of: path).map(Self.xml).joined()
            + children(of: path).map { " <node name=\"\($0)\"/>\n" }.joined() + "</node>\n"
    }

    private static func xml(_ interface: DBusInterface) -> String {
        func arguments(_ list: [DBusArgument], _ direction: String) -> String {
            list.map { "   <arg name=\"\($0.name)\" type=\"\($0.signature)\" direction=\"\(direction)\"/>\n" }.joined()
        }
        var text = " <interface name=\"\(interface.name)\">\n"
        for method in interface.methods {
            text += "  <method name=\"\(method.name)\">\n"
            text += arguments(method.input, "in") + arguments(method.output, "out")
            text += "  </method>\n"
        }
        for (name, value) in interface.properties.sorted(by: { $0.key < $1.key }) {
            text += "  <property name=\"\(name)\" type=\"\(value.type)\" access=\"read\"/>\n"
        }
        return text + " </interface>\n"
    }
}
