import Bluetooth
import BottleProtocol

/// What one dump of the log holds, read by the rules of protocol law P3.4.
struct DayLog {
    /// In order of arrival, 13 bytes each.
    let records: [[UInt8]]
    /// Every PT frame came to its end.
    let isWhole: Bool
    /// What RP 06 said: records follow, or none. `nil`: it said nothing.
    let announced: Bool?
    /// Values that begin with a PT header.
    let headers: [DayValue]
    /// Values of the log alone: no answers, no reports.
    let pieces: [DayValue]

    init(_ step: DayStep, from response: BluetoothUUID) {
        var assembler = LogAssembler()
        var (records, isWhole): ([[UInt8]], Bool) = ([], true)
        var announced: Bool?
        func take(_ events: [AssemblyEvent]) {
            for event in events {
                switch event {
                case .log(let transfer): records += Self.split(transfer.recordBytes)
                case .unfinished(let transfer, _):
                    records += Self.split(transfer.recordBytes)
                    isWhole = false
                case .message(let frame):
                    switch try? BottleMessage(decoding: frame) {
                    case .logFollows: announced = true
                    case .logEmpty: announced = announced ?? false
                    default: break
                    }
                case .malformed: isWhole = false
                case .repeated: break
                }
            }
        }
        let values = step.values.filter { $0.characteristic == response }
        for value in values { take(assembler.receive(value.bytes)) }
        take(assembler.finish())
        (self.records, self.isWhole, self.announced) = (records, isWhole, announced)
        headers = values.filter { $0.bytes.starts(with: FrameOperation.put.letters) }
        pieces = values.filter { value in
            guard let frame = try? Frame(decoding: value.bytes) else { return true }
            return frame.operation == .put
        }
    }

    private static func split(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count - bytes.count % DrinkRecord.size, by: DrinkRecord.size).map { Array(bytes[$0..<($0 + DrinkRecord.size)]) }
    }
}

extension BenchDayRecord {
    /// The dumps of that kind, read.
    func logs(_ wanted: (DayStep.Kind) -> Bool = \.isDump) -> [(step: DayStep, log: DayLog)] {
        guard let response else { return [] }
        return steps.filter { wanted($0.kind) && $0.refusal == nil }.map { ($0, DayLog($0, from: response)) }
    }

    func log(_ kind: DayStep.Kind) -> (step: DayStep, log: DayLog)? { logs { $0 == kind }.first }
}
