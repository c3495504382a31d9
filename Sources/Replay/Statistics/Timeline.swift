package import Bluetooth

/// The timeline of a capture for a chart, in bounded memory: traffic counts per interval, and a limited number of PDUs.
///
/// All intervals have the same width, and only those with traffic are stored. If there are too many, the width doubles.
package final class Timeline {
    /// The traffic counts of an interval.
    package struct IntervalCounts: Sendable, Equatable {
        /// The number of PDUs sent by the host (in link-layer captures: the central).
        package var sent = 0
        /// The number of PDUs sent to the host, or with unknown direction.
        package var received = 0
        package var errors = 0
        package var bytes = 0

        fileprivate mutating func add(_ other: IntervalCounts) {
            sent += other.sent
            received += other.received
            errors += other.errors
            bytes += other.bytes
        }
    }

    /// A PDU that the chart shows individually.
    package struct Entry: Sendable {
        /// The number of the record with the last byte of the PDU.
        package var frame: Int
        /// The time since 1970, if the capture has times.
        package var time: Duration?
        package var connection: Int
        package var direction: TrafficDirection?
        package var opcode: ATTOpcode
        /// The handle in the PDU, or in the request of a response.
        package var handle: UInt16?
        package var length: Int
        /// The time from the request to this response.
        package var latency: Duration?
        /// The first bytes of the PDU, at most `maximumStartLength`.
        package var start: [UInt8]
    }

    /// The maximum number of intervals; with more, the width doubles.
    package static let maximumIntervals = 2048
    /// The number of PDUs that are stored from the start.
    package static let maximumEntries = 5000
    /// The number of later error responses and late responses that are stored.
    package static let maximumNotable = 1000
    package static let maximumStartLength = 24
    /// The time from which a response is late.
    package static let lateThreshold = Duration.milliseconds(500)

    /// The width of an interval in nanoseconds.
    package private(set) var width: Int64 = 100_000
    /// The stored PDUs, in the order of the capture.
    package private(set) var entries: [Entry] = []
    package private(set) var count = 0
    /// The number of PDUs without a time, which are in no interval.
    package private(set) var pdusWithoutTime = 0
    /// The number of stored PDUs after the first `maximumEntries`.
    private var notableCount = 0
    private var countsByIndex: [Int64: IntervalCounts] = [:]

    package init() {}

    /// The intervals in order, each with its start.
    package var intervals: [(begin: Duration, counts: IntervalCounts)] {
        countsByIndex.sorted { $0.key < $1.key }.map { (.nanoseconds($0.key) * Int(width), $0.value) }
    }

    /// Adds a PDU.
    /// - Parameters:
    ///   - handle: the attribute's handle, if known.
    ///   - latency: the time since its request.
    func add(_ observation: ATTObservation, _ pdu: RawSpan, handle: UInt16?, latency: Duration?) {
        guard let opcode = pdu.first else { return }
        count += 1
        if let time = observation.time {
            addToInterval(time, opcode, observation.direction, pdu.byteCount)
        } else {
            pdusWithoutTime += 1
        }
        let isNotable = opcode == 0x01 || latency.map { $0 >= Self.lateThreshold } == true
        guard entries.count < Self.maximumEntries || (isNotable && notableCount < Self.maximumNotable) else { return }
        if entries.count >= Self.maximumEntries { notableCount += 1 }
        entries.append(
            Entry(
                frame: observation.frame, time: observation.time, connection: observation.connection.id,
                direction: observation.direction,
                opcode: ATTOpcode(rawValue: opcode), handle: handle, length: pdu.byteCount, latency: latency,
                start: pdu.extracting(0..<min(pdu.byteCount, Self.maximumStartLength)).bytes()))
    }

    private func addToInterval(_ time: Duration, _ opcode: UInt8, _ direction: TrafficDirection?, _ bytes: Int) {
        while countsByIndex.count >= Self.maximumIntervals, countsByIndex[number(of: time)] == nil { doubleWidth() }
        countsByIndex[number(of: time), default: IntervalCounts()].add(
            IntervalCounts(
                sent: direction == .sent ? 1 : 0, received: direction == .sent ? 0 : 1, errors: opcode == 0x01 ? 1 : 0,
                bytes: bytes))
    }

    /// The index of the interval. 2^63 nanoseconds are 292 years; times outside get the first or last index.
    private func number(of time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        let limit: Int64 = 9_000_000_000
        let nanoseconds = min(limit, max(-limit, seconds)) * 1_000_000_000 + attoseconds / 1_000_000_000
        return nanoseconds >= 0 ? nanoseconds / width : (nanoseconds + 1) / width - 1
    }

    /// Doubles the width, and merges the intervals in pairs.
    private func doubleWidth() {
        width *= 2
        var wider: [Int64: IntervalCounts] = [:]
        // The shift rounds down, also below zero.
        for (number, counts) in countsByIndex { wider[number >> 1, default: IntervalCounts()].add(counts) }
        countsByIndex = wider
    }
}
