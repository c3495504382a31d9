import Bluetooth
import BottleProtocol
import Captures
import Foundation
import Replay
import Support
import Testing

/// The shipped captures cut at every byte, and damaged at random: all complete packets before the cut, and no trap.
@Suite struct CutTests {
    private func read(_ bytes: some Sequence<UInt8>) throws -> (
        amounts: [Int], statistics: CaptureStatistics, error: CaptureError?
    ) {
        var amounts: [Int] = []
        let reader = DrinkReader(DrinkReader.Options(hostYear: 2026)) { amounts.append($0.record.amountMl) }
        let statistics = CaptureStatistics()
        let error = try forEachEvent(of: Array(bytes)) { event, pdu in
            try statistics.receive(event, pdu)
            try reader.receive(event, pdu)
        }
        statistics.finish()
        try reader.finishCapture()
        return (amounts, statistics, error)
    }

    @Test(arguments: RewritingTests.shipped)
    func `a conversation truncated at any byte does not trap`(name: String) throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: RewritingTests.folder + "/" + name)))
        let all = try read(whole)
        #expect(all.error == nil)
        var most = 0
        for size in 0..<whole.count {
            let cut = try read(whole[..<size])
            #expect(all.amounts.starts(with: cut.amounts), "cut at \(size)")
            #expect(
                cut.statistics.total.pdus <= all.statistics.total.pdus && cut.statistics.anomalies.count < 100,
                "cut at \(size)")
            // A line of text cut between two bytes looks like a shorter value.
            if !name.hasSuffix(".hex") {
                #expect(cut.amounts.count >= most, "cut at \(size): fewer drinks than in a shorter piece")
            }
            most = cut.amounts.count
        }
    }

    @Test(arguments: RewritingTests.shipped, 0..<8)
    func `a damaged conversation does not trap`(name: String, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: RewritingTests.folder + "/" + name)))
        for _ in 0..<40 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try read(bytes).statistics.anomalies
        }
    }
}
