import Bluetooth
import Captures
import Replay
import Support
import Testing

@Suite struct CaptureWatchTests {
    private static func watch(_ json: Bool, from sources: [UInt16]) throws -> (lines: [String], watch: CaptureWatch) {
        var bytes: [UInt8] = []
        let out = LineBuffer { bytes += $0 }
        let watch = CaptureWatch(out, DrinkReader.Options(hostYear: 2026), isJSON: json)
        for source in sources { watch.name(source, "sniffer \(source)") }
        for (packet, bytes) in try LossyFormatTests.packets(OverlapTests.source) {
            for source in sources { try watch.add(packet, bytes.span.bytes, from: source) }
        }
        try watch.finish()
        try out.flush()
        return (String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init), watch)
    }

    @Test func `live drinks and requests are printed`() throws {
        let (lines, watch) = try Self.watch(false, from: [0])
        #expect(watch.tally.drinks == 40 && watch.commandCount > 2)
        #expect(lines.count { $0.contains(" ml ") } == 40)
        #expect(lines.first { $0.contains("connected") }?.contains("hci0") == true)
        let ask = lines.firstIndex { $0.contains("ask for a snapshot") },
            drink = lines.firstIndex { $0.contains(" ml ") }
        #expect(ask != nil && drink != nil && (ask ?? 0) < (drink ?? 0), "lines are in the order of the traffic")
    }

    @Test func `a drink received by two adapters is printed once`() throws {
        let (lines, watch) = try Self.watch(true, from: [0, 1])
        #expect(watch.tally.drinks == 40)
        #expect(lines.count { $0.contains("amountMl") } == 40)
    }
}
