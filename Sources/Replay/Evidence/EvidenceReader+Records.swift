import Bluetooth
import BottleProtocol
import Captures

// What single records and notifications say.

extension EvidenceReader {
    func weigh(_ raw: [UInt8], _ frame: Int, _ time: Duration?, _ witness: Witness, _ peer: BottlePeer) {
        weighYear(raw, frame, time)
        let example = Self.example(raw, frame)
        // Of a sip every amount up to half a litre is as likely as another; a separator is always the same.
        if raw[12] == 0 { amount.weigh(raw[6] == 0 ? [0.5, 0.999] : [0.5, 0.001], example) }
        weighDissolved(raw, frame, witness)
        weighSensor(raw, frame, witness, peer)
    }

    static func example(_ raw: [UInt8], _ frame: Int) -> String { "frame \(frame): \(hex(raw))" }

    private static func hex(_ raw: [UInt8]) -> String {
        raw.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }

    /// A year tells only where it is not 2026, when the type byte would look the same.
    private func weighYear(_ raw: [UInt8], _ frame: Int, _ time: Duration?) {
        guard (1...12).contains(raw[1]), (1...31).contains(raw[2]) else { return }
        let year = 2000 + Int(raw[0])
        let captured = time.map { CivilTime(secondsSince1970: $0.components.seconds).year }.flatMap {
            (2015...2099).contains($0) ? $0 : nil
        }
        let example = Self.example(raw, frame) + (captured.map { ", recorded in \($0)" } ?? "")
        if raw[0] != DrinkRecord.strictTypeByte {
            // A lost clock starts at zero: that is no year, and no type either.
            guard (2015...2099).contains(year) else { return }
            let isNear = captured.map { abs($0 - year) <= 1 } ?? true
            yearByte.weigh(isNear ? [0.9, 0.0001] : [0.05, 0.0001], example)
        } else if let captured {
            // Old records are taken late; ones from the future are not taken at all.
            let age = captured - year
            yearByte.weigh(age == 0 ? [0.98, 0.98] : age == 1 ? [0.3, 0.98] : [0.01, 0.98], example)
        } else {
            yearByte.weigh([0.98, 0.98], example)
        }
    }

    private func weighDissolved(_ raw: [UInt8], _ frame: Int, _ witness: Witness) {
        let value = Int(raw[8]) << 8 | Int(raw[9])
        guard witness.seenSensors.count < 4096, witness.seenSensors.insert(UInt32(value) | 1 << 16).inserted else {
            return
        }
        let example = Self.example(raw, frame)
        guard value > 0 else { return dissolved.weigh([0.3, 0.5], example) }
        if let told = witness.tds {
            let isNear = abs(value - told) <= max(10, told / 5), width = Double(max(20, 2 * told / 5))
            let asTDS: Double = isNear ? 0.8 / width : 0.2 / 2000
            dissolved.weigh([asTDS, 0.5 / 65_535], example + ", TDS \(told) ppm told beside it")
        } else {
            // Water has tens to hundreds.
            dissolved.weigh(value <= 2000 ? [0.7 / 2000, 0.5 / 65_535] : [0.0001 / 65_535, 0.5 / 65_535], example)
        }
    }

    /// Bytes 10 and 11 once for each value: a dump repeats them.
    private func weighSensor(_ raw: [UInt8], _ frame: Int, _ witness: Witness, _ peer: BottlePeer) {
        let (high, low) = (raw[10], raw[11])
        guard witness.seenSensors.count < 4096,
            witness.seenSensors.insert(UInt32(high) << 8 | UInt32(low) | 1 << 17).inserted
        else { return }
        let index =
            switch peer.model {
            case .boost?: 0
            case .vita?: 1
            case nil: 2
            }
        var example = Self.example(raw, frame)
        if let told = witness.battery { example += ", battery \(told) % told beside it" }
        if let told = witness.temperature { example += ", \(told) °C told beside it" }
        sensors[index].weigh(
            [
                Self.asBattery(high, low, witness.battery), Self.asTenths(high, low, witness.temperature),
                Self.asDegrees(high, low, witness.temperature),
            ], example)
    }

    /// A battery loses some percent in the days that a log holds.
    private static func asBattery(_ high: UInt8, _ low: UInt8, _ told: Int?) -> Double {
        guard high == 1, low <= 100 else { return 1e-6 }
        guard let told else { return 0.98 / 101 }
        return abs(Int(low) - told) <= 10 ? 0.9 / 21 : 0.1 / 80
    }

