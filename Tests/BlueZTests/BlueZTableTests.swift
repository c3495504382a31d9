import Bluetooth
import Foundation
import Support
import Testing

@testable import BlueZ
@testable import DBus

@Suite struct BlueZErrorTests {
    /// Each row has an error name and message of bluetoothd, and the expected code, retry decision and ATT error code.
    @Test(arguments: [
        ("org.bluez.Error.InProgress", "In Progress", "in-progress", true, nil as UInt8?),
        ("org.bluez.Error.Failed", "le-connection-abort-by-local", "connect-failed", true, nil),
        ("org.bluez.Error.Failed", "Software caused connection abort", "connect-failed", true, nil),
        ("org.bluez.Error.Failed", "Operation already in progress", "in-progress", true, nil),
        ("org.bluez.Error.Failed", "Operation failed with ATT error: 0x0e", "refused", false, 0x0E),
        ("org.bluez.Error.Failed", "Operation failed with ATT error: 0xzz", "system", true, nil),
        ("org.bluez.Error.Failed", "something new", "system", true, nil),
        ("org.bluez.Error.Failed", "le-connection-adapter-not-powered", "powered-off", false, nil),
        ("org.bluez.Error.Failed", "Not Powered", "powered-off", false, nil),
        ("org.bluez.Error.NotPermitted", "Notify acquired", "in-progress", true, nil),
        ("org.bluez.Error.NotPermitted", "Maximum advertisements reached", "in-progress", true, nil),
        ("org.bluez.Error.NotReady", "Resource Not Ready", "powered-off", false, nil),
        ("org.bluez.Error.AuthenticationFailed", "", "connect-failed", true, nil),
        ("org.bluez.Error.NotAvailable", "", "connect-failed", true, nil),
        ("org.bluez.Error.NotPermitted", "Write not permitted", "refused", false, 0x03),
        ("org.bluez.Error.InvalidArguments", "Invalid Length", "refused", false, 0x0D),
        ("org.bluez.Error.InvalidArguments", "Invalid arguments in method call", "out-of-step", false, nil),
        ("org.freedesktop.DBus.Error.NoReply", "", "timeout", true, nil),
        (
            "org.freedesktop.DBus.Error.NoReply", "Message recipient disconnected from message bus without replying",
            "service-lost", true, nil
        ),
        ("org.freedesktop.DBus.Error.UnknownObject", "", "disconnected", true, nil),
        ("org.freedesktop.DBus.Error.ServiceUnknown", "", "service-lost", true, nil),
        ("org.freedesktop.DBus.Error.AccessDenied", "", "permission-denied", false, nil),
        ("com.example.Unheard", "of", "system", true, nil),
    ])
    func `errors of bluetoothd map to link errors`(
        _ name: String, _ message: String, _ code: String, _ isTransient: Bool, _ att: UInt8?
    ) {
        let error = BlueZErrors.error(DBusFailure(name, message), "Trying failed")
        #expect(error.code.rawValue == code)
        #expect(error.isTransient == isTransient)
        #expect(error.attError == att)
        #expect(error.sentence.hasPrefix("Trying failed"))
        #expect(error.cause?.hasPrefix(name) == true)
    }
}

@Suite struct NamedFileTests {
    @Test func `every file named in advice exists`() throws {
        let root = URL(fileURLWithPath: Program.repository)
        let sources = try #require(
            FileManager.default.enumerator(at: root.appending(path: "Sources"), includingPropertiesForKeys: nil))
        var named: Set<String> = []
        for case let file as URL in sources where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: #/hardware\/[A-Za-z0-9@_\-\/]+\.[a-z]+/#) {
                named.insert(String(match.output))
            }
        }
        #expect(named.contains("hardware/units/waterh-bus-policy.conf"))
        for path in named {
            #expect(
                FileManager.default.fileExists(atPath: root.appending(path: path).path),
                "\(path) is named and is not there")
        }
    }
}

@Suite struct BlueZObjectsTests {
    private func signal(_ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue]) -> DBusSignal {
        DBusSignal(sender: ":1.1", path: path, interface: interface, member: member, arguments: arguments)
    }

    private func interfaces(_ values: [String: [String: DBusValue]]) -> DBusValue {
        .dictionary("s", "a{sv}", values.map { .init(.string($0.key), .properties($0.value)) })
    }

    @Test func `invalid signals do not change the object cache`() {
        var objects = BlueZObjects()
        for (member, arguments) in [
            ("InterfacesAdded", []), ("InterfacesAdded", [DBusValue.byte(1), .byte(2)]),
            ("InterfacesAdded", [.objectPath("/x"), .strings(["a"])]),
            ("InterfacesRemoved", [.objectPath("/unknown"), .strings(["a"])]),
            ("PropertiesChanged", [.string("a"), .properties(["b": .byte(1)]), .strings([])]),
        ] as [(String, [DBusValue])] {
            #expect(objects.apply(signal("/", BlueZName.objectManager, member, arguments)) == nil)
            #expect(objects.apply(signal("/", BlueZName.properties, member, arguments)) == nil)
        }
        #expect(objects.objects.isEmpty)
        #expect(BlueZObjects(managedObjects: nil) == nil && BlueZObjects(managedObjects: .byte(1)) == nil)
    }

    @Test func `a device's services are read from object paths`() throws {
        let device = "/org/bluez/hci0/dev_1"
        var objects = BlueZObjects()
        for (path, name, properties) in [
            (
                "\(device)/service0010", BlueZName.gattService,
                ["UUID": DBusValue.string("0000ffe0-0000-1000-8000-00805f9b34fb"), "Primary": .boolean(true)]
            ),
            (
                "\(device)/service0010/char0011", BlueZName.gattCharacteristic,
                [
                    "UUID": .string("0000ffe4-0000-1000-8000-00805f9b34fb"),
                    "Service": .objectPath("\(device)/service0010"), "Flags": .strings(["notify", "unheard-of"]),
                ]
            ),
            (
                "\(device)/service0010/charFFFF", BlueZName.gattCharacteristic,
                ["UUID": .string("ffe4"), "Service": .objectPath("\(device)/service0010")]
            ),
            (
                "\(device)/service0010/nonsense", BlueZName.gattCharacteristic,
                ["UUID": .string("not a uuid"), "Service": .byte(1)]
            ),
            (
                "\(device)/service0020", BlueZName.gattService,
                ["UUID": .string("0000180a-0000-1000-8000-00805f9b34fb"), "Primary": .boolean(false)]
            ),
        ] as [(String, String, [String: DBusValue])] {
            _ = objects.apply(
                signal(
                    "/", BlueZName.objectManager, "InterfacesAdded",
                    [.objectPath(path), interfaces([name: properties])]))
        }
        let table = RemoteTable(of: device, in: objects)
        #expect(
            table.services == [
                RemoteService(
                    uuid: 0xFFE0, handle: 0x10,
                    characteristics: [RemoteCharacteristic(uuid: 0xFFE4, handle: 0x12, properties: [.notify])])
            ])
        #expect(table.paths == [0x12: "\(device)/service0010/char0011"])
    }
}
