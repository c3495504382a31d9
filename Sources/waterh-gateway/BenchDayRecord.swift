import BottleProtocol
import CommandSupport

/// The data recorded in the session so far.
struct BenchDayRecord: Sendable {
    let hasRadio: Bool
    /// The address, or the serial number on links without a radio.
    var identity: String?
    var name: String?
    var mtu: Int?
    var profile: BottleProfile?
    var steps: [BenchDayRecordedStep] = []
    /// The amounts of the measured sips in ml.
    var sips: [Int] = []
    var omissions: [String] = []

    var snapshots: [(step: BenchDayRecordedStep, snapshot: Snapshot)] {
        steps.compactMap { step in step.name == "snapshot" ? step.snapshot.map { (step, $0) } : nil }
    }
    var logs: [BenchDayRecordedStep] { steps.filter { $0.name.hasPrefix("log") } }
    var model: BottleModel? {
        snapshots.lazy.compactMap(\.snapshot.model).first ?? name.flatMap(BottleModel.init(advertisedName:))
    }

    func step(_ name: String) -> BenchDayRecordedStep? { steps.last { $0.name == name } }

    /// The records of the step's log; `nil` if it was not read completely.
    func records(_ name: String) -> [[UInt8]]? { step(name).flatMap { $0.isWholeLog ? $0.records : nil } }
}

/// A step of the session with the received values.
struct BenchDayRecordedStep: Sendable {
    struct Value: Sendable {
        /// The time since the start of the step.
        var after: Duration
        var bytes: [UInt8]
    }

    let part: String
    let name: String
    let at: BottleClock
    var sent: [UInt8]?
    var values: [Value] = []
    var advertisements = 0
    var failure: String?

    /// The messages and log transfers in the values (protocol spec P3.4).
    private var events: [AssemblyEvent] {
        var assembler = LogAssembler()
        return values.flatMap { assembler.receive($0.bytes) } + assembler.finish()
    }

    private var messages: [BottleMessage] {
        events.compactMap { if case .message(let frame) = $0 { try? BottleMessage(decoding: frame) } else { nil } }
    }

    var snapshot: Snapshot? {
        messages.lazy.compactMap { if case .snapshot(let snapshot) = $0 { snapshot } else { nil } }.first
    }

    private var transfers: [LogTransfer] {
        events.compactMap { event in
            switch event {
            case .log(let transfer), .unfinished(let transfer, _): transfer
            default: nil
            }
        }
    }

    /// Records of 13 bytes in the order of arrival, without repetitions.
    var records: [[UInt8]] {
        var seen: Set<[UInt8]> = []
        return transfers.flatMap { transfer in
            stride(from: 0, to: transfer.count * DrinkRecord.size, by: DrinkRecord.size).map {
                Array(transfer.recordBytes[$0..<($0 + DrinkRecord.size)])
            }
        }.filter { seen.insert($0).inserted }
    }

    /// The number of PT frames with records, without repetitions.
    var frames: Int { Set(transfers.filter { $0.count > 0 }.map(\.recordBytes)).count }

    /// Whether every frame is complete, and the bottle reported an empty log or sent one.
    var isWholeLog: Bool {
        let isBroken = events.contains {
            switch $0 {
            case .unfinished, .malformed: true
            case .log, .message, .repeated: false
            }
        }
        return failure == nil && !isBroken && (messages.contains(.logEmpty) || !transfers.isEmpty)
    }

    /// The step as JSON with the keys of CLI spec C5.
    var json: JSONValue {
        [
            "part": .string(part), "step": .string(name), "at": .string(at.description),
            "sent": JSONValue(sent.map { hex($0) }),
            "values": .array(
                values.map { ["afterMs": .int(Int($0.after / .milliseconds(1))), "hex": .string(hex($0.bytes))] }),
            "advertisements": .int(advertisements), "failure": JSONValue(failure),
        ]
    }
}

/// Hexadecimal digits without spaces, as in `records.txt`.
func hex(_ bytes: some Collection<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
}
