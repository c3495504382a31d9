import BottleProtocol

/// Converts notification values to decoded records on one core, as a poll does: reassembly, entries, records.
enum FrameDecoding {
    static func run() -> String {
        let values = dump(records: 500)
        let clock = ContinuousClock()
        var assembled = 0
        var decoded = 0
        var checksum = 0
        let rounds = 20_000
        let frames = clock.measure {
            for _ in 0..<rounds {
                var assembler = LogAssembler()
                for value in values {
                    for case .log(let transfer) in assembler.receive(value) {
                        for record in transfer.records() {
                            assembled += 1
                            checksum &+= record.amountMl
                        }
                    }
                }
            }
        }
        let frame = values.reduce([], +)
        let records = clock.measure {
            for _ in 0..<rounds {
                guard let entries = try? Frame(decoding: frame).entries() else { continue }
                for entry in entries where entry.type == .log {
                    for record in DrinkRecord.all(in: entry.data) {
                        decoded += 1
                        checksum &+= record.second
                    }
                }
            }
        }
        return
            """
            \(rate(assembled, frames)) million records/s reassembled and decoded, \(rate(decoded, records)) frame \
            by frame
            """
                + " (500 records a dump, \(rounds) dumps, checksum \(checksum))"
    }

    private static func rate(_ count: Int, _ time: Duration) -> String {
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        let tenths = Int(Double(count) / seconds / 1e5 + 0.5)
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// A retail dump: frame header with the first entry, then an entry of up to 8 records per notification.
    private static func dump(records count: Int) -> [[UInt8]] {
        var entries: [[UInt8]] = []
        for start in stride(from: 0, to: count, by: 8) {
            var bytes: [UInt8] = []
            for index in start..<min(start + 8, count) { bytes += record(index).raw }
            entries.append(Entry(.log, bytes).encoded)
        }
        let length = entries.reduce(0) { $0 + $1.count }
        let header: [UInt8] = [0x50, 0x54, UInt8(length >> 8), UInt8(truncatingIfNeeded: length)]
        return [header + entries[0]] + entries.dropFirst()
    }

    private static func record(_ index: Int) -> DrinkRecord {
        let clock = BottleClock(
            yearByte: 26, month: UInt8(index % 12 + 1), day: UInt8(index % 28 + 1), hour: UInt8(index % 24),
            minute: UInt8(index % 60), second: UInt8(index * 7 % 60))
        return DrinkRecord(clock: clock, amountMl: UInt16(index), sensor: (1, 97))
    }
}