    /// Water in a bottle has 0 to 50 °C, rarely more.
    private static func asTenths(_ high: UInt8, _ low: UInt8, _ told: Int?) -> Double {
        let value = Int(Int16(bitPattern: UInt16(high) << 8 | UInt16(low)))
        guard (-100...1000).contains(value) else { return 1e-6 }
        let usual = (0...500).contains(value) ? 0.98 / 501 : 0.02 / 600
        guard let told else { return usual }
        return abs(value - 10 * told) <= 50 ? 0.6 / 101 + 0.4 * usual : 0.4 * usual
    }

    /// What byte 11 is this reading does not say; often nothing.
    private static func asDegrees(_ high: UInt8, _ low: UInt8, _ told: Int?) -> Double {
        let value = Int(Int8(bitPattern: high))
        guard (-10...100).contains(value) else { return 1e-6 }
        let usual = (0...50).contains(value) ? 0.98 / 51 : 0.02 / 60
        let rest = low == 0 ? 0.5 : 0.5 / 255
        guard let told else { return usual * rest }
        return (abs(value - told) <= 5 ? 0.6 / 11 + 0.4 * usual : 0.4 * usual) * rest
    }

    func weighOrder(_ before: [UInt8], _ after: [UInt8], _ frame: Int) {
        // Dates only: byte 0 is disputed itself, and a lost clock has none.
        guard [before, after].allSatisfy({ (1...12).contains($0[1]) && (1...31).contains($0[2]) }) else { return }
        let (one, other) = (Array(before.prefix(6)), Array(after.prefix(6)))
        guard one != other else { return }
        let isRising = one.lexicographicallyPrecedes(other)
        order.weigh(
            isRising ? [0.98, 0.02, 0.5] : [0.02, 0.98, 0.5],
            "frame \(frame): \(isRising ? "a later" : "an earlier") record follows")
    }

    /// The day's amount by the bottle itself, beside what its records add up to with and without those that may be
    /// none.
    func weighFlags(_ witness: Witness, _ dump: Dump) {
        for raw in dump.records where raw[12] != 0 {
            let isNone = raw[6] == 0 && raw[7] == 0
            guard witness.seenSensors.count < 4096,
                witness.seenSensors.insert(UInt32(raw[12]) | UInt32(raw[7]) << 8 | 1 << 24).inserted
            else { continue }
            flag.weigh(isNone ? [0.5, 0.05] : [0.5, 0.5], Self.hex(raw))
        }
        guard let snapshot = witness.snapshot, let shown = snapshot.amountMl, shown > 0, let clock = snapshot.clock,
            clock.isPossible
        else { return }
        let today = dump.records.filter { $0[1] == clock.month && $0[2] == clock.day }
        func sum(_ records: [[UInt8]]) -> Int { records.reduce(0) { $0 + Int($1[6]) << 8 + Int($1[7]) } }
        let (drinks, all) = (sum(today.filter { $0[12] == 0 }), sum(today))
        guard drinks != all, shown == drinks || shown == all else { return }
        flag.weigh(
            shown == drinks ? [0.5, 0.002] : [0.002, 0.5],
            "\(shown) ml shown; \(drinks) ml of drinks, \(all) ml of all records")
    }

    /// A notification of the response characteristic: where it is cut, and how long its entries are.
    func take(_ value: ObservedTransfer) {
        guard value.travel == .notification,
            case .response(.retail?, _) = value.side.role(of: value.handle, GivenHandles())
        else { return }
        let bytes = value.bytes
        let isFirst = bytes.starts(with: [0x50, 0x54])
        let start = isFirst ? 4 : 0
        guard bytes.count >= start + 2 + DrinkRecord.size, bytes[start + 1] == 0x06 else { return }
        let length = Int(bytes[start]) + 1
        guard (length - 2) % DrinkRecord.size == 0 else { return }
        let count = (length - 2) / DrinkRecord.size
        let announced = isFirst ? Int(bytes[2]) << 8 | Int(bytes[3]) : nil
        entries.weigh(
            count > 8
                ? [0.001, 0.5] : count == 8 && announced.map { $0 > length } ?? false ? [0.9, 0.1] : [0.5, 0.5],
            "frame \(value.frame): an entry of \(count) records\(announced.map { " in a frame of \($0) bytes" } ?? "")")
        // A frame that fits into one notification is cut nowhere.
        if isFirst, let announced, announced <= bytes.count - 4 { return }
        let isWhole = bytes.count - start == length
        parts.weigh(
            isWhole ? [0.95, 0.1] : [0.02, 0.9],
            "frame \(value.frame): \(bytes.count) bytes, the entry in it has \(length)")
    }
}
