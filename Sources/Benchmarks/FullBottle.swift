import BottleProtocol

/// A bottle with a full log, as a capture in hex text. A benchmark fills the emulator with it to measure a poll.
enum FullBottle {
    static func hexText(records count: Int = 500) -> String {
        var lines = ["# waterh-bench hex text", "name: WaterH-Boost-24oz", "profile: retail"]
        for start in stride(from: 0, to: count, by: 8) {
            var records: [UInt8] = []
            for index in start..<min(start + 8, count) {
                let clock = BottleClock(
                    yearByte: 26, month: 3, day: UInt8(1 + index / 24 % 28), hour: UInt8(index % 24),
                    minute: UInt8(index * 7 % 60), second: UInt8(index * 11 % 60))
                records += DrinkRecord(clock: clock, amountMl: UInt16(20 + index % 200), sensor: (1, 97)).raw
            }
            let frame = Frame(.put, payload: Entry(.log, records).encoded)
            lines.append("- < FFE4 " + frame.encoded.map { hex($0) }.joined(separator: " "))
        }
        return lines.joined(separator: "\n")
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}
