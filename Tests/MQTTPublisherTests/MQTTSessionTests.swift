import Foundation
import Support
import Synchronization
import Testing

@testable import HomeAssistant

@Suite struct MQTTSessionTests {
    private func options(_ broker: Broker, _ id: String = "bench") throws -> MQTTOptions {
        MQTTOptions(address: try MQTTAddress(broker.url), clientID: id)
    }

    /// A connection that the broker has accepted, with a subscription to `topic`.
    private func connect(
        _ options: MQTTOptions, to topic: String? = nil,
        _ handle: @escaping @Sendable (MQTTMessage) throws -> Void = { _ in }
    ) async throws -> MQTTConnection {
        let session = try MQTTConnection(options, receive: handle)
        try await session.connected()
        if let topic { try await session.subscribe([topic]) }
        return session
    }

    /// The number of messages that the client has acknowledged. The broker must log everything.
    private func acknowledged(_ broker: Broker) -> Int {
        broker.log.split(separator: "\n").count { $0.contains("Received PUBACK from bench") }
    }

    private final class Box<Value: Sendable>: Sendable {
        private let held: Mutex<Value>
        init(_ value: Value) { held = Mutex(value) }
        var value: Value { held.withLock { $0 } }
        func change(_ body: @Sendable (inout Value) -> Void) { held.withLock { body(&$0) } }
    }

    @Test func `messages are confirmed and received in order`() async throws {
        let broker = try await Broker()
        let listener = try await broker.listen("t/#", as: "ear")
        let session = try await connect(options(broker))
        for batch in 0..<10 { _ = try await session.publish((0..<50).map { MQTTMessage("t/n", "\(batch * 50 + $0)") }) }
        let heard = await event { listener.payloads(at: "t/n").count == 500 ? listener.payloads(at: "t/n") : nil }
        #expect(heard == (0..<500).map(String.init))
        await session.close()
        #expect(await session.ended().kind == .closed)
        await #expect(throws: MQTTFailure.self) { try await session.publish([MQTTMessage("t/n", "late")]) }
    }

    @Test func `messages wait in a persistent session`() async throws {
        let (broker, inbox) = (try await Broker(), Box([MQTTMessage]()))
        try await connect(options(broker), to: "c/#") { message in inbox.change { $0.append(message) } }.close()
        try await broker.publish("c/one", "while away")
        try await broker.publish("c/kept", "rubbish", more: ["-r"])
        let second = try await connect(options(broker), to: "c/#") { message in inbox.change { $0.append(message) } }
        #expect(await eventually { inbox.value.contains { $0.isRetained } })
        #expect(inbox.value.first == MQTTMessage("c/one", "while away"))
        #expect(inbox.value.last == MQTTMessage("c/kept", "rubbish", isRetained: true))
        await second.close()
    }

