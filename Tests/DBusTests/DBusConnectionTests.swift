import DBusSupport
import Foundation
import Support
import Testing

@testable import DBus

@Suite struct DBusConnectionTests {
    static func counter(_ received: Collected<Int>) -> DBusInterface {
        DBusInterface(
            "test.Counter",
            methods: [
                DBusMethod("Hear", input: [.init("number", "i")]) {
                    received.add($0.arguments[0].integer ?? -1); return .done
                },
                DBusMethod("Wait") { _ in .deferred },
                DBusMethod("Fail") { _ in .failure("test.Error.Asked", "as you wished") },
            ])
    }

    @Test func `calls to one object are handled in order`() async throws {
        let bus = try await PrivateBus()
        let (server, client) = (try await bus.connect(), try await bus.connect())
        let received = Collected<Int>()
        await server.export("/c", [Self.counter(received)])
        let name = await server.uniqueName
        for number in 0..<500 {
            await client.call(DBusCall(name, "/c", "test.Counter", "Hear", [.int32(Int32(number))])) { _ in }
        }
        #expect(await received.wait(for: 500) == Array(0..<500))
        await server.close()
        await client.close()
    }

    @Test func `every call ends with a reply or an error`() async throws {
        let bus = try await PrivateBus()
        let (server, client) = (try await bus.connect(), try await bus.connect())
        await server.export("/c", [Self.counter(Collected())])
        let name = await server.uniqueName
        let waiting = DBusCall(name, "/c", "test.Counter", "Wait")
        let late = await #expect(throws: DBusFailure.self) { try await client.call(waiting, limit: .milliseconds(100)) }
        #expect(late?.name == DBusFailure.noReply)
        let refused = await #expect(throws: DBusFailure.self) {
            try await client.call(DBusCall(name, "/c", "test.Counter", "Fail"))
        }
        #expect(refused == DBusFailure("test.Error.Asked", "as you wished"))
        for (call, error) in [
            (DBusCall(name, "/nobody", "test.Counter", "Hear"), DBusFailure.unknownObject),
            (DBusCall(name, "/c", "test.Other", "Hear"), DBusFailure.unknownInterface),
            (DBusCall(name, "/c", "test.Counter", "Nothing"), DBusFailure.unknownMethod),
            (DBusCall(name, "/c", "test.Counter", "Hear", [.string("1")]), DBusFailure.invalidArguments),
            (DBusCall("test.Nobody", "/", "test.Any", "Any"), DBusFailure.serviceUnknown),
        ] {
            let failure = await #expect(throws: DBusFailure.self) { try await client.call(call) }
            #expect(failure?.name == error)
        }
        let cancelled = Task { try await client.call(waiting) }
        cancelled.cancel()
        await #expect(throws: DBusFailure.self) { try await cancelled.value }
        let cut = Task { try await client.call(waiting) }
        let closing = Task { await client.close() }
        await #expect(throws: DBusFailure.self) { try await cut.value }
        await closing.value
        await server.close()
    }

    @Test func `the end of the bus connection is reported`() async throws {
        let bus = try await PrivateBus()
        let connection = try await bus.connect()
        let closed = Collected<Void>()
        await connection.whenClosed { closed.add(()) }
        let pending = Task { try await connection.call(DBusCall(await connection.uniqueName, "/", "test.Any", "Any")) }
        bus.stop()
        #expect(await closed.wait(for: 1).count == 1)
        await #expect(throws: DBusFailure.self) { try await pending.value }
        let after = await #expect(throws: DBusFailure.self) {
            try await connection.call(DBusCall("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
        }
        #expect(after?.name == DBusFailure.disconnected)
    }

    @Test func `a missing bus is reported`() async throws {
        let failure = await #expect(throws: DBusFailure.self) {
            try await DBusConnection.open(.address("unix:path=/nonexistent/bus"), on: QueueExecutor("test"))
        }
        #expect(failure?.message.contains("/nonexistent/bus") == true)
    }

    @Test func `a silent bus fails at the time limit`() async throws {
        let folder = try TemporaryFolder()
        let socat = try #require(Program(system: "python3"), "this test needs python3")
        let server = try socat.start([
            "-c",
            """
            import socket, time
            s = socket.socket(socket.AF_UNIX); s.bind('\(folder.file("mute"))'); s.listen(); print('ready', flush=True)
            c = s.accept(); time.sleep(60)
            """,
        ])
        _ = try await server.line { $0 == "ready" }
        await #expect(throws: DBusFailure.self) {
            try await DBusConnection.open(
                .address("unix:path=\(folder.file("mute"))"), on: QueueExecutor("test"), limit: .milliseconds(300))
        }
    }
}

