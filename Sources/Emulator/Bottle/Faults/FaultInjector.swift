import Bluetooth
import BottleProtocol

/// Applies the faults of a plan to the values that the emulated bottle sends.
struct FaultInjector: Sendable {
    let plan: BottleFaults
    private var generator: SplitMix64

    init(_ plan: BottleFaults, seed: UInt64) {
        self.plan = plan
        generator = SplitMix64(seed: seed)
    }

    /// Returns `true` with this probability in percent.
    mutating func chance(_ percent: Int) -> Bool {
        percent > 0 && Int.random(in: 0..<100, using: &generator) < percent
    }

    mutating func applyFaults(response value: [UInt8]) -> [OutgoingValue] {
        var value = value
        if chance(plan[.foreign]) { value = foreignFrame() }
        corruptLength(&value)
        return finish([OutgoingValue(value: value, kind: .response)])
    }

    /// Applies the faults to a log transfer.
    /// - Parameter values: the notifications of the transfer in order.
    mutating func applyFaults(log values: [OutgoingValue], report: [UInt8]) -> [OutgoingValue] {
        var values = values
        for index in values.indices {
            corruptLength(&values[index].value)
            corruptEntry(&values[index].value)
        }
        // Do not move the first value, which contains the frame header. Draft packets are separate frames.
        if plan[.shuffle] != 0, values.count > 2 {
            var rest = Array(values.dropFirst())
            rest.shuffle(using: &generator)
            values = [values[0]] + rest
        }
        if values.count > 1, chance(plan[.restart]) {
            let firstPart = values.prefix(Int.random(in: 1..<values.count, using: &generator))
            values = firstPart.map { OutgoingValue(value: $0.value, kind: .log) } + values
        }
        if plan[.interleave] > 0 {
            values = values.flatMap {
                chance(plan[.interleave]) ? [OutgoingValue(value: report, kind: .report), $0] : [$0]
            }
        }
        return finish(values)
    }

    /// Random bytes of any length that fits a notification.
    mutating func randomBytes() -> [UInt8] {
        (0..<Int.random(in: 1...60, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private mutating func finish(_ values: [OutgoingValue]) -> [OutgoingValue] {
        var result: [OutgoingValue] = []
        for var value in values {
            if chance(plan[.cut]), value.value.count > 1 {
                value.value.removeLast(Int.random(in: 1..<value.value.count, using: &generator))
            }
            for piece in split(value) {
                // A lost notification counts as sent, because a bottle cannot detect the loss.
                if chance(plan[.drop]) {
                    result.append(OutgoingValue(value: [], kind: piece.kind, records: piece.records))
                } else {
                    result.append(piece)
                    if chance(plan[.twice]) { result.append(OutgoingValue(value: piece.value, kind: piece.kind)) }
                }
            }
        }
        return result
    }

    private func split(_ value: OutgoingValue) -> [OutgoingValue] {
        guard plan[.split] > 0, value.value.count > plan[.split] else { return [value] }
        var pieces = stride(from: 0, to: value.value.count, by: plan[.split]).map { start in
            OutgoingValue(
                value: Array(value.value[start..<min(start + plan[.split], value.value.count)]), kind: value.kind)
        }
        pieces[pieces.count - 1].records = value.records
        return pieces
    }

    private mutating func corruptLength(_ value: inout [UInt8]) {
        guard value.count >= Frame.headerSize, [0x50, 0x52].contains(value[0]), [0x54, 0x50].contains(value[1]),
            chance(plan[.length])
        else { return }
        let length = Int(value[2]) << 8 | Int(value[3])
        let corrupted = UInt16(clamping: length + ([-7, -1, 1, 13, 15, 300].randomElement(using: &generator) ?? 1))
        value[2] = UInt8(corrupted >> 8)
        value[3] = UInt8(truncatingIfNeeded: corrupted)
    }

    private mutating func corruptEntry(_ value: inout [UInt8]) {
        let at = value.first == 0x50 ? Frame.headerSize : 0
        guard value.count > at, chance(plan[.entry]) else { return }
        value[at] = [0x00, 0x01, 0xFF, value[at] &+ 1, value[at] &+ 13].randomElement(using: &generator) ?? 0
    }

    /// A frame of another manufacturer's bottle, which uses the same characteristics.
    private mutating func foreignFrame() -> [UInt8] {
        let frames: [[UInt8]] = [
            [0xAA, 0x55, 0x03, 0x01, 0x02], [0x42, 0x54, 0x00, 0x01, 0x64], [0x52, 0x50, 0x00, 0x04, 0x03, 0x99, 0x01],
            [0xFF],
        ]
        return frames.randomElement(using: &generator) ?? [0xFF]
    }
}
