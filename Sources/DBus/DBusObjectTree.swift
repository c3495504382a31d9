/// The exported objects of a connection and the standard interfaces Introspectable, Properties and ObjectManager. It
/// returns replies and signals, and sends nothing itself.
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

    static let introspectable = "org.freedesktop.DBus.Introspectable"
    static let properties = "org.freedesktop.DBus.Properties"
    static let objectManager = "org.freedesktop.DBus.ObjectManager"

    mutating func add(_ path: String, _ interfaces: [DBusInterface], isManager: Bool) -> [Emission] {
        objects[path] = Object(interfaces: Dictionary(interfaces.map { ($0.name, $0) }) { $1 }, isManager: isManager)
        guard !interfaces.isEmpty, let manager = manager(of: path) else { return [] }
        return [
            Emission(
                path: manager, interface: Self.objectManager, signal: "InterfacesAdded",
                arguments: [.objectPath(path), described(path)])
        ]
    }

    mutating func remove(_ path: String) -> [Emission] {
        guard let object = objects.removeValue(forKey: path), !object.interfaces.isEmpty,
            let manager = manager(of: path)
        else { return [] }
        let names = DBusValue.strings(object.interfaces.keys.sorted())
        return [
            Emission(
                path: manager, interface: Self.objectManager, signal: "InterfacesRemoved",
                arguments: [.objectPath(path), names])
        ]
    }

    mutating func set(_ path: String, _ interface: String, _ property: String, _ value: DBusValue) -> [Emission] {
        guard objects[path]?.interfaces[interface]?.properties[property] != nil else { return [] }
        objects[path]?.interfaces[interface]?.properties[property] = value
        return [changed(path, interface, [property: value])]
    }

    /// The result of a call. The connection calls the handler, so that the handler can change the tree.
    enum Step {
        case answer(DBusAnswer)
        case method(DBusMethod)

        static func failure(_ name: String, _ message: String) -> Step { .answer(.failure(name, message)) }
    }

    func step(for invocation: DBusInvocation) -> Step {
        guard objects[invocation.path] != nil || !children(of: invocation.path).isEmpty else {
            return .failure(DBusFailure.unknownObject, "unknown object \(invocation.path)")
        }
        // A call without an interface selects any interface with the method.
        let name =
            invocation.interface.isEmpty
            ? interface(having: invocation.member, at: invocation.path) : invocation.interface
        switch name {
        case Self.introspectable where invocation.member == "Introspect":
            return .answer(.values([.string(introspection(of: invocation.path))]))
        case Self.properties:
            return propertiesStep(for: invocation)
        case Self.objectManager
        where invocation.member == "GetManagedObjects" && objects[invocation.path]?.isManager == true:
            return .answer(.values([managedObjects(below: invocation.path)]))
        default:
            guard let interface = objects[invocation.path]?.interfaces[name] else {
                return .failure(DBusFailure.unknownInterface, "\(invocation.path) has no interface '\(name)'")
            }
            guard let method = interface.methods.first(where: { $0.name == invocation.member }) else {
                return .failure(DBusFailure.unknownMethod, "\(name) has no method '\(invocation.member)'")
            }
            let wanted = method.input.map(\.signature).joined()
            let given = invocation.arguments.map(\.type.signature).joined()
            guard wanted == given else {
                return .failure(
                    DBusFailure.invalidArguments, "\(name).\(method.name) takes '\(wanted)', not '\(given)'")
            }
            return .method(method)
        }
    }

    private func interface(having member: String, at path: String) -> String {
        let own = objects[path]?.interfaces.values.filter { $0.methods.contains { $0.name == member } }.map(\.name)
            .sorted().first
        return own
            ?? (member == "Introspect"
                ? Self.introspectable : member == "GetManagedObjects" ? Self.objectManager : Self.properties)
    }
}

// MARK: - Properties

extension DBusObjectTree {
    private func changed(_ path: String, _ interface: String, _ values: [String: DBusValue]) -> Emission {
        let arguments: [DBusValue] = [.string(interface), .properties(values), .array(.string, [])]
        return Emission(path: path, interface: Self.properties, signal: "PropertiesChanged", arguments: arguments)
    }

