import Bluetooth
import BottleProtocol

/// What the session has recorded so far.
struct BenchDayRecord: Sendable {
    let hasRadio: Bool
    /// Its address, or the serial number that stands for it where there is no radio.
    var identity: String?
    var name: String?
    var mtu: Int?
    var profile: BottleProfile?
    var steps: [BenchDayRecordedStep] = []
    /// Known amounts that were drunk, in order.
    var sips: [Int] = []
    /// What was left out, and why: one sentence each.
    var omissions: [String] = []

    var snapshots: [(step: BenchDayRecordedStep, snapshot: Snapshot)] {
        steps.compactMap { step in step.name == "snapshot" ? step.snapshot.map { (step, $0) } : nil }
    }
    var logs: [BenchDayRecordedStep] { steps.filter { $0.request == .log } }
    var model: BottleModel? {
        snapshots.lazy.compactMap(\.snapshot.model).first ?? name.flatMap(BottleModel.init(advertisedName:))
    }

    func step(_ name: String) -> BenchDayRecordedStep? { steps.last { $0.name == name } }

    /// The records of that step's log; `nil` where it was not read to its end.
    func records(_ name: String) -> [[UInt8]]? { step(name).flatMap { $0.isWholeLog ? $0.records : nil } }
}

/// A step that was tried, and everything that came in it.
struct BenchDayRecordedStep: Sendable {
    struct Value: Sendable {
        /// Since the step's beginning.
        var after: Duration
        var bytes: [UInt8]
    }

    let part: String
    let name: String
    let request: BenchDayStep.Request
    /// This machine's wall clock at the step's beginning.
    let at: BottleClock
    var sent: [UInt8]?
    /// Values of the response characteristic.
    var values: [Value] = []
    /// Advertisements of the bottle that a scan saw.
    var advertisements = 0
    /// Why it did not succeed.
    var failure: String?

    init(_ part: String, _ step: BenchDayStep, at: BottleClock) {
        (self.part, name, request, self.at) = (part, step.name, step.request, at)
    }

    /// The values, put together by protocol spec P3.4.
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

    /// Records of 13 bytes in order of arrival; equal records count once.
    var records: [[UInt8]] {
        var seen: Set<[UInt8]> = []
        return transfers.flatMap { transfer in
            stride(from: 0, to: transfer.count * DrinkRecord.size, by: DrinkRecord.size).map {
                Array(transfer.recordBytes[$0..<($0 + DrinkRecord.size)])
            }
        }.filter { seen.insert($0).inserted }
    }

    /// PT frames with records, a repeated answer counted once.
    var frames: Int { Set(transfers.filter { $0.count > 0 }.map(\.recordBytes)).count }

    /// Every frame came to its end, and the bottle said that the log is empty, or sent one.
    var isWholeLog: Bool {
        guard failure == nil else { return false }
        let isBroken = events.contains {
            switch $0 {
            case .unfinished, .malformed: true
            case .log, .message, .repeated: false
            }
        }
        return !isBroken && (messages.contains(.logEmpty) || !transfers.isEmpty)
    }
}
