import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Support
import Testing
import TrackerCore

@Suite struct HostilePeerTests {
    static func service(_ uuid: UInt16, _ characteristics: [(UInt16, CharacteristicProperties)]) -> RemoteService {
        RemoteService(
            uuid: BluetoothUUID(uuid), handle: 1,
            characteristics: characteristics.enumerated().map {
                RemoteCharacteristic(uuid: BluetoothUUID($1.0), handle: UInt16(2 + $0), properties: $1.1)
            })
    }

    @Test(
        arguments: [
            ("no services", []), ("a battery gadget", [service(0x180F, [(0x2A19, [.read, .notify])])]),
            ("FFE0 without FFE5", [service(0xFFE0, [(0xFFE4, [.notify])])]),
            (
                "FFE1 under FFE0",
                [service(0xFFE0, [(0xFFE1, [.notify, .write])]), service(0xFFE5, [(0xFFE9, [.write])])]
            ),
            ("FFE4 cannot notify", [service(0xFFE0, [(0xFFE4, [.read])]), service(0xFFE5, [(0xFFE9, [.write])])]),
            ("FFE9 cannot be written", [service(0xFFE0, [(0xFFE4, [.notify])]), service(0xFFE5, [(0xFFE9, [.read])])]),
            ("FF00 empty", [service(0xFF00, [])]),
            ("FF01 read only", [service(0xFF00, [(0xFF01, [.read]), (0xFF02, [.read])])]),
            ("FF02 write only", [service(0xFF00, [(0xFF01, [.write]), (0xFF02, [.write])])]),
        ] as [(String, [RemoteService])])
    func `services with the same UUIDs and other properties are not a bottle`(name: String, services: [RemoteService])
        throws
    {
        var bottle = ScriptedBottle()
        bottle.services = services
        let (rig, report) = try polled(bottle)
        #expect(report.failure?.kind == .unexpectedResponse)
        #expect(report.failure?.sentence.contains("is not a WaterH bottle") == true)
        #expect(rig.written.isEmpty)
    }

    @Test func `a rejected subscription ends a retail poll and falls back to reads in a draft poll`() throws {
        let no = LinkError(.refused, "Write not permitted.", attError: 3)
        var bottle = ScriptedBottle(records: drinks(2))
        bottle.subscribeFails = no
        #expect(try polled(bottle).report.failure?.kind == .unexpectedResponse)
        bottle = ScriptedBottle(.draft, records: drinks(2))
        bottle.subscribeFails = no
        #expect(try polled(bottle).report.new == 2)
    }

    @Test func `a subscription that fails without a rejection is repeated on another connection`() throws {
        let busy = LinkError(.inProgress, "In progress.", isTransient: true)
        let bottle = ChangedBottle(bottle: ScriptedBottle(records: drinks(2))) { bottle, _, _ in
            bottle.subscribeFails = bottle.connections == 1 ? busy : nil
            return nil
        }
        let (rig, report) = try polled(bottle)
        #expect(report.failure == nil && report.acknowledged == 2 && rig.peer.bottle.connections == 2, "\(report)")
    }

    @Test func `a poll ends at its limit when the log is endless`() throws {
        var next = 0
        let endless = ChangedBottle(bottle: ScriptedBottle()) { bottle, request, _ in
            if case .write(_, let value, _) = request, case .drinkLog = HostCommand(decoding: value) {
                bottle.records = (next..<next + 2000).map {
                    record(minute: $0 % 60, second: $0 / 60 % 60, amount: 1 + $0 % 60_000)
                }
                next += 2000
            }
            return nil
        }
        let report = try polled(endless).report
        #expect(report.received >= 4096)
        #expect(report.received <= 4096 + 5041)
        #expect(!report.complete)
        #expect(report.failure == nil)
    }

    @Test func `a poll uses bounded memory when notifications are endless`() throws {
        var bottle = ScriptedBottle(records: drinks(3))
        bottle.noise = (0..<25_000).map { [0xEE, UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        bottle.spacing = .microseconds(10)
        let (rig, report) = try polled(bottle)
        #expect(report.failure?.kind == .unexpectedResponse)
        #expect(rig.journal.quarantine.count <= 64)
        #expect(report.undecodable > 64)
    }

    @Test func `a poll fails with unexpectedResponse when messages of another device arrive`() throws {
        var bottle = ScriptedBottle()
        bottle.answersLog = true
        bottle.noise = [Array("OK+CONN".utf8), Array("ERROR".utf8)]
        bottle.lost = [2, 5, 8]
        let (rig, report) = try polled(bottle)
        #expect(report.failure?.kind == .unexpectedResponse)
        #expect(rig.journal.quarantine.contains(Array("OK+CONN".utf8)))
    }

    @Test(arguments: [23, 64], [false, true])
    func `a small MTU is reported, and truncated records are not acknowledged`(mtu: Int, hasRadio: Bool) throws {
        var bottle = ScriptedBottle(records: drinks(40))
        bottle.mtu = mtu
        if hasRadio { bottle.advertisement = advertisement() }
        let (rig, report) = try polled(bottle, hasRadio: hasRadio)
        #expect(!report.complete)
        #expect(report.acknowledged == 0 && rig.peer.records.count == 40)
        #expect(report.failure?.sentence.contains("MTU is \(mtu)") == true, "\(String(describing: report.failure))")
        #expect(rig.diagnostics.contains { $0.sentence.contains("MTU is \(mtu)") })
        for entry in rig.journal.entries {
            #expect(drinks(40).contains(entry.raw), "bytes at a wrong offset became a drink")
        }
    }

    @Test func `a poll accepts a long name and an invalid serial number`() throws {
        for serial in [nil, [], [0, 0, 0], [0xFF, 0xFE], Array(repeating: 0x41, count: 300)] as [[UInt8]?] {
            var bottle = ScriptedBottle(records: drinks(1))
            bottle.name = Array(repeating: 0x57, count: 512)
            bottle.serial = serial
            let report = try polled(bottle).report
            #expect(report.name?.utf8.count == 248)
            #expect(report.bottle?.hasSuffix(" at unix:test.sock") == true)
            #expect(report.new == 1)
        }
    }

    @Test func `a bottle that was not requested is not read`() throws {
        let bottle = ScriptedBottle(records: drinks(2))
        let (rig, report) = try polled(bottle, options: options { $0.bottle = "A4:C1:38:99:99:99" })
        #expect(report.failure?.kind == .notFound)
        #expect(rig.written.isEmpty)
        for name in ["a4:c1:38:01:02:03", "waterh-boost-24OZ"] {
            #expect(try polled(bottle, options: options { $0.bottle = name }).report.new == 2)
        }
    }

    /// Random values instead of answers, from a printed seed. Every poll ends in bounded time and acknowledges only
    /// stored records.
    @Test(arguments: 0..<200) func `random values do not crash a poll`(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var bottle = ScriptedBottle(seed % 2 == 0 ? .retail : .draft, records: drinks(seed % 9))
        let starts: [[UInt8]] = [[0x50, 0x54], [0x52, 0x50], [0x52, 0x54], [0x0E, 0x06], []]
        bottle.noise = (0..<Int.random(in: 0...40, using: &random)).map { _ in
            starts[Int.random(in: 0..<starts.count, using: &random)]
                + (0..<Int.random(in: 0...30, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let journal = MemoryJournal()
        var rig = EngineRig(options: options(), peer: bottle, journal: journal, start: evening)
        _ = try rig.run(limit: .seconds(40))
        for raw in drinks(seed % 9) { #expect(rig.peer.records.contains(raw) || journal.holds(raw), "seed \(seed)") }
    }
}