    private func propertiesStep(for invocation: DBusInvocation) -> Step {
        let arguments = invocation.arguments
        guard let name = arguments.first?.text else {
            return .failure(DBusFailure.invalidArguments, "the first argument must be an interface name")
        }
        guard let interface = objects[invocation.path]?.interfaces[name] else {
            return .failure(DBusFailure.unknownInterface, "\(invocation.path) has no interface '\(name)'")
        }
        switch (invocation.member, arguments.count) {
        case ("GetAll", 1):
            return .answer(.values([.properties(interface.properties)]))
        case ("Get", 2), ("Set", 3):
            guard let key = arguments[1].text, let value = interface.properties[key] else {
                return .failure(DBusFailure.unknownProperty, "\(name) has no property '\(arguments[1].text ?? "")'")
            }
            guard invocation.member == "Get" else {
                return .failure(DBusFailure.readOnly, "\(name).\(key) cannot be set")
            }
            return .answer(.values([.variant(value)]))
        case ("GetAll", _), ("Get", _), ("Set", _):
            return .failure(
                DBusFailure.invalidArguments, "\(invocation.member) does not take \(arguments.count) arguments")
        default:
            return .failure(DBusFailure.unknownMethod, "unknown method '\(invocation.member)'")
        }
    }
}

// MARK: - ObjectManager and Introspectable

extension DBusObjectTree {
    private func manager(of path: String) -> String? {
        objects.filter { $0.value.isManager && $0.key != path && isBelow(path, $0.key) }.keys.max {
            $0.utf8.count < $1.utf8.count
        }
    }

    private func isBelow(_ path: String, _ root: String) -> Bool {
        root == "/" ? path != "/" : path.hasPrefix(root + "/")
    }

    /// All interfaces of an object and their properties, as `a{sa{sv}}`.
    private func described(_ path: String) -> DBusValue {
        let interfaces = objects[path]?.interfaces ?? [:]
        let entries = interfaces.sorted { $0.key < $1.key }.map { name, interface in
            DBusValue.Entry(.string(name), .properties(interface.properties))
        }
        return .dictionary(.string, .dictionary(.string, .variant), entries)
    }

    private func managedObjects(below root: String) -> DBusValue {
        let paths = objects.filter { isBelow($0.key, root) && !$0.value.interfaces.isEmpty }.keys.sorted()
        return .dictionary(
            .objectPath, .dictionary(.string, .dictionary(.string, .variant)),
            paths.map { .init(.objectPath($0), described($0)) })
    }

    /// The names one level below a path.
    private func children(of path: String) -> [String] {
        let prefix = path == "/" ? "/" : path + "/"
        let names = objects.keys.filter { $0.hasPrefix(prefix) && $0 != path }
            .compactMap { $0.dropFirst(prefix.count).split(separator: "/").first.map(String.init) }
        return Array(Set(names)).sorted()
    }

    private func introspection(of path: String) -> String {
        var text = """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN" \
            "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>

            """
        let object = objects[path]
        text += Self.introspectableXML
        if let object, !object.interfaces.isEmpty {
            text += Self.propertiesXML
            for interface in object.interfaces.values.sorted(by: { $0.name < $1.name }) { text += Self.xml(interface) }
        }
        if object?.isManager == true { text += Self.objectManagerXML }
        for child in children(of: path) { text += " <node name=\"\(child)\"/>\n" }
        return text + "</node>\n"
    }

    private static let introspectableXML = """
         <interface name="\(introspectable)">
          <method name="Introspect">
           <arg name="xml_data" type="s" direction="out"/>
          </method>
         </interface>

        """

    private static let propertiesXML = """
         <interface name="\(properties)">
          <method name="Get">
           <arg name="interface" type="s" direction="in"/>
           <arg name="name" type="s" direction="in"/>
           <arg name="value" type="v" direction="out"/>
          </method>
          <method name="GetAll">
           <arg name="interface" type="s" direction="in"/>
           <arg name="properties" type="a{sv}" direction="out"/>
          </method>
          <method name="Set">
           <arg name="interface" type="s" direction="in"/>
           <arg name="name" type="s" direction="in"/>
           <arg name="value" type="v" direction="in"/>
          </method>
          <signal name="PropertiesChanged">
           <arg name="interface" type="s"/>
           <arg name="changed" type="a{sv}"/>
           <arg name="invalidated" type="as"/>
          </signal>
         </interface>

        """

    private static let objectManagerXML = """
         <interface name="\(objectManager)">
          <method name="GetManagedObjects">
           <arg name="objects" type="a{oa{sa{sv}}}" direction="out"/>
          </method>
          <signal name="InterfacesAdded">
           <arg name="object" type="o"/>
           <arg name="interfaces" type="a{sa{sv}}"/>
          </signal>
          <signal name="InterfacesRemoved">
           <arg name="object" type="o"/>
           <arg name="interfaces" type="as"/>
          </signal>
         </interface>

        """

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
            text += "  <property name=\"\(name)\" type=\"\(value.type.signature)\" access=\"read\"/>\n"
        }
        return text + " </interface>\n"
    }
}
