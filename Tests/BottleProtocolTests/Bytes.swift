import BottleProtocol
import Support

/// Parses `hex("1A 02")`, the notation of the specification.
func hex(_ text: String) -> [UInt8] {
    text.split(separator: " ").compactMap { UInt8($0, radix: 16) }
}

/// The seed of every property test, part of each test's title to repeat a failure.
let seed: UInt64 = 0x5749_5045

/// A record with a valid date, a unique second per `index`, and random TDS and sensor bytes.
func randomRecord(_ index: Int, _ generator: inout SeededGenerator) -> DrinkRecord {
    let clock = BottleClock(
        yearByte: 26, month: UInt8(index / 1440 % 12 + 1), day: UInt8.random(in: 1...28, using: &generator),
        hour: UInt8(index / 60 % 24), minute: UInt8(index % 60), second: UInt8.random(in: 0...59, using: &generator))
    return DrinkRecord(
        clock: clock, amountMl: UInt16.random(in: 0...600, using: &generator),
        tdsPpm: UInt16.random(in: 0...500, using: &generator), sensor: (1, UInt8.random(in: 0...100, using: &generator))
    )
}

/// The notifications of a log: header with the first entry, then entry by entry, with 1 to 8 records each.
func dump(_ records: [DrinkRecord], _ generator: inout SeededGenerator) -> [[UInt8]] {
    var entries: [[UInt8]] = []
    var rest = records[...]
    while !rest.isEmpty {
        let count = min(Int.random(in: 1...8, using: &generator), rest.count)
        entries.append(Entry(.log, rest.prefix(count).flatMap(\.raw)).encoded)
        rest = rest.dropFirst(count)
    }
    let length = entries.reduce(0) { $0 + $1.count }
    return [[0x50, 0x54, UInt8(length >> 8), UInt8(length & 0xFF)] + (entries.first ?? [])] + entries.dropFirst()
}

/// Consecutive pieces of the bytes, of the sizes that `size` returns.
func pieces(_ bytes: [UInt8], _ size: () -> Int) -> [[UInt8]] {
    var rest = bytes[...]
    var result: [[UInt8]] = []
    while !rest.isEmpty {
        let count = max(1, min(size(), rest.count))
        result.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
    }
    return result
}

extension LogAssembler {
    mutating func receiveAll(_ values: [[UInt8]]) -> [AssemblyEvent] { values.flatMap { receive($0) } }
}

extension AssemblyEvent {
    var transfer: LogTransfer? {
        switch self {
        case .log(let transfer), .unfinished(let transfer, _): transfer
        default: nil
        }
    }
    var completed: LogTransfer? {
        guard case .log(let transfer) = self else { return nil }
        return transfer
    }
    var message: Frame? {
        guard case .message(let frame) = self else { return nil }
        return frame
    }
}
