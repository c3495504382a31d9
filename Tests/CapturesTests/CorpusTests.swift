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
        case "hex": return Array("# waterh-bench hex text\n".utf8) + bytes
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
    func `fuzzed corpus files do not trap`(name: String) throws { expectNoTrap(try whole(name)) }
}