@Suite struct DBusSignalTests {
    @Test func `signals arrive in order and only from the matched sender`() async throws {
        let bus = try await PrivateBus()
        let (sender, impostor, reader) = (try await bus.connect(), try await bus.connect(), try await bus.connect())
        #expect(try await sender.requestName("test.Sender"))
        #expect(try await !impostor.requestName("test.Sender"))
        let received = Collected<DBusSignal>()
        try await reader.subscribe(DBusMatch(sender: "test.Sender", path: "/a", interface: "test.I")) {
            received.add($0)
        }
        // A subscription by sender ignores equal signals of other senders.
        let everything = Collected<DBusSignal>()
        try await reader.subscribe(DBusMatch(interface: "test.I")) { everything.add($0) }
        try await impostor.emit(path: "/a", interface: "test.I", "Count", [.int32(-1)])
        for number in 0..<1000 {
            try await sender.emit(path: "/a", interface: "test.I", "Count", [.int32(Int32(number))])
        }
        try await sender.emit(path: "/a/b", interface: "test.I", "Count", [.int32(-2)])
        _ = await everything.wait(for: 1002)
        #expect(received.items.map { $0.arguments[0].integer } == (0..<1000).map { $0 })
        for connection in [sender, impostor, reader] { await connection.close() }
    }

    @Test func `name owners are tracked`() async throws {
        let bus = try await PrivateBus()
        let (first, reader) = (try await bus.connect(), try await bus.connect())
        let owners = Collected<String?>()
        try await reader.watchName("test.Service") { owners.add($0) }
        let received = Collected<Int?>()
        try await reader.subscribe(DBusMatch(sender: "test.Service", interface: "test.I")) {
            received.add($0.arguments.first?.integer)
        }
        #expect(try await first.requestName("test.Service"))
        try await first.emit(path: "/a", interface: "test.I", "Count", [.int32(1)])
        #expect(await received.wait(for: 1) == [1])
        await first.close()
        #expect(await owners.wait(for: 2).count == 2)
        let second = try await bus.connect()
        #expect(try await second.requestName("test.Service"))
        try await second.emit(path: "/a", interface: "test.I", "Count", [.int32(2)])
        #expect(await received.wait(for: 2) == [1, 2])
        #expect(await owners.wait(for: 3).map { $0 == nil } == [false, true, false])
        await second.close()
        await reader.close()
    }

    /// The reply has the old owner, the signal right after it the new one, and both arrive before either is read.
    @Test func `a name owner that changes during the query is stored`() async throws {
        let (bus, executor, gate) = (try await PrivateBus(), QueueExecutor("reader"), DispatchSemaphore(value: 0))
        let (first, second) = (try await bus.connect(), try await bus.connect())
        let reader = try await DBusConnection.open(.address(bus.address), on: executor)
        #expect(try await first.requestName("test.Service"))
        #expect(try await !second.requestName("test.Service", waits: true))
        let held = Collected<Bool>()
        /// Holds the queue from the second call on, which queries the owner.
        @Sendable func hold(from call: UInt32?) {
            let last = reader.assumeIsolated { $0.calls.keys.max() }
            if let call, let last, last > call {
                held.add(true)
                return gate.wait()
            }
            executor.queue.async { if held.items.isEmpty { hold(from: call ?? last) } }
        }
        executor.queue.async { hold(from: nil) }
        async let owner = reader.watchOwner(of: "test.Service")
        #expect(await held.wait(for: 1) == [true])
        _ = try await second.busID()
        await first.close()
        #expect(try await event { try await second.requestName("test.Service", waits: true) ? true : nil } == true)
        gate.signal()
        _ = try await owner
        _ = try await reader.busID()
        #expect(try await reader.watchOwner(of: "test.Service") == second.uniqueName)
        await reader.close()
        await second.close()
    }
}
