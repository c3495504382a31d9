import Bluetooth
import BottleProtocol
import Foundation
import Replay
import Support
import Testing
import Emulator

/// A host connected to the replayed bottle: writes, receives notifications, reads.
struct Host {
    var machine: VirtualBottleMachine
    private let profile: BottleProfile
    var now = MonotonicInstant(nanoseconds: 0)
    var notified: [[UInt8]] = []
    var times: [Duration] = []
    var mismatches: [String] = []
    var isConnected = false
    private var reads: [UInt64: [UInt8]] = [:]
    private var token: UInt64 = 0
    let central = CentralID("host")

    init(
        _ script: ResponseScript, isStrict: Bool = false, speed: Double? = nil, subscribes: Bool = true
    ) {
        profile = script.profile
        machine = VirtualBottleMachine(
            script, isStrict: isStrict, speed: speed, hostTime: LocalTime(milliseconds: 0), at: now)
        connect(subscribes: subscribes)
    }

    mutating func connect(subscribes: Bool = true) {
        isConnected = true
        feed(.link(.connected(central)))
        if subscribes { feed(.link(.subscribed(central, BluetoothUUID(profile.responseCharacteristic)))) }
    }

    mutating func disconnect() {
        isConnected = false
        feed(.link(.disconnected(central)))
    }

    /// Writes a command and processes all events.
    @discardableResult
    mutating func write(_ bytes: [UInt8]) -> [[UInt8]] {
        notified = []
        times = []
        feed(.link(.write(central, BluetoothUUID(profile.commandCharacteristic), value: bytes, token: nil)))
        settle()
        return notified
    }

    mutating func read() -> [UInt8] {
        token += 1
        feed(.link(.read(central, BluetoothUUID(profile.responseCharacteristic), offset: 0, token: token)))
        return reads[token] ?? []
    }

    private mutating func settle() {
        var patience = 10_000
        while let deadline = machine.nextDeadline, patience > 0, deadline < now.advanced(by: .seconds(3600)) {
            patience -= 1
            now = max(now, deadline)
            feed(.tick)
        }
    }