    @Test func `a connection fails when no broker listens`() async throws {
        let options = MQTTOptions(
            address: MQTTAddress(host: "127.0.0.1", port: UInt16(try Broker.freePort())), clientID: "x")
        let failure = await #expect(throws: MQTTFailure.self) { try await connect(options) }
        #expect(
            failure?.kind == .unreachable && failure?.sentence.contains("refused") == true, "\(failure?.sentence ?? "")"
        )
    }

    @Test func `a connection to a silent broker ends at the time limit`() async throws {
        let broker = try await Broker()
        broker.signal(SIGSTOP)
        defer { broker.signal(SIGCONT) }
        var options = try options(broker)
        options.limit = .seconds(1)
        let failure = await #expect(throws: MQTTFailure.self) { try await connect(options) }
        #expect(failure?.kind == .noAnswer)
    }

    @Test func `a broker that stops or hangs is detected`() async throws {
        let broker = try await Broker()
        var options = try options(broker)
        options.limit = .seconds(1)
        let session = try await connect(options)
        broker.signal(SIGSTOP)
        let silent = await #expect(throws: MQTTFailure.self) { try await session.publish([MQTTMessage("t", "x")]) }
        #expect(silent?.kind == .noAnswer)
        broker.signal(SIGCONT)
        let again = try await connect(options)
        try await broker.stop()
        #expect(await again.ended().kind == .lost)
    }

    @Test func `an invalid topic is rejected`() async throws {
        let broker = try await Broker()
        let session = try await connect(options(broker))
        for message in [MQTTMessage("a/#", "x"), MQTTMessage("", "x")] {
            #expect(try await session.publish([message]).map(\.isAccepted) == [false])
        }
        _ = try await session.publish([MQTTMessage("t", "x")])
        await session.close()
    }

    private struct Unprocessed: Error {}

    @Test func `a message is confirmed when it was processed, otherwise the broker sends it again`() async throws {
        let broker = try await Broker { _ in ["allow_anonymous true", "log_type all"] }
        let (began, fails) = (Box(0), Box(false))
        let resumed = DispatchSemaphore(value: 0)
        func start() throws -> MQTTConnection {
            try MQTTConnection(options(broker)) { message in
                guard message.topic == "c/x" else { return }
                began.change { $0 += 1 }
                resumed.wait()
                if fails.value { throw Unprocessed() }
            }
        }
        let session = try start()
        try await session.connected()
        try await session.subscribe(["c/#"])
        try await broker.publish("c/x", "1")
        #expect(await eventually { began.value == 1 })
        // By then the broker has read all earlier writes.
        for _ in 0..<2 { try await broker.publish("d", "y") }
        #expect(acknowledged(broker) == 0, "\(broker.log)")
        resumed.signal()
        #expect(await eventually { acknowledged(broker) == 1 }, "\(broker.log)")

        fails.change { $0 = true }
        try await broker.publish("c/x", "2")
        #expect(await eventually { began.value == 2 })
        resumed.signal()
        #expect(await session.ended().kind == .closed && acknowledged(broker) == 1, "\(broker.log)")
        fails.change { $0 = false }
        let again = try start()
        #expect(await eventually { began.value == 3 }, "\(broker.log)")
        try await again.connected()
        resumed.signal()
        #expect(await eventually { acknowledged(broker) == 2 }, "\(broker.log)")
        await again.close()
    }

    /// Messages posted for a processed message fail, because the connection is closed. No thread blocks.
    @Test func `no thread blocks when the broker dies while a message is processed`() async throws {
        let broker = try await Broker()
        let began = Box(0)
        let resumed = DispatchSemaphore(value: 0)
        let session = try await connect(options(broker), to: "c/#") { _ in
            began.change { $0 += 1 }
            resumed.wait()
        }
        for text in ["1", "2"] { try await broker.publish("c/x", text) }
        #expect(await eventually { began.value == 1 })
        try await broker.stop()
        for _ in 0..<2 { resumed.signal() }
        #expect(await event { session.failure } != nil)
        #expect(await session.ended().kind == .lost)
    }

    /// Each command must be acknowledged before the next one runs. Otherwise a killed service runs commands twice.
    @Test func `queued messages are processed one at a time`() async throws {
        let broker = try await Broker { _ in ["allow_anonymous true", "log_type all"] }
        try await connect(options(broker), to: "c/#").close()
        let pub = try #require(Program(system: "mosquitto_pub"))
        let lines = (0..<40).map { "\($0)\n" }.joined()
        #expect(
            try await pub.run(["-p", "\(broker.port)", "-q", "1", "-t", "c/x", "-l"], input: Array(lines.utf8)).exitCode
                == 0)
        let came = Box([String]())
        let resumed = DispatchSemaphore(value: 0)
        let session = try await connect(options(broker)) { message in
            came.change { $0.append(message.text ?? "?") }
            resumed.wait()
        }
        for number in 0..<40 {
            #expect(await eventually { came.value.count == number + 1 })
            // The library reads as many messages at once as it awaits acknowledgements for.
            if number == 0 { session.post((0..<50).map { MQTTMessage("answer", "\($0)") }) }
            // While this message is processed, all earlier ones are acknowledged, and it is not.
            #expect(await eventually { acknowledged(broker) == number }, "message \(number): \(broker.log)")
            resumed.signal()
        }
        #expect(came.value == (0..<40).map(String.init))
        await session.close()
    }

    /// With MQTT 5 the broker drops messages above the size limit, and later messages arrive.
    @Test func `a message above the size limit is rejected`() async throws {
        let (broker, inbox) = (try await Broker(), Box([MQTTMessage]()))
        let session = try await connect(options(broker), to: "c/#") { message in inbox.change { $0.append(message) } }
        let file = broker.folder.url("huge")
        try Data().write(to: file)
        try FileHandle(forWritingTo: file).truncate(atOffset: 200_000_000)
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        let before = try highest()
        for _ in 0..<2 {
            let sent = try await #require(Program(system: "mosquitto_pub")).run([
                "-p", "\(broker.port)", "-q", "1", "-t", "c/x", "-f", file.path,
            ])
            #expect(sent.exitCode == 0, "\(sent.error)")
        }
        try await broker.publish("c/x", "small")
        #expect(await eventually { !inbox.value.isEmpty } && inbox.value == [MQTTMessage("c/x", "small")])
        let grown = try highest() - before
        print("huge messages: \(grown) kB more")
        #expect(grown < 50_000)
        await session.close()
    }

    /// VmHWM, kB.
    private func highest() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.split(separator: " ").dropLast().last ?? ""))
    }

    /// A broker without MQTT 5 rejects it or disconnects: the client continues with 3.1.1. Of a large message only the
    /// beginning is delivered.
    @Test(arguments: [true, false]) func `a broker with MQTT 3.1.1 works`(saysSo: Bool) async throws {
        let (old, inbox) = (try OldBroker(saysSo: saysSo), Box([MQTTMessage]()))
        let session = try await MQTTConnection.open(
            MQTTOptions(address: MQTTAddress(host: "127.0.0.1", port: UInt16(old.port)), clientID: "x")
        ) { message in inbox.change { $0.append(message) } }
        let message = await event { inbox.value.first }
        #expect(message?.topic == "c" && message?.payload.count == MQTTMessage.incomingLimit + 1)
        #expect(old.versions == [5, 4])
        await session.close()
    }

    @Test(arguments: [("me", "right", true), ("me", "wrong", false), ("you", "right", false)])
    func `a broker with a password rejects a connection without it`(user: String, password: String, isLetIn: Bool)
        async throws
    {
        let broker = try await Broker { folder in
            let make = URL(fileURLWithPath: try #require(Program(system: "mosquitto_passwd")).path)
            try Process.run(make, arguments: ["-b", "-c", folder.file("users"), "me", "right"]).waitUntilExit()
            return ["allow_anonymous false", "password_file \(folder.file("users"))"]
        }
        var options = try options(broker)
        (options.user, options.password) = (user, password)
        if isLetIn { return try await connect(options).close() }
        let failure = await #expect(throws: MQTTFailure.self) { try await connect(options) }
        #expect(failure?.kind == .refused, "\(failure?.sentence ?? "")")
    }

    @Test func `the certificate and the host name of a broker are verified`() async throws {
        let certificates = try await Certificates()
        let port = try Broker.freePort()
        let broker = try await Broker({ _ in
            [
                "allow_anonymous true", "listener \(port) 127.0.0.1", "cafile \(certificates.file("ca.pem"))",
                "certfile \(certificates.file("server.pem"))", "keyfile \(certificates.file("server.key"))",
                "require_certificate true",
            ]
        })
        _ = broker
        func attempt(_ host: String, _ change: (inout MQTTOptions) -> Void = { _ in }) async throws {
            var options = MQTTOptions(
                address: MQTTAddress(host: host, port: UInt16(port), isEncrypted: true), clientID: "tls")
            options.authorities = certificates.file("ca.pem")
            (options.certificate, options.key) = (certificates.file("client.pem"), certificates.file("client.key"))
            change(&options)
            let session = try await connect(options)
            _ = try await session.publish([MQTTMessage("t", "secret")])
            await session.close()
        }
        try await attempt("localhost")
        for (host, change) in [
            ("127.0.0.1", { _ in }), ("localhost", { $0.authorities = certificates.file("other.pem") }),
            ("localhost", { $0.authorities = nil }), ("localhost", { ($0.certificate, $0.key) = (nil, nil) }),
            ("localhost", { $0.authorities = certificates.file("nothing.pem") }),
        ] as [(String, (inout MQTTOptions) -> Void)] {
            let failure = await #expect(throws: MQTTFailure.self) { try await attempt(host, change) }
            print("TLS:", failure?.sentence ?? "")
            #expect(failure != nil)
        }
        let half = await #expect(throws: MQTTFailure.self) { try await attempt("localhost") { $0.key = nil } }
        #expect(half?.kind == .invalid)
    }
}
