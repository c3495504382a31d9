import Bluetooth
import BottleProtocol
import Captures
import Foundation
import Replay
import Testing

@Suite struct AttributionTests {
    @Test func `the number of stored peers is limited, except for bottles`() throws {
        var talk = Conversation.retail()
        talk.notifyLog([record(600, 100)])
        talk.disconnect()
        for index in 0..<6000 {
            talk.connect(BluetoothAddress(0xC000_0000_0000 + UInt64(index)))
            if index.isMultiple(of: 2) { talk.notify([1, 2, 3], from: 0x30) }
            if index < 5000 { talk.discoverNothing() }
            talk.disconnect()
        }
        talk.connect(Conversation.bottle)
        talk.notifyLog([record(600, 100), record(601, 50)])
        let (drinks, reader) = try talk.drinks()
        #expect(drinks.map(\.amount) == [100, 50])
        #expect(reader.peers.filter(\.isBottle).map(\.address) == [Conversation.bottle])
        #expect((4000...4100).contains(reader.peers.count))
    }

    static let bottle = "A4:C1:38:01:02:03"
    let asked: [UInt8] = [0x47, 0x54, 0x00, 0x01, 0x06]

    @Test func `drinks are read from the discovered response characteristic`() throws {
        var talk = Conversation.retail()
        talk.write(asked)
        talk.notify([0x52, 0x50, 0x00, 0x03, 0x02, 0x06, 0x01])
        talk.notifyLog([record(600, 200), record(660, 150)])
        let (drinks, reader) = try talk.drinks()
        #expect(drinks.map(\.amount) == [200, 150])
        #expect(drinks.map(\.at) == ["2026-02-02T10:00:00", "2026-02-02T11:00:00"])
        #expect(drinks.allSatisfy { $0.bottle == Self.bottle && !$0.isDuplicate })
        #expect(reader.peers.first { $0.isBottle }?.basis == .discovered)
    }

    @Test func `the same bytes from another characteristic, another device or another side are not the bottle's`()
        throws
    {
        var talk = Conversation.retail()
        talk.notifyLog([record(600, 200)], from: 9)  // another characteristic
        // the host's own server, same handle
        for value in Conversation.log([record(601, 201)]) { talk.sent([0x1B, 0x06, 0x00] + value) }
        // written, not notified
        talk.write([0x50, 0x54, 0x00, 0x0F, 0x0E, 0x06] + record(602, 202))
        // another device, same handle, known to be something else
        talk.connect(BluetoothAddress(0x1122_3344_5566), handle: 0x41)
        talk.discover(talk.characteristic(5, 0x10, 6, 0x2A37))
        talk.notifyLog([record(603, 203)], from: 6)
        talk.resume(1)
        talk.notifyLog([record(604, 204)])
        #expect(try talk.drinks().drinks.map(\.amount) == [204])
    }

    @Test func `FFE4 outside service FFE0 is not a response characteristic`() throws {
        var talk = Conversation()
        talk.sent([0x10, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28])
        talk.received([0x11, 0x06, 0x01, 0x00, 0x0A, 0x00, 0xF0, 0xFF])
        talk.discoverRetail()
        talk.notifyLog([record(600, 200)])
        #expect(try talk.drinks().drinks.isEmpty)
    }

    @Test func `an attribute table applies to later connections to the same address`() throws {
        var talk = Conversation.retail()
        talk.disconnect()
        talk.connect(Conversation.bottle, handle: 0x42)
        talk.notifyLog([record(600, 200)])
        let (drinks, reader) = try talk.drinks()
        #expect(drinks.map(\.amount) == [200])
        #expect(reader.peers.first { $0.isBottle }?.basis == .carriedOver)
    }

    @Test func `an attribute table does not apply to another device with the same connection handle`() throws {
        var talk = Conversation.retail()
        talk.notifyLog([record(600, 200)])
        talk.disconnect()
        talk.connect(BluetoothAddress(0x1122_3344_5566), handle: 0x40)
        talk.notifyLog([record(601, 201)])
        #expect(try talk.drinks().drinks.map(\.amount) == [200])
    }

    @Test func `a repeated discovery with other handles replaces the attribute table`() throws {
        var talk = Conversation.retail()
        talk.disconnect()
        talk.connect(Conversation.bottle)
        talk.discoverRetail(command: 13, response: 16)
        talk.notifyLog([record(600, 200)], from: 6)
        talk.notifyLog([record(601, 201)], from: 16)
        #expect(try talk.drinks().drinks.map(\.amount) == [201])
    }

