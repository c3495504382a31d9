import Captures
import Foundation
import Support
import Testing

/// The fuzzers' corpus with their findings: read at once, in pieces, and with each byte changed, removed and repeated.
/// `hardware/fuzz` runs the fuzzers.
@Suite struct CorpusTests {
    static let files: [String] = {
        let folder = Program.repository + "/Tests/Fuzz/corpus"
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.filter { !["air", "hci", "text"].contains($0.split(separator: "/").first) && $0.contains("/") }
            .sorted()
    }()

    /// The bytes before the fuzzer's input in each of its targets.
    private func whole(_ name: String) throws -> [UInt8] {
        let bytes = [UInt8](
            try Data(contentsOf: URL(fileURLWithPath: Program.repository + "/Tests/Fuzz/corpus/" + name)))
        let target = String(name.split(separator: "/").first ?? "")
        switch target {
        case "hex": return Array("# waterh\n".utf8) + bytes
        case "nrf": return Array("nRF Connect, 2026-02-02\n".utf8) + bytes
        default:
            guard target != "any", let format = CaptureFormat(name: target) else { return bytes }
            var writer = CaptureWriter(format)
            return writer.takeOutput() + bytes
        }
    }

    @Test func `the capture corpus exists`() { #expect(Self.files.count >= 40) }

    @Test(arguments: files)
    func `a pipe gives the same packets as a file`(name: String) throws {
        let file = try whole(name)
        let atOnce = Reading(file)
        for step in [1, 2, 5, 13, 60] {
            #expect(Reading(file, step: step).isEqual(to: atOnce), "\(step) bytes at a time")
        }
    }

    @Test(arguments: files)
    func `a short fuzz does not trap`(name: String) throws {
        let file = try whole(name)
        var random = SeededGenerator(seed: UInt64(name.utf8.reduce(7) { $0 &* 31 &+ Int($1) }.magnitude))
        for _ in 0..<60 {
            var changed = file
            for _ in 0..<Int.random(in: 1...5, using: &random) where !changed.isEmpty {
                let at = Int.random(in: 0..<changed.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: changed[at] = UInt8.random(in: 0...255, using: &random)
                case 1: changed = Array(changed.prefix(at))
                case 2: changed.insert(contentsOf: changed[at...].prefix(16), at: at)
                default: changed.remove(at: at)
                }
            }
            let atOnce = Reading(changed)
            #expect(Reading(changed, step: 1 + changed.count % 61).isEqual(to: atOnce))
            #expect(atOnce.packets.reduce(0) { $0 + $1.bytes.count } <= changed.count)
        }
    }
}
