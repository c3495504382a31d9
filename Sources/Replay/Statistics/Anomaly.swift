import Bluetooth

/// An anomaly in the traffic of a capture, with a description and the usual cause.
package struct Anomaly: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case retransmissions
        case lostParts
        case timeouts
        case unanswered
        case orphans
        case overlappingRequests = "impatience"
        case smallMTU
        case exceededMTU
        case forbiddenWrites
        case errors
        case lostLink
        case encryption
        case clockError
        case clockDrift
        case clockRate
        case recorderClock
        case slowResponses = "slowAnswers"

        fileprivate var explanation: String {
            switch self {
            case .retransmissions:
                """
                The peer did not acknowledge in time: a weak signal or heavy traffic. Each one costs a connection \
                interval and loses no data.
                """
            case .lostParts: "The recorder missed them. The capture does not show whether the receiver got them."
            case .timeouts:
                "After that ATT allows no further request on the connection: a host must disconnect."
            case .unanswered:
                "The connection or the capture ended first, or the recorder missed the response."
            case .orphans:
                "The recorder missed the request, or one side sent two responses, which ATT does not allow."
            case .overlappingRequests:
                """
                ATT allows one request at a time. Either the host violates that rule, or the response is not in the \
                capture.
                """
            case .smallMTU:
                """
                Neither side requested a larger MTU. Longer values are truncated at 20 bytes, or each further part \
                needs a request. An MTU exchange is faster.
                """
            case .exceededMTU:
                "The sender violates the MTU, or a later MTU exchange is not in the capture."
            case .forbiddenWrites:
                """
                The properties of the characteristic do not allow this write. A server can reject, ignore or accept \
                it.
                """
            case .errors: "The error code of the response states the reason."
            case .lostLink:
                """
                Neither side disconnected. The peer was too far away, switched off or disturbed. Requests without a \
                response must be repeated.
                """
            case .encryption:
                "The keys are not in the capture. A recording on the host (HCI) has the same traffic unencrypted."
            case .clockError:
                "The bottle lost its clock, or the recorder had none. Drinks of that time have wrong dates."
            case .clockDrift:
                """
                The clock was not set for a long time, or was set from a wrong clock. The zone is rounded to a \
                quarter of an hour.
                """
            case .clockRate: "A quartz clock deviates by at most 100 ppm. The recorder's clock is the reference."
            case .recorderClock:
                """
                The recorder's clock was set, or parts of the capture are in the wrong order. Durations across such \
                a step are invalid.
                """
            case .slowResponses:
                "Possible causes: long connection intervals, a peripheral that sleeps, or retransmissions."
            }
        }
    }

    package var kind: Kind
    /// The description of the anomaly, with numbers and without control characters.
    package var sentence: String
    /// The number of occurrences; 1 if they cannot be counted.
    package var count = 1
    /// The number of the first record that shows the anomaly, or `nil`.
    package var frame: Int?
    package var connection: Int?

    /// The meaning and the usual cause.
    package var explanation: String { kind.explanation }
}

extension CaptureStatistics {
    /// The maximum number of anomalies of one kind that are listed.
    private static let maximumPerKind = 20

    /// The anomalies, sorted in the order of `Anomaly.Kind`.
    package var anomalies: [Anomaly] {
        var found = connections.flatMap { Self.anomalies(of: $0) }
        found += characteristics.flatMap { Self.anomalies(of: $0) }
        if orphans > 0 {
            found.append(
                Anomaly(
                    kind: .orphans, sentence: "\(counted(orphans, "response")) without a request in the capture.",
                    count: orphans))
        }
        found += clocks.flatMap { Self.anomalies(of: $0.peer, $0.readings) }
        if backwardSteps > 0, let largestStep {
            let times = backwardSteps == 1 ? "once" : "\(backwardSteps) times"
            found.append(
                Anomaly(
                    kind: .recorderClock,
                    sentence:
                        """
                        Times go backwards \(times), at most by \(durationText(largestStep.by)) \
                        (frame \(largestStep.frame)).
                        """,
                    count: backwardSteps, frame: largestStep.frame))
        }
        return Anomaly.Kind.allCases.flatMap { kind in
            let all = found.filter { $0.kind == kind }, rest = all.dropFirst(Self.maximumPerKind)
            guard let first = rest.first else { return all }
            let count = rest.reduce(0) { $0 + $1.count }
            return all.prefix(Self.maximumPerKind) + [
                Anomaly(
                    kind: kind,
                    sentence:
                        "\(rest.count) more of this kind, with \(counted(count, "occurrence")).",
                    count: count,
                    frame: first.frame)
            ]
        }
    }

