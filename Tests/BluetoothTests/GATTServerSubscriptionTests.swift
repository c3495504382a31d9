import Bluetooth
import Testing

@Suite struct GATTServerSubscriptionTests {
    @Test func `a subscription applies to its central only`() throws {
        var conversation = try Conversation()
        let other = CentralID("two")
        _ = conversation.feed(.opened(other))
        #expect(conversation.exchange("12 0D 00 01 00") == "13")
        #expect(conversation.exchange("0A 0D 00") == "0B 01 00")
        #expect(conversation.feed(.received(other, bytes("0A 0D 00"))) == [bytes("0B 00 00")])
        // A repeated subscription has no effect.
        #expect(conversation.exchange("12 0D 00 01 00") == "13")
        #expect(conversation.feed(.request(.notify(0xFFE4, value: [1, 2]))) == [bytes("1B 0C 00 01 02")])
        #expect(conversation.exchange("12 0D 00 00 00") == "13")
        #expect(conversation.feed(.request(.notify(0xFFE4, value: [3]))).isEmpty)
        #expect(
            conversation.events == [
                .connected(other), .subscribed(conversation.central, 0xFFE4), .notified(0xFFE4),
                .unsubscribed(conversation.central, 0xFFE4), .notified(0xFFE4),
            ])
    }

    @Test func `every subscriber receives a notified value`() throws {
        var conversation = try Conversation()
        let other = CentralID("two")
        _ = conversation.feed(.opened(other))
        for central in [conversation.central, other] {
            _ = conversation.feed(.received(central, bytes("12 0D 00 01 00")))
        }
        #expect(conversation.feed(.request(.notify(0xFFE4, value: [1]))).count == 2)
    }

    @Test(arguments: [(nil, 20), (50, 47), (517, 514)])
    func `notifications are truncated to the MTU`(mtu: Int?, length: Int) throws {
        var conversation = try Conversation(mtu: mtu)
        _ = conversation.exchange("12 0D 00 01 00")
        let sent = conversation.feed(.request(.notify(0xFFE4, value: Array(repeating: 1, count: 600))))
        #expect(sent.first?.count == length + 3)
    }

    @Test func `an indication waits for the confirmation of the previous one`() throws {
        var conversation = try Conversation()
        _ = conversation.exchange("12 19 00 02 00")
        conversation.events = []
        #expect(conversation.feed(.request(.notify(0x2A19, value: [1]))) == [bytes("1D 18 00 01")])
        #expect(conversation.feed(.request(.notify(0x2A19, value: [2]))).isEmpty)
        #expect(conversation.events.isEmpty)
        #expect(conversation.exchange("1E") == "1D 18 00 02")
        #expect(conversation.events == [.notified(0x2A19)])
        #expect(conversation.server.nextDeadline == .after(.seconds(30)))
        conversation.now = .after(.seconds(30))
        _ = conversation.feed(.tick)
        #expect(conversation.isClosed)
        #expect(conversation.events == [.notified(0x2A19), .disconnected(conversation.central), .notified(0x2A19)])
    }

    @Test func `values wait while a bearer is congested`() throws {
        var conversation = try Conversation()
        _ = conversation.exchange("12 0D 00 01 00")
        conversation.events = []
        _ = conversation.feed(.congested(conversation.central))
        for value in 1...3 { #expect(conversation.feed(.request(.notify(0xFFE4, value: [UInt8(value)]))).isEmpty) }
        #expect(conversation.events.isEmpty)
        #expect(conversation.feed(.drained(conversation.central)).map(\.last) == [1, 2, 3])
        #expect(conversation.events == Array(repeating: .notified(0xFFE4), count: 3))
    }

    @Test func `a central that receives nothing is disconnected`() throws {
        var conversation = try Conversation()
        _ = conversation.exchange("12 0D 00 01 00")
        _ = conversation.feed(.congested(conversation.central))
        conversation.now = .after(.seconds(30))
        _ = conversation.feed(.tick)
        #expect(conversation.isClosed)

        conversation = try Conversation()
        _ = conversation.exchange("12 0D 00 01 00")
        _ = conversation.feed(.congested(conversation.central))
        for _ in 0..<5000 { _ = conversation.feed(.request(.notify(0xFFE4, value: [1]))) }
        #expect(conversation.isClosed)
        #expect(conversation.events.count { $0 == .notified(0xFFE4) } == 5000)
        #expect(conversation.log.count == 1)
    }

    @Test func `the link handles Service Changed subscriptions`() throws {
        var conversation = try Conversation()
        #expect(conversation.exchange("12 09 00 02 00") == "13")
        #expect(conversation.events.isEmpty)
    }

    @Test func `notifying an unknown characteristic logs a line and completes`() throws {
        var conversation = try Conversation()
        #expect(conversation.feed(.request(.notify(0x1234, value: [1]))).isEmpty)
        #expect(conversation.events == [.notified(0x1234)])
        #expect(conversation.log.count == 1)
    }

    @Test func `a disconnect removes all state of the central`() throws {
        var conversation = try Conversation()
        _ = conversation.exchange("12 0D 00 01 00")
        _ = conversation.exchange("16 13 00 00 00 01")
        _ = conversation.feed(.closed(conversation.central))
        _ = conversation.feed(.opened(conversation.central))
        #expect(conversation.exchange("0A 0D 00") == "0B 00 00")
        conversation.events = []
        #expect(conversation.exchange("18 01") == "19")
        #expect(conversation.events.isEmpty)
        _ = conversation.feed(.request(.disconnect(conversation.central)))
        #expect(conversation.isClosed)
        #expect(conversation.events == [.disconnected(conversation.central)])
        #expect(conversation.feed(.received(conversation.central, bytes("0A 05 00"))).isEmpty)
    }

    @Test func `invalid attribute tables are rejected`() {
        let twice = LocalService(
            uuid: 0xFF00,
            characteristics: [
                LocalCharacteristic(uuid: 0xFF01, properties: .read),
                LocalCharacteristic(uuid: 0xFF01, properties: .read),
            ])
        let long = LocalService(
            uuid: 0xFF00,
            characteristics: [
                LocalCharacteristic(uuid: 0xFF01, properties: .read, constant: Array(repeating: 0, count: 513))
            ])
        for service in [twice, long] {
            #expect(throws: LinkError.self) { try GATTServer(GATTApplication(name: "x", services: [service])) }
        }
        let many = LocalService(
            uuid: 0xFF00,
            characteristics: (0..<40_000).map {
                LocalCharacteristic(uuid: BluetoothUUID(high: 1, low: $0), properties: .read)
            })
        #expect(throws: LinkError.self) { try GATTServer(GATTApplication(name: "x", services: [many])) }
    }
}
