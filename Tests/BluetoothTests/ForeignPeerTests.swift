import Bluetooth
import Foundation
import Support
import Testing

/// Both links against independent peers: see `Tests/Foreign`.
@Suite struct ForeignPeerTests {
    private static let folder = Program.repository + "/Tests/Foreign/"

    private func python() throws -> Program {
        try #require(Program(system: "python3"), "python3 is not installed: run hardware/bench setup")
    }

    private func json(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    /// A peripheral that answers every request of the link.
    private func withPeripheral(_ path: String, _ body: () async throws -> Void) async throws {
        let link = ATTPeripheralLink(try UnixSocket(path: path))
        try await link.open(smallBottle)
        let application = Task {
            for await event in link.events {
                switch event {
                case .read(_, _, _, let token): link.perform(.respond(token: token, .value(Array(0..<200))))
                case .write(_, _, _, let token?): link.perform(.respond(token: token, .value([])))
                default: break
                }
            }
        }
        do { try await body() } catch { await link.close(); throw error }
        await link.close()
        await application.value
    }

    @Test func `an independent central discovers the attribute table`() async throws {
        let path = temporarySocket()
        try await withPeripheral(path) {
            let result = try await python().run([Self.folder + "att_central.py", path, "dump"])
            #expect(result.exitCode == 0, "\(result.error)")
            let dump = try json(result.output)
            #expect(dump["mtu"] as? Int == 517)
            let services = try #require(dump["services"] as? [[String: Any]])
            #expect(
                services.map { $0["uuid"] as? String } == [
                    "1800", "1801", "FFE0", "000102030405060708090A0B0C0D1912", "180A",
                ])
            let characteristics = services.flatMap { $0["characteristics"] as? [[String: Any]] ?? [] }
            let response = try #require(characteristics.first { $0["uuid"] as? String == "FFE4" })
            #expect(response["properties"] as? Int == 0x12)
            #expect(response["descriptors"] as? [String: Int] == ["2902": 13, "2901": 14])
            #expect(response["value"] as? String == (0..<200).map { String(format: "%02x", $0) }.joined())
            #expect(
                characteristics.first { $0["uuid"] as? String == "2A00" }?["value"] as? String
                    == Data("WaterH-Boost-24oz".utf8).map { String(format: "%02x", $0) }.joined())
        }
    }

    @Test func `the server survives invalid PDUs of an independent central`() async throws {
        let path = temporarySocket()
        try await withPeripheral(path) {
            let result = try await python().run([Self.folder + "att_central.py", path, "misuse"])
            #expect(result.exitCode == 0, "\(result.error)")
            #expect((try json(result.output)["survived"] as? [String])?.count == 7)
        }
    }

    private func withBottle(_ arguments: [String], _ body: (LinkUser) async throws -> Void) async throws {
        let path = temporarySocket()
        let bottle = try python().start([Self.folder + "att_bottle.py", path] + arguments)
        _ = try await bottle.line { $0 == "ready" }
        let user = LinkUser(ATTCentralLink(try UnixSocket(path: path)), PeerID(path))
        do { try await body(user) } catch { await user.link.close(); throw error }
        await user.link.close()
        bottle.send(signal: SIGKILL)
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test func `the client discovers, reads and subscribes to an independent peripheral`() async throws {
        for lie in [[], ["--lie", "no-mtu"]] {
            try await withBottle(lie) { user in
                let mtu = try await user.perform(.connect(user.peer, limit: .seconds(5))) {
                    if case .connected(_, let mtu) = $0 { mtu } else { nil }
                }
                #expect(mtu == (lie.isEmpty ? 247 : 23))
                let services = try await user.perform(.discover) {
                    if case .discovered(let all) = $0 { all } else { nil }
                }
                #expect(services.map(\.uuid) == [0x1800, 0x180A, 0xFFE5, 0xFFE0])
                #expect(services.flatMap(\.characteristics).map(\.handle) == [3, 6, 9, 12])
                let serial = try await user.perform(.read(handle: 6)) {
                    if case .read(6, let value) = $0 { value } else { nil }
                }
                #expect(serial == Array("A4:C1:38:0F:0E:0D".utf8))
                _ = try await user.perform(.subscribe(handle: 12)) { if case .subscribed = $0 { true } else { nil } }
                let answer = try await user.perform(
                    .write(handle: 9, value: [0x47, 0x54, 0, 1, 6], withResponse: false)
                ) {
                    if case .notification(12, let value) = $0 { value } else { nil }
                }
                #expect(answer == bytes("52 50 00 03 02 06 01"))
            }
        }
    }

    @Test func `unexpected responses of an independent peripheral are ignored`() async throws {
        try await withBottle(["--lie", "unasked"]) { user in
            _ = try await user.perform(.connect(user.peer, limit: .seconds(5))) {
                if case .connected = $0 { true } else { nil }
            }
            let services = try await user.perform(.discover) { event -> [RemoteService]? in
                if case .discovered(let services) = event { services } else { nil }
            }
            #expect(!services.isEmpty)
        }
    }

    @Test(arguments: ["endless-services", "wrong-lengths"])
    func `discovery of an invalid attribute table ends with a reason`(lie: String) async throws {
        try await withBottle(["--lie", lie]) { user in
            _ = try await user.perform(.connect(user.peer, limit: .seconds(5))) {
                if case .connected = $0 { true } else { nil }
            }
            let error = try await user.perform(.discover) { event -> LinkError? in
                switch event {
                case .discoveryFailed(let error), .disconnected(let error?): error
                default: nil
                }
            }
            #expect(error.code == .protocolViolation, "\(error)")
        }
    }

    @Test func `a connection to a silent peripheral ends at the time limit`() async throws {
        try await withBottle(["--lie", "mute"]) { user in
            let error = try await user.perform(.connect(user.peer, limit: .milliseconds(300))) {
                if case .connectFailed(let error) = $0 { error } else { nil }
            }
            #expect(error.code == .timeout)
        }
    }
}

/// A central's link with one response per request.
private struct LinkUser {
    let link: ATTCentralLink
    let peer: PeerID
    let events: Inbox<CentralEvent>

    init(_ link: ATTCentralLink, _ peer: PeerID) {
        self.link = link
        self.peer = peer
        events = Inbox(link.events)
    }

    func perform<Answer: Sendable>(_ request: CentralRequest, _ match: @escaping @Sendable (CentralEvent) -> Answer?)
        async throws -> Answer
    {
        link.perform(request)
        return try await events.next("\(request)", match)
    }
}
