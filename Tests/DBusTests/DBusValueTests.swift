import DBus
import DBusSupport
import Foundation
import Glibc
import Support
import Testing

@Suite struct DBusValueTests {
    static let values: [DBusValue] = [
        .byte(255), .boolean(true), .boolean(false), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max),
        .int64(.min), .uint64(.max),
        .double(-0.5), .string(""), .string("Wässerchen 💧"), .objectPath("/"), .objectPath("/org/bluez/hci0"),
        .signature("a{sv}"), .signature(""),
        .bytes([]), .bytes(Array(0...255)), .array("s", []), .strings(["one", "two"]),
        .array("ay", [.bytes([1]), .bytes([])]),
        .structure([.byte(1), .structure([.string("in")])]), .variant(.variant(.bytes([9]))), .properties([:]),
        .properties(["a": .byte(1), "b": .strings([])]),
        .dictionary("q", "v", [.init(.uint16(0xFFFF), .variant(.bytes([1, 2])))]),
        .dictionary("o", "a{sa{sv}}", []),
        .array("(oa{sv})", []),
    ]

    @Test func `values of every type and random values survive a round trip`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let bus = try await PrivateBus()
        let (server, client) = (try await bus.connect(), try await bus.connect())
        for value in Self.values + (0..<100).map({ _ in Self.random(depth: 4, &generator) }) {
            let echo = DBusMethod("Echo", input: [.init("in", value.type)]) { .values($0.arguments) }
            await server.export("/echo", [DBusInterface("test.Echo", methods: [echo])])
            let reply = try await client.call(DBusCall(await server.uniqueName, "/echo", "test.Echo", "Echo", [value]))
            #expect(reply == [value], "seed \(seed)")
        }
        await server.close()
        await client.close()
    }

    static func random(depth: Int, _ generator: inout SeededGenerator) -> DBusValue {
        switch Int.random(in: 0..<(depth > 0 ? 12 : 8), using: &generator) {
        case 0: .byte(.random(in: 0...255, using: &generator))
        case 1: .boolean(.random(using: &generator))
        case 2: .int16(.random(in: .min ... .max, using: &generator))
        case 3: .uint64(.random(in: .min ... .max, using: &generator))
        case 4: .double(.random(in: -1e9...1e9, using: &generator))
        case 5:
            .string(
                String(
                    (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                        "aé水💧".randomElement(using: &generator) ?? "a"
                    }))
        case 6:
            .objectPath("/" + (0..<Int.random(in: 1...4, using: &generator)).map { "p\($0)" }.joined(separator: "/"))
        case 7:
            .bytes(
                (0..<Int.random(in: 0...600, using: &generator)).map { _ in .random(in: 0...255, using: &generator) })
        case 8: .variant(random(depth: depth - 1, &generator))
        case 9:
            .structure((0..<Int.random(in: 1...3, using: &generator)).map { _ in random(depth: depth - 1, &generator) })
        case 10: .properties(["k\(UInt8.random(in: 0...9, using: &generator))": random(depth: depth - 1, &generator)])
        default:
            { value in value.type == "y" ? .bytes([1]) : .array(value.type, Array(repeating: value, count: 3)) }(
                random(depth: depth - 1, &generator))
        }
    }

    /// libdbus aborts the process for each of these.
    @Test(arguments: [
        DBusValue.string("a\0b"), .objectPath("no path"), .objectPath(""), .signature("a"), .structure([]),
        .array("s", [.byte(1)]), .array("ss", []), .array("", []),
        .dictionary("v", "s", []), .dictionary("s", "v", [.init(.byte(1), .variant(.byte(1)))]),
        (0..<40).reduce(DBusValue.byte(1)) { value, _ in .variant(value) },
        (0..<40).reduce(DBusValue.byte(1)) { value, _ in .structure([value]) },
    ])
    func `values that cannot be encoded are rejected`(_ value: DBusValue) async throws {
        let bus = try await PrivateBus()
        let connection = try await bus.connect()
        let failure = await #expect(throws: DBusFailure.self) {
            try await connection.call(DBusCall("org.freedesktop.DBus", "/", "test.Any", "Any", [value]))
        }
        #expect(failure?.name == DBusFailure.unsendable)
        let daemon = try await connection.call(DBusCall("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
        #expect(daemon.count == 1, "the connection still works")
        await connection.close()
    }

    @Test func `a file descriptor is passed and closed once`() async throws {
        let bus = try await PrivateBus()
        let (server, client) = (try await bus.connect(), try await bus.connect())
        await server.export(
            "/fd",
            [
                DBusInterface(
                    "test.FD",
                    methods: [
                        DBusMethod("Give", output: [.init("fd", "h")]) { _ in
                            var ends: [Int32] = [0, 0]
                            guard pipe(&ends) == 0, write(ends[1], "water", 5) == 5 else {
                                return .failure("test.Failed", "no pipe")
                            }
                            close(ends[1])
                            return .values([.fileDescriptor(OwnedDescriptor(ends[0]))])
                        }
                    ])
            ])
        let reply = try await client.call(DBusCall(await server.uniqueName, "/fd", "test.FD", "Give"))
        let descriptor = try #require(reply.first?.descriptor)
        let number = try #require(descriptor.take())
        #expect(descriptor.take() == nil)
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(read(number, &buffer, 8) == 5)
        #expect(read(number, &buffer, 8) == 0, "the sender's end is closed")
        close(number)
        await server.close()
        await client.close()
    }
}