    private mutating func feed(_ event: PeripheralMachineEvent) {
        var queue = [event]
        while !queue.isEmpty {
            for effect in machine.handle(queue.removeFirst(), at: now) {
                switch effect {
                case .link(.notify(let uuid, let value)):
                    notified.append(value)
                    times.append(MonotonicInstant(nanoseconds: 0).duration(to: now))
                    queue.append(.link(.notified(uuid)))
                case .link(.respond(let token, .value(let value))): reads[token] = value
                case .link(.disconnect):
                    isConnected = false
                    queue.append(.link(.disconnected(central)))
                case .unrecorded(let line): mismatches.append(line)
                case .link, .log, .save, .reply: break
                }
            }
        }
    }
}

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
        let path = folder.file("session.hex")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let read = try ResponseScript.read(CapturePart(path: path))
        #expect(read.readingError == nil)
        return try #require(read.scripts.first)
    }

    static func records(_ values: [[UInt8]]) -> [[UInt8]] {
        var assembler = LogAssembler()
        return values.flatMap { assembler.receive($0) }.flatMap { event -> [[UInt8]] in
            if case .log(let transfer) = event { transfer.records().map(\.raw) } else { [] }
        }
    }

    @Test func `a response script has the exchanges and every distinct record`() throws {
        let script = try Self.script()
        #expect(script.address?.description == "A4:C1:38:01:02:03")
        #expect(script.model == .boost)
        #expect(
            script.exchanges.map(\.request) == [
                Self.snapshot, Self.ask, [0x52, 0x50, 0x00, 0x04, 0x03, 0x06, 0x00, 0x82], Self.ask, Self.ask, Self.ask,
            ])
        #expect(script.exchanges.map(\.records.count) == [0, 10, 0, 0, 6, 0])
        #expect(script.records.count == 14)
    }

    @Test func `a recorded request gets the recorded response, byte for byte`() throws {
        var host = Host(try Self.script())
        #expect(host.write(Self.snapshot) == [Snapshot().frame(.boost).encoded])
        #expect(host.write(Self.ask) == [Self.follows] + Conversation.log(Self.first))
    }

    @Test func `a client receives all recorded dumps, then the remaining records`() throws {
        var host = Host(try Self.script())
        #expect(Self.records(host.write(Self.ask)) == Self.first)
        host.write(HostCommand.acknowledge(bytes: 130).encoded)
        #expect(Self.records(host.write(Self.ask)) == Self.second)
        // Two of them are acknowledged: the rest remains.
        host.write(HostCommand.acknowledge(bytes: 26).encoded)
        #expect(Self.records(host.write(Self.ask)) == Array(Self.second.dropFirst(2)))
        host.write(HostCommand.acknowledge(bytes: 52).encoded)
        #expect(host.write(Self.ask) == [Self.empty])
    }

    @Test func `unacknowledged records are sent again, also on the next connection`() throws {
        var host = Host(try Self.script())
        host.write(Self.ask)
        host.write(Self.ask)
        host.disconnect()
        host.connect()
        #expect(Self.records(host.write(Self.ask)) == Self.first + Self.second.dropFirst(2))
    }

    @Test func `strict mode also sends empty responses in the recorded order`() throws {
        var host = Host(try Self.script(), isStrict: true)
        #expect(Self.records(host.write(Self.ask)) == Self.first)
        host.write(HostCommand.acknowledge(bytes: 130).encoded)
        #expect(host.write(Self.ask) == [Self.empty])
        #expect(Self.records(host.write(Self.ask)) == Self.second)
        #expect(host.mismatches.isEmpty)
    }

    @Test func `strict mode disconnects after an unrecorded request, once mode uses the model`() throws {
        let goal: [UInt8] = [0x50, 0x54, 0x00, 0x04, 0x03, 0x05, 0x09, 0xC4]
        var once = Host(try Self.script())
        #expect(once.write(goal) == [[0x52, 0x50, 0x00, 0x04, 0x03, 0x05, 0x09, 0xC4]])
        #expect(once.isConnected)
        var strict = Host(try Self.script(), isStrict: true)
        #expect(strict.write(goal).isEmpty)
        #expect(!strict.isConnected)
        #expect(
            strict.mismatches == [
                "the host wrote 50 54 00 04 03 05 09 C4 (set the goal to 2500 ml), which is not in the capture; "
                    + "the recorded host wrote 47 54 00 01 FF (ask for a snapshot) in frame 1"
            ])
    }

    @Test(arguments: [(1, 1.0), (4, 0.25), (nil, 0.0)] as [(Double?, Double)])
    func `responses keep the recorded delays`(speed: Double?, factor: Double) throws {
        var host = Host(try Self.script(), speed: speed)
        host.write(Self.ask)
        #expect(host.times == [1, 2, 3].map { Duration.milliseconds(Int($0 * 1000 * factor)) })
    }

    @Test func `a recorded draft bottle can be read without a subscription`() throws {
        let packets = [
            Conversation.log(Array(Self.first.prefix(8)))[0], Conversation.log(Array(Self.first.suffix(2)))[0],
        ]
        func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02X", $0) }.joined() }
        let text =
            "address: A4:C1:38:01:02:03\n- > FF01 01\n" + packets.map { "- < FF02 \(hex($0))\n" }.joined()
            + "- < FF02 50540000\n"
        var host = Host(try Self.script(text), subscribes: false)
        #expect(host.write([0x01]).isEmpty)
        #expect(host.read() == packets[0])
        #expect(host.read() == packets[1])
        #expect(host.read() == [0x50, 0x54, 0x00, 0x00])
        #expect(host.read() == [0x50, 0x54, 0x00, 0x00])
    }

    @Test func `a capture with only notifications gives its records for a log request`() throws {
        var host = Host(try Self.script("- < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00\n"))
        #expect(Self.records(host.write(Self.ask)) == [[0x1A, 2, 2, 22, 21, 15, 0, 16, 0, 0, 1, 0x61, 0]])
    }

    @Test func `a capture without a bottle is rejected`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("none.hex")
        try Data("- < 2A37 00 50\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: ResponseScriptError.self) { try ResponseScript.read(CapturePart(path: path)) }
    }
}