    @Test func `two adapters can use the same connection handle at one time`() throws {
        let other = BluetoothAddress(0xA4C1_38AA_BBCC)
        var talk = Conversation(adapter: 0)
        talk.discoverRetail()
        talk.connect(other, handle: 0x40, adapter: 1)
        talk.discoverRetail(response: 9)
        talk.resume(1)
        let logs = [
            Conversation.log([record(600, 200), record(601, 201)], entry: 1),
            Conversation.log([record(602, 202), record(603, 203)], entry: 1),
        ]
        for index in 0..<2 {
            talk.resume(1)
            talk.notify(logs[0][index])
            talk.resume(2)
            talk.notify(logs[1][index], from: 9)
        }
        let drinks = try talk.drinks().drinks
        #expect(drinks.map(\.amount) == [200, 201, 202, 203])
        #expect(drinks.map(\.bottle) == [Self.bottle, Self.bottle, "A4:C1:38:AA:BB:CC", "A4:C1:38:AA:BB:CC"])
    }

    @Test func `handles given as options apply if the capture has no discovery`() throws {
        var talk = Conversation()
        talk.write(asked, to: 0x15)
        talk.notifyLog([record(600, 200)], from: 0x19)
        let handles = HandleOptions(command: 0x15, response: 0x19)
        let (drinks, reader) = try talk.drinks(handles: handles)
        #expect(drinks.map(\.amount) == [200])
        #expect(reader.peers.first { $0.isBottle }?.basis == .option)
        #expect(
            try talk.drinks(handles: HandleOptions(response: 0x20)).drinks.isEmpty,
            "a handle from the user is not replaced by a guess")
        #expect(try talk.commands(handles: handles).map(\.meaning) == ["ask for the drink log"])
    }

    @Test func `handles given as options do not override the discovery`() throws {
        var talk = Conversation()
        talk.discover(talk.characteristic(5, 0x10, 6, 0x2A37))
        talk.notifyLog([record(600, 200)])
        #expect(try talk.drinks(handles: HandleOptions(response: 6)).drinks.isEmpty)
    }

    @Test func `without discovery, frames after a command identify the handles`() throws {
        var talk = Conversation()
        talk.write(asked, to: 0x15)
        talk.notify([0x52, 0x50, 0x00, 0x03, 0x02, 0x06, 0x01], from: 0x19)
        talk.notifyLog((0..<20).map { record(600 + $0, 200 + $0) }, from: 0x19)
        talk.notifyLog([record(700, 99)], from: 0x1C)  // a similar characteristic
        talk.write([0x52, 0x50, 0x00, 0x04, 0x03, 0x06, 0x01, 0x04], to: 0x15)
        let (drinks, reader) = try talk.drinks()
        #expect(drinks.map(\.amount) == Array(200..<220))
        #expect(reader.peers.first { $0.isBottle }?.basis == .guessed)
        #expect(
            try talk.commands().map(\.meaning) == [
                "ask for the drink log", "acknowledge 20 records of the log (260 bytes)",
            ])
    }

    @Test func `without discovery, a one-byte command identifies a draft bottle`() throws {
        var talk = Conversation()
        talk.write([0x01], to: 0x10)
        talk.notifyLog([record(600, 200)], from: 0x12)
        #expect(try talk.drinks().drinks.map(\.amount) == [200])
        #expect(try talk.commands().map(\.meaning) == ["ask for the drink log (draft, 01)"])
    }

    @Test(arguments: [[0], [4], [0, 1, 2, 3], [0, 1, 2, 4]])
    func `without discovery, a log is found even if a record has an impossible date`(lost: [Int]) throws {
        var talk = Conversation()
        talk.notifyLog(
            (0..<5).map {
                lost.contains($0) ? [0, 0, 0, 1, 2, UInt8($0), 0, 44, 0, 0, 1, 0x61, 0] : record(600 + $0, 200 + $0)
            }, from: 0x12)
        let (drinks, _) = try talk.drinks()
        #expect(drinks.map(\.amount) == (0..<5).map { lost.contains($0) ? 44 : 200 + $0 })
        var nothing = Conversation()
        nothing.notifyLog(Array(repeating: [0, 0, 0, 1, 2, 3, 0, 44, 0, 0, 1, 0x61, 0], count: 5), from: 0x12)
        #expect(try nothing.drinks().drinks.isEmpty, "impossible dates alone do not identify a log")
    }

    @Test func `without discovery or commands, frames count only if the capture has no confirmed bottle`() throws {
        var alone = Conversation()
        alone.notifyLog([record(600, 200)], from: 0x12)
        #expect(try alone.drinks().drinks.map(\.amount) == [200])

        var both = alone
        both.connect(BluetoothAddress(0xA4C1_38AA_BBCC), handle: 0x41)
        both.discoverRetail()
        both.notifyLog([record(601, 201)])
        let (drinks, reader) = try both.drinks()
        #expect(drinks.map(\.amount) == [201])
        #expect(reader.tally.lookalikes == 1)
    }

    @Test(arguments: [
        [0x50, 0x54, 0x00, 0x0F, 0x0E, 0x07],  // another entry type
        [0x50, 0x54, 0x00, 0x0F, 0x0D, 0x06],  // no whole record
        [0x50, 0x54, 0x00, 0x0D, 0x0E, 0x06],  // an entry longer than its frame
        [0x51, 0x54, 0x00, 0x0F, 0x0E, 0x06],
    ])
    func `without discovery, values of another format are ignored`(header: [UInt8]) throws {
        var talk = Conversation()
        talk.notify(header + record(600, 200), from: 0x12)
        #expect(try talk.drinks().drinks.isEmpty)
        var lost = Conversation()
        lost.notify([0x50, 0x54, 0x00, 0x0F, 0x0E, 0x06] + record(600, 200, day: 32), from: 0x12)
        #expect(try lost.drinks().drinks.isEmpty, "an impossible date is no evidence")
    }

    @Test func `the bottle can be the capturing host`() throws {
        var talk = Conversation(peer: BluetoothAddress(0x1122_3344_5566))
        talk.received([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28])
        talk.sent([0x09, 0x07] + talk.characteristic(2, 0x04, 3, 0xFFE9) + talk.characteristic(5, 0x10, 6, 0xFFE4))
        talk.received([0x52, 0x03, 0x00] + asked)
        for value in Conversation.log([record(600, 200)]) { talk.sent([0x1B, 0x06, 0x00] + value) }
        #expect(try talk.drinks().drinks.map(\.amount) == [200])
        #expect(try talk.commands().count == 1)
    }

    @Test func `a bottle without an address is identified by its serial number`() throws {
        var talk = Conversation(peer: nil)
        talk.discoverRetail()
        talk.sent([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x25, 0x2A])
        talk.received([0x09, 19, 0x0F, 0x00] + Array("A4:C1:38:01:02:03".utf8))
        talk.notifyLog([record(600, 200)])
        #expect(try talk.drinks().drinks.map(\.bottle) == [Self.bottle])
    }

    @Test func `128-bit UUIDs and Find Information identify characteristics`() throws {
        var talk = Conversation()
        let long = BluetoothUUID(0xFFE4).full128LittleEndian
        talk.sent([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28])
        talk.received([0x09, 21, 5, 0, 0x10, 6, 0] + long)
        talk.notifyLog([record(600, 200)])
        talk.connect(BluetoothAddress(0xA4C1_38AA_BBCC), handle: 0x41)
        talk.sent([0x04, 0x01, 0x00, 0xFF, 0xFF])
        talk.received([0x05, 0x02, 8, 0] + BluetoothUUID(0xFF02).full128LittleEndian)
        talk.notifyLog([record(601, 201)], from: 8)
        #expect(try talk.drinks().drinks.map(\.amount) == [200, 201])
    }

    @Test func `a response to another request is not read as a discovery response`() throws {
        var talk = Conversation()
        talk.sent([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x02, 0x28])  // includes, not characteristics
        talk.received([0x09, 0x07] + talk.characteristic(5, 0x10, 6, 0xFFE4))
        talk.connect(BluetoothAddress(0xA4C1_38AA_BBCC), handle: 0x41)
        talk.discoverRetail()
        talk.notifyLog([record(601, 201)])
        talk.resume(1)
        talk.notifyLog([record(600, 200)])
        #expect(try talk.drinks().drinks.map(\.amount) == [201])
    }

    @Test func `a later discovery confirms a guessed handle`() throws {
        var talk = Conversation()
        talk.notifyLog([record(601, 200)])
        talk.discoverRetail()
        talk.notifyLog([record(602, 201)])
        #expect(try talk.drinks().drinks.map(\.amount) == [200, 201])
    }
}
