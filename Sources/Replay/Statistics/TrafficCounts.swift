package import Bluetooth

/// The traffic counts of a connection, a characteristic or a kind of request.
package struct TrafficCounts: Sendable {
    package internal(set) var pdus = 0
    package internal(set) var requests = 0
    /// Responses, including error responses and confirmations.
    package internal(set) var responses = 0
    package internal(set) var notifications = 0
    package internal(set) var indications = 0
    /// Write Commands, with or without a signature.
    package internal(set) var commands = 0
    package internal(set) var latency = LatencyHistogram()
    /// The number of responses before their request (clock set back), which are not in `latency`.
    package internal(set) var backwardResponses = 0
    /// The number of requests without a response for at least 30 s (Core 5.4, Vol 3 Part F, 3.3.3).
    package internal(set) var timeouts = 0
    /// The number of other requests without a response in the capture.
    package internal(set) var unanswered = 0
    /// The bytes of values that were written, read, notified and indicated.
    package internal(set) var valueBytes = 0
    /// The sum of the times between PDUs, without pauses of more than a second.
    package internal(set) var activeTime = Duration.zero
    /// The maximum number of value bytes in one second of the capture's clock.
    package internal(set) var busiestSecond = 0
    package internal(set) var firstFrame: Int?
    /// The time of the first PDU that has one, since 1970.
    package internal(set) var first: Duration?
    /// The time of the last PDU that has one, since 1970.
    package internal(set) var last: Duration?
    package var errors: [(code: ATTErrorCode, count: Int)] {
        errorTally.sorted.map { (ATTErrorCode(rawValue: $0), $1) }
    }
    package var errorCount: Int { errorTally.total }
    package var opcodes: [(opcode: ATTOpcode, count: Int)] { opcodeTally.sorted.map { (ATTOpcode(rawValue: $0), $1) } }

    private var opcodeTally = ByteTally()
    private var errorTally = ByteTally()
    private var second: (number: Int64, bytes: Int) = (.min, 0)

    /// The transaction timeout of ATT.
    package static let responseTimeout = Duration.seconds(30)
    private static let maximumPause = Duration.seconds(1)

    package init() {}

    /// Value bytes per second of `activeTime`; `nil` if that is zero.
    package var bytesPerSecond: Double? {
        let seconds = Double(activeTime.components.seconds) + Double(activeTime.components.attoseconds) / 1e18
        return seconds > 0 ? Double(valueBytes) / seconds : nil
    }

    package func count(of opcode: ATTOpcode) -> Int { opcodeTally.count(of: opcode.rawValue) }

    mutating func add(_ opcode: UInt8, frame: Int, time: Duration?, valueBytes bytes: Int) {
        pdus += 1
        opcodeTally.add(opcode)
        switch opcode {
        case 0x1B, 0x23: notifications += 1
        case 0x1D: indications += 1
        case 0x1E: responses += 1
        default:
            if opcode & 0x40 != 0 { commands += 1 }
            if TrafficKind.isRequest[Int(opcode)] { requests += 1 }
            if TrafficKind.isResponse[Int(opcode)] { responses += 1 }
        }
        valueBytes += bytes
        if firstFrame == nil { firstFrame = frame }
        guard let time else { return }
        if first == nil { first = time }
        if let last, time > last, time - last <= Self.maximumPause { activeTime += time - last }
        last = time
        let number = time.components.seconds
        second = second.number == number ? (number, second.bytes + bytes) : (number, bytes)
        busiestSecond = max(busiestSecond, second.bytes)
    }

    mutating func add(error code: UInt8) { errorTally.add(code) }

    mutating func addResponse(after latency: Duration?) {
        guard let latency else { return }
        guard latency >= .zero else { return backwardResponses += 1 }
        self.latency.add(latency)
        if latency >= Self.responseTimeout { timeouts += 1 }
    }

    /// Counts a request without a response; `wait` is the observed time, or `nil` if the capture has no times.
    mutating func addUnanswered(after wait: Duration?) {
        if let wait, wait >= Self.responseTimeout { timeouts += 1 } else { unanswered += 1 }
    }
}

/// Counts occurrences by byte value. Linear search, because only a few values occur.
struct ByteTally: Sendable {
    private var entries: [(byte: UInt8, count: Int)] = []

    mutating func add(_ byte: UInt8) {
        for index in entries.indices where entries[index].byte == byte {
            entries[index].count += 1
            return
        }
        entries.append((byte, 1))
    }

    var total: Int { entries.reduce(0) { $0 + $1.count } }
    var sorted: [(byte: UInt8, count: Int)] { entries.sorted { $0.byte < $1.byte } }
    func count(of byte: UInt8) -> Int { entries.first { $0.byte == byte }?.count ?? 0 }
}
