import Bluetooth
import CommandSupport
import Replay

extension StatisticsReport {
    var json: JSONValue {
        let total = statistics.total
        return [
            "file": .string(file),
            "packets": .int(packets),
            "start": JSONValue(total.first.map(timestampText)),
            "end": JSONValue(total.last.map(timestampText)),
            "total": Self.json(total),
            "orphans": .int(statistics.orphans),
            "requests": .array(
                statistics.requests.map {
                    .object([.init("name", .string($0.opcode.description))] + Self.members($0.counts))
                }),
            "connectionCount": .int(statistics.connectionCount),
            "connections": .array(statistics.connections.map(Self.json)),
            "characteristics": .array(statistics.characteristics.map(Self.json)),
            "uncountedPdus": .int(statistics.uncountedPDUs),
            "clocks": .array(statistics.clocks.map { Self.json($0.peer, $0.readings) }),
            "notRead": .object(
                statistics.drops.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                    .init($0.key.rawValue, .int($0.value))
                }),
            "backwardSteps": .int(statistics.backwardSteps),
            "shareError": .double(LatencyHistogram.relativeError),
            "anomalies": .array(statistics.anomalies.map(Self.json)),
        ]
    }

    private static func json(_ counts: TrafficCounts) -> JSONValue { .object(members(counts)) }

    private static func members(_ counts: TrafficCounts) -> [JSONValue.Member] {
        [
            .init("pdus", .int(counts.pdus)),
            .init("requests", .int(counts.requests)),
            .init("answers", .int(counts.responses)),
            .init("notifications", .int(counts.notifications)),
            .init("indications", .int(counts.indications)),
            .init("commands", .int(counts.commands)),
            .init("valueBytes", .int(counts.valueBytes)),
            .init("bytesPerSecond", JSONValue(counts.bytesPerSecond)),
            .init("busiestSecondBytes", .int(counts.busiestSecond)),
            .init(
                "latency",
                [
                    "count": .int(counts.latency.count),
                    "medianMs": JSONValue(counts.latency.median.map(milliseconds)),
                    "share95Ms": JSONValue(counts.latency.percentile95.map(milliseconds)),
                    "worstMs": JSONValue(counts.latency.maximum.map(milliseconds)),
                    "exact": .bool(counts.latency.isExact),
                ]),
            .init("timeouts", .int(counts.timeouts)),
            .init("unanswered", .int(counts.unanswered)),
            .init("backwardAnswers", .int(counts.backwardResponses)),
            .init("errors", .object(counts.errors.map { .init($0.code.description, .int($0.count)) })),
            .init("byName", .object(counts.opcodes.map { .init($0.opcode.description, .int($0.count)) })),
        ]
    }

    private static func json(_ connection: ConnectionStatistics) -> JSONValue {
        .object(
            [
                .init("connection", .int(connection.observed.id)),
                .init("adapter", .int(Int(connection.observed.adapter))),
                .init("handle", .int(Int(connection.observed.handle))),
                .init("peer", JSONValue(connection.observed.peer?.description)),
                .init("start", JSONValue(connection.counts.first.map(timestampText))),
                .init("end", JSONValue(connection.counts.last.map(timestampText))),
                .init("ended", .bool(connection.hasEnded)),
                .init("reason", JSONValue(connection.reason.map(Int.init))),
                .init("encrypted", .bool(connection.isEncrypted)),
                .init("mtu", JSONValue(connection.mtu)),
                .init("fullPdus", .int(connection.fullPDUs)),
                .init("tooLongPdus", .int(connection.oversizedPDUs)),
                .init("impatientRequests", .int(connection.overlappingRequests)),
                .init("retransmissions", .int(connection.retransmissions)),
                .init("lostParts", .int(connection.lostParts)),
            ] + members(connection.counts))
    }

    private static func json(_ characteristic: CharacteristicStatistics) -> JSONValue {
        .object(
            [
                .init("peer", JSONValue(characteristic.peer.address?.description)),
                .init("connection", .int(characteristic.connection)),
                .init("servedByHost", .bool(characteristic.peer.isHost)),
                .init("handle", .int(Int(characteristic.handle))),
                .init("uuid", JSONValue(characteristic.uuid?.description)),
                .init("properties", JSONValue(characteristic.properties.map { Int($0.rawValue) })),
                .init("forbiddenWrites", .int(characteristic.forbiddenWriteCount)),
            ] + members(characteristic.counts))
    }

    private static func json(_ peer: BottlePeer, _ readings: ClockReadings) -> JSONValue {
        [
            "bottle": JSONValue(peer.address?.description),
            "readings": .int(readings.count),
            "settings": .int(readings.settings),
            "zoneMinutes": JSONValue(readings.zone.map { Int($0.components.seconds) / 60 }),
            "driftSeconds": JSONValue(readings.drift.map(seconds)),
            "wrongBySeconds": JSONValue(readings.error.map(seconds)),
            "rateMillionths": JSONValue(readings.rate),
            "latestRecordAheadSeconds": JSONValue(readings.latestRecord.map { seconds($0.offset) }),
        ]
    }

    static func json(_ anomaly: Anomaly) -> JSONValue {
        [
            "kind": .string(anomaly.kind.rawValue), "sentence": .string(anomaly.sentence),
            "explanation": .string(anomaly.explanation),
            "count": .int(anomaly.count), "frame": JSONValue(anomaly.frame),
            "connection": JSONValue(anomaly.connection),
        ]
    }

    /// Milliseconds as the nearest number, which `seconds * 1000` is not: 0.069 instead of 0.06899999999999999.
    static func milliseconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) * 1000 + Double(duration.components.attoseconds) / 1e15
    }
    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}
