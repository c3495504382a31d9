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
                statistics.requests.map { ["name": .string($0.opcode.description)] + Self.json($0.counts) }),
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

    private static func json(_ counts: TrafficCounts) -> JSONValue {
        [
            "pdus": .int(counts.pdus),
            "requests": .int(counts.requests),
            "answers": .int(counts.responses),
            "notifications": .int(counts.notifications),
            "indications": .int(counts.indications),
            "commands": .int(counts.commands),
            "valueBytes": .int(counts.valueBytes),
            "bytesPerSecond": JSONValue(counts.bytesPerSecond),
            "busiestSecondBytes": .int(counts.busiestSecond),
            "latency": [
                "count": .int(counts.latency.count),
                "medianMs": JSONValue(counts.latency.median.map(milliseconds)),
                "share95Ms": JSONValue(counts.latency.percentile95.map(milliseconds)),
                "worstMs": JSONValue(counts.latency.maximum.map(milliseconds)),
                "exact": .bool(counts.latency.isExact),
            ],
            "timeouts": .int(counts.timeouts),
            "unanswered": .int(counts.unanswered),
            "backwardAnswers": .int(counts.backwardResponses),
            "errors": .object(counts.errors.map { .init($0.code.description, .int($0.count)) }),
            "byName": .object(counts.opcodes.map { .init($0.opcode.description, .int($0.count)) }),
        ]
    }

    private static func json(_ connection: ConnectionStatistics) -> JSONValue {
        [
            "connection": .int(connection.observed.id),
            "adapter": .int(Int(connection.observed.adapter)),
            "handle": .int(Int(connection.observed.handle)),
            "peer": JSONValue(connection.observed.peer?.description),
            "start": JSONValue(connection.counts.first.map(timestampText)),
            "end": JSONValue(connection.counts.last.map(timestampText)),
            "ended": .bool(connection.hasEnded),
            "reason": JSONValue(connection.reason.map(Int.init)),
            "encrypted": .bool(connection.isEncrypted),
            "mtu": JSONValue(connection.mtu),
            "fullPdus": .int(connection.fullPDUs),
            "tooLongPdus": .int(connection.oversizedPDUs),
            "impatientRequests": .int(connection.overlappingRequests),
            "retransmissions": .int(connection.retransmissions),
            "lostParts": .int(connection.lostParts),
        ] + json(connection.counts)
    }

    private static func json(_ characteristic: CharacteristicStatistics) -> JSONValue {
        [
            "peer": JSONValue(characteristic.peer.address?.description),
            "connection": .int(characteristic.connection),
            "servedByHost": .bool(characteristic.peer.isHost),
            "handle": .int(Int(characteristic.handle)),
            "uuid": JSONValue(characteristic.uuid?.description),
            "properties": JSONValue(characteristic.properties.map { Int($0.rawValue) }),
            "forbiddenWrites": .int(characteristic.forbiddenWriteCount),
        ] + json(characteristic.counts)
    }

    private static func json(_ peer: BottlePeer, _ readings: ClockReadings) -> JSONValue {
        [
            "bottle": JSONValue(peer.address?.description),
            "readings": .int(readings.count),
            "settings": .int(readings.setCount),
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

extension JSONValue {
    /// An object with the members of both objects.
    static func + (left: JSONValue, right: JSONValue) -> JSONValue {
        guard case .object(let first) = left, case .object(let second) = right else { return left }
        return .object(first + second)
    }
}
