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
    var steps: [BenchDayStep] = []
    /// The amounts of the measured sips in ml.
    var sips: [Int] = []
    var omissions: [String] = []

    var snapshots: [(step: BenchDayStep, snapshot: Snapshot)] {
        steps.compactMap { step in step.name == "snapshot" ? step.contents.snapshot.map { (step, $0) } : nil }
    }
    var logs: [BenchDayStep] { steps.filter { $0.name.hasPrefix("log") } }
    var model: BottleModel? {
        snapshots.lazy.compactMap(\.snapshot.model).first ?? name.flatMap(BottleModel.init(advertisedName:))
    }

    func step(_ name: String) -> BenchDayStep? { steps.last { $0.name == name } }

    /// The records of the step's log; `nil` if it was not read completely.
    func records(_ name: String) -> [[UInt8]]? {
        step(name).map(\.contents).flatMap { $0.isWholeLog ? $0.records : nil }
    }
}

/// A step of the session with the received values.
struct BenchDayStep: Sendable {
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

    /// The contents of the values (protocol spec P3.4).
    struct Contents: Sendable {
        var snapshot: Snapshot?
        /// Records of 13 bytes in the order of arrival, without repetitions.
        var records: [[UInt8]] = []
        /// The PT frames with records, without repetitions.
        var frames: Set<[UInt8]> = []
        /// Whether every frame is complete, and the bottle reported an empty log or sent one.
        var isWholeLog = false
    }

    /// Decodes the values.
    var contents: Contents {
        var (assembler, contents) = (LogAssembler(), Contents())
        var (hasLog, isBroken) = (false, failure != nil)
        for event in values.flatMap({ assembler.receive($0.bytes) }) + assembler.finish() {
            switch event {
            case .message(let frame):
                let message = try? BottleMessage(decoding: frame)
                if case .snapshot(let snapshot) = message { contents.snapshot = contents.snapshot ?? snapshot }
                if message == .logEmpty { hasLog = true }
            case .log(let transfer), .unfinished(let transfer, _):
                hasLog = true
                if transfer.count > 0 { contents.frames.insert(transfer.recordBytes) }
                for record in transfer.records().map(\.raw) where !contents.records.contains(record) {
                    contents.records.append(record)
                }
                if case .unfinished = event { isBroken = true }
            case .malformed: isBroken = true
            case .repeated: break
            }
        }
        contents.isWholeLog = hasLog && !isBroken
        return contents
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
