import Bluetooth
import Captures
import CommandSupport
import Foundation
import Replay
import Support
import Testing

@testable import Emulator

/// Captures and documents, cut at every byte and damaged at random, give a valid profile or an error, never a trap.
@Suite struct DamageTests {
    static let folder = Program.repository + "/captures/"
    static let captures = ["boost_draft.btsnoop", "boost_one-record.hex", "vita_reports-inside-log.pcapng"]

    /// Every device profile in these bytes, each validated.
    static func peripherals(_ bytes: ArraySlice<UInt8>) throws -> [ObservedPeripheral] {
        let reader = ProfileReader()
        var capture = CaptureReader()
        var reassembler = ConversationReassembler()
        _ = try? capture.read(bytes.span.bytes, isLast: true) { packet, packetBytes in
            try reassembler.receive(packet, packetBytes) { event, pdu in try reader.receive(event, pdu)
            }
        }
        try reassembler.finish { event, pdu in try reader.receive(event, pdu) }
        let found = reader.finish()
        for one in found { try one.profile.check() }
        return found
    }

    @Test(arguments: captures)
    func `captures truncated at any byte give a valid profile or an error`(name: String) throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.folder + name)))
        let all = try Self.peripherals(whole[...])
        var most = 0
        for size in 0..<whole.count {
            let exchanges = try Self.peripherals(whole[..<size]).reduce(0) { $0 + $1.profile.exchangeCount }
            if !name.hasSuffix(".hex") { #expect(exchanges >= most - 1, "cut at \(size)") }
            most = exchanges
        }
        #expect(all.contains { $0.hasResponded })
    }

    @Test(arguments: captures, 0..<6)
    func `damaged captures give a valid profile or an error`(name: String, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.folder + name)))
        for _ in 0..<40 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do { _ = try Self.peripherals(bytes[...]) } catch { Issue.record("seed \(seed): \(error)") }
        }
    }

    @Test(arguments: 0..<20)
    func `random PDUs give a valid profile`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let opcodes: [UInt8] = [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 0x0A, 0x0B, 0x0C, 0x0D, 0x10, 0x11, 0x12, 0x13, 0x16, 0x17, 0x18, 0x19, 0x1B,
            0x1D, 0x20, 0x21, 0x23, 0x52, 0xD2,
        ]
        for _ in 0..<30 {
            var talk = Talk()
            for _ in 0..<60 {
                let opcode = opcodes.randomElement(using: &random) ?? 1
                var pdu = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                    UInt8.random(in: 0...(Bool.random(using: &random) ? 9 : 255), using: &random)
                }
                // Valid types and sizes, so that the table is reached.
                if opcode == 8 || opcode == 0x10 {
                    pdu = [1, 0, 0xFF, 0xFF, UInt8.random(in: 0...3, using: &random), 0x28]
                }
                if opcode == 9 || opcode == 0x11, let size = [6, 7, 8, 20, 21].randomElement(using: &random) {
                    pdu.insert(UInt8(size), at: 0)
                }
                if opcode == 5 { pdu.insert(1, at: 0) }
                if opcode & 1 == 1 { talk.answer([opcode] + pdu) } else { talk.ask([opcode] + pdu) }
            }
            do { for one in try talk.peripherals() { try one.profile.check() } } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }

    @Test func `documents truncated at any byte are rejected`() throws {
        let data = try Self.document()
        _ = try ProfileFile.decode(data, path: "g")
        for size in 0..<(data.count - 2) {
            #expect(throws: CommandFailure.self, "cut at \(size)") {
                _ = try ProfileFile.decode(data.prefix(size), path: "g")
            }
        }
    }

    @Test(arguments: 0..<10)
    func `randomly damaged profile files are rejected or valid`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let data = try Self.document()
        for _ in 0..<200 {
            var damaged = data
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let at = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: damaged[at] = UInt8.random(in: 0...255, using: &random)
                case 1: damaged.remove(at: at)
                case 2: damaged.insert(contentsOf: Array("-9999999999999999999".utf8), at: at)
                default: damaged.swapAt(at, Int.random(in: 0..<damaged.count, using: &random))
                }
            }
            do {
                try ProfileFile.decode(damaged, path: "g").check()
            } catch let failure as CommandFailure {
                #expect(!failure.sentence.isEmpty, "seed \(seed)")
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }

    static func document() throws -> Data {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "boost_draft.btsnoop")))
        let found = try peripherals(whole[...])
        let speaker = found.first { $0.hasResponded }
        var profile = try #require(speaker).profile
        profile.rules = [
            PeripheralProfile.Rule(
                name: "a", request: .write, handle: 3, pattern: BytePattern("a5 ?? *"), response: .init(error: 3),
                then: "a")
        ]
        return try ProfileFile.encode(profile)
    }
}