    private static func anomalies(of connection: ConnectionStatistics) -> [Anomaly] {
        let counts = connection.counts, id = connection.observed.id
        let name = "Connection \(id)" + (connection.observed.peer.map { " with \($0)" } ?? "")
        var found: [Anomaly] = []
        /// Adds an anomaly, unless it did not occur.
        func add(_ kind: Anomaly.Kind, _ count: Int, _ sentence: String, _ frame: Int? = nil) {
            guard count > 0 else { return }
            found.append(
                Anomaly(kind: kind, sentence: "\(name): \(sentence)", count: count, frame: frame, connection: id))
        }
        add(
            .retransmissions, connection.retransmissions,
            "\(counted(connection.retransmissions, "retransmitted packet")) on the air.")
        let losses = DropReason.losses.compactMap { reason in
            connection.drops[reason].map { "\($0) × \(reason.rawValue)" }
        }
        add(
            .lostParts, connection.lostParts,
            "\(counted(connection.lostParts, "part")) of PDUs missing: \(losses.joined(separator: "; ")).")
        add(.timeouts, counts.timeouts, "\(counted(counts.timeouts, "request")) had no response within 30 seconds.")
        add(
            .unanswered, counts.unanswered,
            "\(counted(counts.unanswered, "request")) without a response in the capture.")
        add(
            .overlappingRequests, connection.overlappingRequests,
            "\(counted(connection.overlappingRequests, "request")) sent before the response to the previous one.",
            connection.firstOverlapping)
        if connection.sawBeginning, !connection.isText, connection.mtu == nil {
            add(
                .smallMTU, connection.fullPDUs,
                "the MTU stayed 23, and \(counted(connection.fullPDUs, "PDU")) had that maximum length.")
        }
        add(
            .exceededMTU, connection.oversizedPDUs,
            "\(counted(connection.oversizedPDUs, "PDU")) longer than the MTU of \(connection.mtu ?? 23).",
            connection.firstOversized)
        if connection.hasEnded, let reason = connection.reason, [0x08, 0x22, 0x3E].contains(reason) {
            add(.lostLink, 1, "\(disconnectReasonText(reason)) (code 0x\(reason.hexDigits)).")
        }
        if connection.isEncrypted { add(.encryption, 1, "encrypted; later traffic cannot be read.") }
        if let slow = counts.latency.percentile95, slow >= .seconds(1), counts.latency.count >= 5 {
            add(
                .slowResponses, max(1, counts.latency.count / 20),
                "5 % of the responses took \(durationText(slow)) or longer.")
        }
        return found
    }

    private static func anomalies(of characteristic: CharacteristicStatistics) -> [Anomaly] {
        let handle = "handle 0x\(characteristic.handle.hexDigits)"
        let name = (characteristic.uuid.map { "\($0) (\(handle))" } ?? handle) + " of \(characteristic.peer.label)"
        var found = characteristic.forbiddenWrites.map { opcode, count, frame in
            Anomaly(
                kind: .forbiddenWrites,
                sentence: "\(counted(count, "\(opcode)")) to \(name), whose properties do not allow it.", count: count,
                frame: frame)
        }
        let count = characteristic.counts.errorCount
        if count > 0 {
            let errors = characteristic.counts.errors.map { "\($0.count) × \($0.code)" }.joined(separator: ", ")
            found.append(
                Anomaly(
                    kind: .errors, sentence: "\(name) rejected \(counted(count, "request")): \(errors).", count: count))
        }
        return found
    }

    private static func anomalies(of peer: BottlePeer, _ readings: ClockReadings) -> [Anomaly] {
        var found: [Anomaly] = []
        func add(_ kind: Anomaly.Kind, _ sentence: String, _ reading: ClockReadings.Reading?) {
            found.append(
                Anomaly(kind: kind, sentence: "The clock of \(peer.label) \(sentence).", frame: reading?.frame))
        }
        if let error = readings.error {
            add(
                .clockError,
                """
                is \(durationText(abs(error))) \(error > .zero ? "ahead of" : "behind") the recorder's, more than any \
                time zone
                """, readings.last ?? readings.latestRecord)
        } else if let drift = readings.drift, abs(drift) >= .seconds(5) {
            add(
                .clockDrift,
                """
                is \(durationText(abs(drift))) \(drift > .zero ? "fast" : "slow") relative to \
                UTC\(readings.zone.map(zoneText) ?? "")
                """, readings.last)
        }
        if let rate = readings.rate, Swift.abs(rate) >= 200 {
            add(
                .clockRate,
                """
                runs \(Int(Swift.abs(rate).rounded())) ppm too \(rate > 0 ? "fast" : "slow"), \
                \(Int((Swift.abs(rate) * 0.0864).rounded())) seconds a day
                """, readings.last)
        }
        return found
    }
}
