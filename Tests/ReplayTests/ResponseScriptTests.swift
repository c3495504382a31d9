import Bluetooth
import BottleProtocol
import Foundation
import Replay
import Support
import Testing
import Emulator

@Suite struct ResponseScriptTests {
    static let ask: [UInt8] = [0x47, 0x54, 0x00, 0x01, 0x06]
    static let snapshot: [UInt8] = [0x47, 0x54, 0x00, 0x01, 0xFF]
    static let follows: [UInt8] = [0x52, 0x50, 0x00, 0x03, 0x02, 0x06, 0x01]
    static let empty: [UInt8] = [0x52, 0x50, 0x00, 0x03, 0x02, 0x06, 0x00]

    /// The hex text of a session with two polls: 10 records, acknowledged; then 4 new ones and the end of the first.
    static let first = (0..<10).map { record(600 + $0, 100 + $0) }
    static let second = Array(first.suffix(2)) + (10..<14).map { record(600 + $0, 100 + $0) }

    static var session: String {
        var lines = ["# waterh-bench hex text", "address: A4:C1:38:01:02:03", "name: WaterH-Boost-24oz"]
        func line(_ time: String, _ sign: String, _ uuid: String, _ bytes: [UInt8]) {
            lines.append(
                "2026-02-02T\(time)Z \(sign) \(uuid) " + bytes.map { String(format: "%02X", $0) }.joined(separator: " ")
            )
        }
        var second = 0
        func time() -> String {
            second += 1
            return String(format: "10:00:%02d.000", second)
        }
        line(time(), ">", "FFE9", snapshot)
        line(time(), "<", "FFE4", Snapshot().frame(.boost).encoded)
        for (records, acknowledged) in [(first, 10), (self.second, 0)] {
            line(time(), ">", "FFE9", ask)
            line(time(), "<", "FFE4", follows)
            for value in Conversation.log(records) { line(time(), "<", "FFE4", value) }
            if acknowledged > 0 {
                line(time(), ">", "FFE9", HostCommand.acknowledge(bytes: UInt16(13 * acknowledged)).encoded)
            }
            line(time(), ">", "FFE9", ask)
            line(time(), "<", "FFE4", empty)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static func script(_ text: String = session) throws -> ResponseScript {
        let folder = try TemporaryFolder()
        let read = try ResponseScript.read([CapturePart(path: folder.write("session.hex", text.utf8))])
        #expect(read.readingError == nil)
        return try #require(read.scripts.first)
    }

    @Test func `a response script has the exchanges and every distinct record`() throws {
        let script = try Self.script()
        #expect(script.address?.description == "A4:C1:38:01:02:03")
        #expect(script.model == .boost)
        #expect(
            script.exchanges.map(\.request) == [
                Self.snapshot, Self.ask, [0x52, 0x50, 0x00, 0x04, 0x03, 0x06, 0x00, 0x82], Self.ask, Self.ask, Self.ask,
            ])
        #expect(script.exchanges[1].values.map(\.bytes) == [Self.follows] + Conversation.log(Self.first))
        #expect(script.exchanges[1].values.map(\.delay) == [.seconds(1), .seconds(2), .seconds(3)])
        #expect(script.exchanges.map(\.records) == [[], Array(1...10), [], [], Array(9...14), []])
        #expect(script.records == Self.first + Self.second.dropFirst(2))
    }

    @Test func `a capture with only notifications gives its records`() throws {
        let script = try Self.script("- < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00\n")
        let machine = VirtualBottleMachine(
            script, hostTime: LocalTime(milliseconds: 0), at: MonotonicInstant(nanoseconds: 0))
        #expect(machine.flash.records.map(\.bytes) == [[0x1A, 2, 2, 22, 21, 15, 0, 16, 0, 0, 1, 0x61, 0]])
    }

    @Test func `a capture without a bottle is rejected`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("none.hex", "- < 2A37 00 50\n".utf8)
        #expect(throws: ResponseScriptError.self) { try ResponseScript.read([CapturePart(path: path)]) }
    }
}
