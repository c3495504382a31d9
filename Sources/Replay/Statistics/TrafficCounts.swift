import Bluetooth

/// What passed: of a connection, of a characteristic, of a kind of request.
package struct TrafficCounts: Sendable {
    /// PDUs of either direction.
    package internal(set) var pdus = 0
    /// Requests.
    package internal(set) var requests = 0
    /// Answers, error responses and confirmations included.
    package internal(set) var answers = 0
    /// Handle Value Notifications.
    package internal(set) var notifications = 0
    /// Handle Value Indications.
    package internal(set) var indications = 0
    /// Write Commands, signed or not.
    package internal(set) var commands = 0
    /// From a request to its answer.
    package internal(set) var latency = LatencyHistogram()
    /// Answers whose time is before their request's: the recorder's clock was set back in between. They are no
    /// latencies.
    package internal(set) var backwardAnswers = 0
    /// Requests without an answer for 30 seconds or more, while the capture went on (Core 5.4, Vol 3 Part F, 3.3.3).
    package internal(set) var timeouts = 0
    /// Requests whose answer is not in the capture, for another reason.
    package internal(set) var unanswered = 0
    /// Bytes of values that were written, read, notified and indicated.
    package internal(set) var valueBytes = 0
    /// From PDU to PDU, pauses of more than a second left out.
    package internal(set) var activeTime = Duration.zero
    /// The most value bytes of one second of the capture's clock.
    package internal(set) var busiestSecond = 0
    /// Record of the first of them.
    package internal(set) var firstFrame: Int?
    /// Time of the first of them that has one, since 1970.
    package internal(set) var first: Duration?
    /// Time of the last of them that has one, since 1970.
    package internal(set) var last: Duration?
    /// Error responses by code.
    package var errors: [(code: ATTErrorCode, count: Int)] {
        errorTally.sorted.map { (ATTErrorCode(rawValue: $0), $1) }
    }
    /// Error Responses of every code.
    package var errorCount: Int { errorTally.total }
    /// PDUs by opcode.
    package var opcodes: [(opcode: ATTOpcode, count: Int)] { opcodeTally.sorted.map { (ATTOpcode(rawValue: $0), $1) } }

    private var opcodeTally = ByteTally()
    private var errorTally = ByteTally()
    private var second: (number: Int64, bytes: Int) = (.min, 0)

    /// ATT's own limit for an answer.
    package static let answerLimit = Duration.seconds(30)
    private static let longestPause = Duration.seconds(1)

    /// With nothing counted.
    package init() {}

    /// Value bytes a second, while something passed; `nil` where no time passed.
    package var bytesPerSecond: Double? {
        let seconds = Double(activeTime.components.seconds) + Double(activeTime.components.attoseconds) / 1e18
        return seconds > 0 ? Double(valueBytes) / seconds : nil
    }

    /// How many PDUs had this opcode.
    package func count(of opcode: ATTOpcode) -> Int { opcodeTally.count(of: opcode.rawValue) }

    mutating func take(_ opcode: UInt8, frame: Int, time: Duration?, valueBytes bytes: Int) {
        pdus += 1
        opcodeTally.add(opcode)
        switch opcode {
        case 0x1B, 0x23: notifications += 1
        case 0x1D: indications += 1
        case 0x1E: answers += 1
        default:
            if opcode & 0x40 != 0 { commands += 1 }
            if TrafficKind.isRequest[Int(opcode)] { requests += 1 }
            if TrafficKind.isResponse[Int(opcode)] { answers += 1 }
        }
        valueBytes += bytes
        if firstFrame == nil { firstFrame = frame }
        guard let time else { return }
        if first == nil { first = time }
        if let last, time > last, time - last <= Self.longestPause { activeTime += time - last }
        last = time
        let number = time.components.seconds
        second = second.number == number ? (number, second.bytes + bytes) : (number, bytes)
        busiestSecond = max(busiestSecond, second.bytes)
    }

    mutating func take(error code: UInt8) { errorTally.add(code) }

    /// An answer came.
    mutating func answered(after latency: Duration?) {
        guard let latency else { return }
        guard latency >= .zero else { return backwardAnswers += 1 }
        self.latency.add(latency)
        if latency >= Self.answerLimit { timeouts += 1 }
    }

    /// No answer came while the capture went on for so long.
    mutating func missed(after wait: Duration?) {
        if let wait, wait >= Self.answerLimit { timeouts += 1 } else { unanswered += 1 }
    }
}

/// How often each byte came: a few, as a rule.
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
