import Bluetooth
import BottleProtocol

/// What a dump of the log holds, read by the rules of protocol law P3.4; of several in one step the last whole one.
struct DayLog {
    /// In order of arrival, 13 bytes each.
    let records: [[UInt8]]
    /// Every PT frame came to its end; nothing at all is no log of a bottle that says so when nothing is stored.
    private(set) var isWhole: Bool
    /// What RP 06 said: records follow, or none. `nil`: it said nothing.
    let announced: Bool?
    /// Values that begin with a PT header.
    let headers: [DayValue]
    /// Values of the log alone: no answers, no reports.
    let pieces: [DayValue]

    init(_ step: DayStep, from response: BluetoothUUID) {
        let values = step.values.filter { $0.characteristic == response }
        announced = Self.announced(values)
        // Of several dumps the last that came to its end: it is what the bottle has.
        let dumps = Self.dumps(values).map { (values: $0, read: Self.read($0)) }
        let dump = dumps.last { $0.read.isWhole && !$0.read.records.isEmpty } ?? dumps[0]
        (records, isWhole) = dump.read
        headers = dump.values.filter(Self.isHeader)
        pieces = dump.values.filter { value in
            guard let frame = try? Frame(decoding: value.bytes) else { return true }
            return frame.operation == .put
        }
    }

    /// Something of a log came, or word that there is none.
    var isAnswered: Bool { announced != nil || !headers.isEmpty }

    fileprivate var broken: DayLog {
        var log = self
        log.isWhole = false
        return log
    }

    private static func isHeader(_ value: DayValue) -> Bool { value.bytes.starts(with: FrameOperation.put.letters) }

    private static func message(_ value: DayValue) -> BottleMessage? {
        (try? Frame(decoding: value.bytes)).flatMap { try? BottleMessage(decoding: $0) }
    }

    private static func announced(_ values: [DayValue]) -> Bool? {
        var said: Bool?
        for value in values {
            switch message(value) {
            case .logFollows: said = true
            case .logEmpty: said = said ?? false
            default: break
            }
        }
        return said
    }

    /// A question that was slow to be answered is asked again, and each of them is answered with the whole log: a dump
    /// begins where it is announced anew, or where the first header comes once more.
    private static func dumps(_ values: [DayValue]) -> [[DayValue]] {
        var (dumps, first): ([[DayValue]], DayValue?) = ([[]], nil)
        for value in values {
            let isAnew = if case .logFollows = message(value) { true } else { value.bytes == first?.bytes }
            if isAnew, dumps[dumps.count - 1].contains(where: isHeader) { dumps.append([]) }
            if first == nil, isHeader(value) { first = value }
            dumps[dumps.count - 1].append(value)
        }
        return dumps
    }

    private static func read(_ values: [DayValue]) -> (records: [[UInt8]], isWhole: Bool) {
        var assembler = LogAssembler()
        var (records, isWhole): ([[UInt8]], Bool) = ([], true)
        for event in values.flatMap({ assembler.receive($0.bytes) }) + assembler.finish() {
            switch event {
            case .log(let transfer): records += Self.split(transfer.recordBytes)
            case .unfinished(let transfer, _):
                records += Self.split(transfer.recordBytes)
                isWhole = false
            case .malformed: isWhole = false
            case .message, .repeated: break
            }
        }
        return (records, isWhole)
    }

    private static func split(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count - bytes.count % DrinkRecord.size, by: DrinkRecord.size).map {
            Array(bytes[$0..<($0 + DrinkRecord.size)])
        }
    }
}

extension BenchDayRecord {
    /// The dumps of that kind, read.
    func logs(_ wanted: (DayStep.Kind) -> Bool = \.isDump) -> [(step: DayStep, log: DayLog)] {
        guard let response else { return [] }
        return steps.filter { wanted($0.kind) && $0.refusal == nil }.map { step in
            let log = DayLog(step, from: response)
            // The draft profile has no answer for an empty log.
            return (step, profile == .draft || log.isAnswered ? log : log.broken)
        }
    }

    func log(_ kind: DayStep.Kind) -> (step: DayStep, log: DayLog)? { logs { $0 == kind }.first }
}
