import Bluetooth
import BottleProtocol
import Captures
import Foundation
import Replay
import Support
import Testing

@Suite struct CaptureStatisticsTests {
    static let start = Duration.seconds(1_770_000_000)

    /// - Parameter pauses: milliseconds before each record; the default is a second.
    static func read(_ conversation: Conversation, pauses: [Int: Int] = [:], _ filter: TrafficFilter = TrafficFilter())
        throws -> CaptureStatistics
    {
        let statistics = CaptureStatistics(filter)
        var time = start, last = 0
        for (event, bytes) in conversation.events {
            var event = event
            if case .att(var observation) = event {
                for frame in stride(from: last + 1, through: observation.frame, by: 1) {
                    time += .milliseconds(pauses[frame] ?? 1000)
                }
                last = observation.frame
                observation.time = time
                event = .att(observation)
            }
            try statistics.receive(event, bytes.span.bytes)
        }
        statistics.finish()
        return statistics
    }

    static func kinds(_ statistics: CaptureStatistics) -> [Anomaly.Kind] { statistics.anomalies.map(\.kind) }

    @Test func `statistics count requests, responses and latencies`() throws {
        var talk = Conversation.retail()  // frames 2–5
        for _ in 0..<3 {
            talk.read(6, [0x41, 0x42])
        }
        talk.notify([1, 2, 3, 4])
        talk.write([0x47], to: 3)
        let statistics = try Self.read(talk, pauses: [3: 10, 5: 10, 7: 10, 9: 20, 11: 90])
        #expect(
            statistics.total.pdus == 12 && statistics.total.requests == 5 && statistics.total.responses == 5
                && statistics.total.notifications == 1)
        let reads = try #require(statistics.requests.first { $0.opcode == .readRequest }?.counts)
        #expect(
            reads.latency.median == .milliseconds(20) && reads.latency.percentile95 == .milliseconds(90)
                && reads.latency.maximum == .milliseconds(90))
        let response = try #require(statistics.characteristics.first { $0.handle == 6 })
        #expect(
            response.uuid == BluetoothUUID(0xFFE4) && response.counts.requests == 3 && response.counts.responses == 3
                && response.counts.notifications == 1)
        #expect(response.counts.valueBytes == 3 * 2 + 4)
        let command = try #require(statistics.characteristics.first { $0.handle == 3 })
        #expect(command.counts.commands == 1 && command.counts.valueBytes == 1 && command.forbiddenWriteCount == 0)
        #expect(
            statistics.connections.map(\.counts.errorCount) == [1]
                && statistics.connections[0].counts.errors.map(\.code) == [.attributeNotFound])
        #expect(Self.kinds(statistics) == [])
    }

    @Test func `forbidden writes are reported if the attribute table is known`() throws {
        var talk = Conversation()
        talk.write([1], to: 3)  // before the discovery: known all the same, in the end
        talk.discoverRetail()
        talk.write([1], to: 6)  // notifies only
        talk.sent([0x12, 0x03, 0x00, 0x01])  // only without response
        talk.received([0x01, 0x12, 0x03, 0x00, 0x03])
        talk.write([1], to: 9)  // not in the table
        let statistics = try Self.read(talk)
        let forbidden = statistics.characteristics.map {
            ($0.handle, $0.forbiddenWrites.map { "\($0.opcode) \($0.count) \($0.frame)" })
        }
        #expect(forbidden.map(\.0) == [3, 6, 9])
        #expect(forbidden.map(\.1) == [["Write Request 1 8"], ["Write Command 1 7"], []])
        #expect(Self.kinds(statistics) == [.forbiddenWrites, .forbiddenWrites, .errors])
        #expect(
            statistics.anomalies[0].sentence
                == "1 Write Request to FFE9 (handle 0x0003) of A4:C1:38:01:02:03, whose properties do not allow it.")
        #expect(statistics.anomalies[2].sentence.hasSuffix("rejected 1 request: 1 × Write Not Permitted (0x03)."))
    }

    @Test func `timeouts, missing responses and overlapping requests are counted`() throws {
        var talk = Conversation()
        talk.sent([0x0A, 0x06, 0x00])  // 2: answered after 31 s
        talk.received([0x0B, 0x41])
        talk.sent([0x0A, 0x06, 0x00])  // 4: never, and the next comes after 40 s
        talk.sent([0x0A, 0x07, 0x00])  // 5: never, the connection ends
        talk.received([0x0D, 0x41])  // 6: answers nothing that was asked
        talk.disconnect()
        let statistics = try Self.read(talk, pauses: [3: 31_000, 5: 40_000])
        #expect(statistics.total.timeouts == 2 && statistics.total.unanswered == 1 && statistics.orphans == 1)
        #expect(statistics.connections[0].overlappingRequests == 1 && statistics.connections[0].firstOverlapping == 5)
        #expect(
            statistics.characteristics.map(\.counts.timeouts) == [2, 0]
                && statistics.characteristics.map(\.counts.unanswered) == [0, 1])
        #expect(Self.kinds(statistics) == [.timeouts, .unanswered, .orphans, .overlappingRequests])
    }

    @Test func `requests are matched per direction and bearer`() throws {
        var talk = Conversation()
        talk.sent([0x0A, 0x06, 0x00])
        talk.received([0x0A, 0x06, 0x00])  // the other side asks, too
        talk.sent([0x0B, 1])
        talk.received([0x0B, 2, 3])
        talk.received([0x1D, 0x06, 0x00, 7])  // an indication during a request
        talk.sent([0x0A, 0x06, 0x00])
        talk.sent([0x1E])
        talk.received([0x0B])
        let statistics = try Self.read(talk)
        #expect(statistics.total.latency.count == 4 && statistics.total.unanswered == 0 && statistics.orphans == 0)
        #expect(statistics.connections[0].overlappingRequests == 0)
        // Two servers: the peer, and the host itself.
        #expect(statistics.characteristics.map(\.peer.isHost) == [false, true])
        #expect(statistics.characteristics.map(\.counts.valueBytes) == [2 + 1, 1])
    }

    @Test func `a request without a response counts for the server that got it`() throws {
        var talk = Conversation()
        talk.read(6, [1])
        talk.received([0x0A, 0x06, 0x00])  // the other side asks, too
        let statistics = try Self.read(talk)
        #expect(statistics.characteristics.map(\.peer.isHost) == [false, true])
        #expect(statistics.characteristics.map(\.counts.unanswered) == [0, 1])
    }

    @Test func `backward steps of the recorder's clock are counted`() throws {
        var talk = Conversation()
        talk.read(6, [0x41])
        talk.notify([1])
        let statistics = try Self.read(talk, pauses: [3: -5000, 4: -86_400_000])
        #expect(
            statistics.total.latency.count == 0 && statistics.total.backwardResponses == 1
                && statistics.backwardSteps == 2)
        #expect(statistics.anomalies.map(\.sentence) == ["Times go backwards 2 times, at most by 24 h (frame 4)."])
        #expect(statistics.total.bytesPerSecond == nil)
    }

    @Test func `the MTU is reported with its violations`() throws {
        var small = Conversation()
        small.notify([UInt8](repeating: 1, count: 20))
        small.notify([UInt8](repeating: 1, count: 21))
        #expect(Self.kinds(try Self.read(small)) == [.smallMTU, .exceededMTU])
        var large = Conversation()
        large.sent([0x02, 0x05, 0x02])
        large.received([0x03, 0x64, 0x00])
        large.notify([UInt8](repeating: 1, count: 97))
        large.notify([UInt8](repeating: 1, count: 98))
        let statistics = try Self.read(large)
        #expect(
            statistics.connections[0].mtu == 100 && statistics.connections[0].oversizedPDUs == 1
                && statistics.connections[0].firstOversized == 5)
        #expect(Self.kinds(statistics) == [.exceededMTU])
        var both = Conversation()
        both.received([0x02, 0x64, 0x00])
        both.sent([0x02, 0x05, 0x02])
        both.received([0x03, 0x64, 0x00])
        both.sent([0x03, 0x05, 0x02])
        #expect(try Self.read(both).connections[0].mtu == 100)
        // An incomplete exchange has no latency.
        var half = Conversation()
        half.received([0x03, 0x64, 0x00])
        #expect(try Self.read(half).connections[0].mtu == nil)
    }

    /// A bottle's clock in UTC+1: correct, fast, reset, and set by the host.
    @Test(
        arguments: [
            (3600, nil, 3600, 0, nil), (3612, nil, 3600, 12, .clockDrift),
            (-5 * 3600 - 7, nil, -5 * 3600, -7, .clockDrift), (0, nil, 0, 0, nil),
            (40 * 3600, nil, nil, nil, .clockError), (-800_000_000, nil, nil, nil, .clockError),
            (3600 + 400, 3600, 3600, 400, .clockDrift),
        ] as [(Int, Int?, Int?, Int?, Anomaly.Kind?)])
    func `the offset of the bottle's clock is reported`(
        _ offset: Int, _ set: Int?, _ zone: Int?, _ drift: Int?, _ kind: Anomaly.Kind?
    ) throws {
        func clock(_ frame: Int, _ offset: Int) -> [UInt8] {
            let date = Date(timeIntervalSince1970: 1_770_000_000 + Double(frame + offset))
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = TimeZone(secondsFromGMT: 0)!
            let fields = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
            return [fields.year! - 2000, fields.month!, fields.day!, fields.hour!, fields.minute!, fields.second!].map {
                UInt8($0)
            }
        }
        var talk = Conversation.retail()
        if let set {
            talk.write([0x50, 0x54, 0x00, 0x08, 0x07, 0x03] + clock(6, set))
        } else {
            talk.write([0x47, 0x54, 0x00, 0x01, 0x06])
        }
        talk.notify(Frame(.response, [Entry(.battery, [80]), Entry(.clock, clock(7, offset))]).encoded)
        let statistics = try Self.read(talk)
        let readings = try #require(statistics.clocks.first?.readings)
        #expect(
            readings.count == 1 && readings.zone.map { Int($0.components.seconds) } == zone
                && readings.drift.map { Int($0.components.seconds) } == drift)
        #expect(
            Self.kinds(statistics).filter { [.clockError, .clockDrift, .clockRate].contains($0) }
                == [kind].compactMap { $0 })
    }

    @Test func `a future record shows a clock that is ahead`() throws {
        var talk = Conversation.retail()
        talk.write([0x47, 0x54, 0x00, 0x01, 0x06])
        talk.notifyLog([record(10, 100), record(11, 100, year: 0x1B)])
        let statistics = try Self.read(talk)
        #expect(Self.kinds(statistics).contains(.clockError))
    }

    @Test func `memory use is bounded`() throws {
        var talk = Conversation()
        for handle in UInt16(1)...5000 { talk.sent([0x52, UInt8(handle & 0xFF), UInt8(handle >> 8), 1]) }
        for number in 0..<1200 {
            talk.connect(BluetoothAddress(UInt64(number)))
            talk.notify([1])
        }
        let statistics = try Self.read(talk)
        #expect(
            statistics.characteristics.count == CaptureStatistics.characteristicLimit
                && statistics.uncountedPDUs == 5000 + 1200 - CaptureStatistics.characteristicLimit)
        #expect(statistics.connections.count == CaptureStatistics.connectionLimit && statistics.connectionCount == 1201)
        #expect(statistics.total.pdus == 6200)
    }
}
