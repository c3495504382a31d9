import Bluetooth

/// An anomaly in a capture, described in plain sentences.
package struct Anomaly: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case retransmissions
        case lostParts
        case timeouts
        case unanswered
        case orphans
        case impatience
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
        case slowAnswers
    }

    package var kind: Kind
    /// The observation, with numbers. Names from the capture are without control characters.
    package var sentence: String
    /// The meaning and the usual cause.
    package var explanation: String
    /// The number of occurrences; 1 if they cannot be counted.
    package var count: Int
    /// The number of the first record that shows the anomaly, or `nil`.
    package var frame: Int?
    package var connection: Int?
}

extension CaptureStatistics {
    /// The maximum number of anomalies of one kind that are listed.
    private static let mostOfAKind = 20

    /// The anomalies, sorted in the order of `Anomaly.Kind`.
    package var anomalies: [Anomaly] {
        var found: [Anomaly] = []
        for connection in connections { found += Self.anomalies(of: connection) }
        for characteristic in characteristics { found += Self.anomalies(of: characteristic) }
        if orphans > 0 {
            found.append(
                Anomaly(
                    kind: .orphans, sentence: "\(Words.count(orphans, "answer")) without a request in the capture.",
                    explanation:
                        "The recorder missed the request, or one side answered twice, which ATT does not allow.",
                    count: orphans))
        }
        for (peer, readings) in clocks { found += Self.anomalies(of: peer, readings) }
        if backwardSteps > 0, let widestStep {
            found.append(
                Anomaly(
                    kind: .recorderClock,
                    sentence:
                        """
                        Times go backwards \(Words.times(backwardSteps)), at most by \(Words.span(widestStep.by)) \
                        (frame \(widestStep.frame)).
                        """,
                    explanation:
                        """
                        The recorder's clock was set, or parts were put together in the wrong order. Times across \
                        such a step tell nothing.
                        """,
                    count: backwardSteps, frame: widestStep.frame))
        }
        return Anomaly.Kind.allCases.flatMap { kind in
            let all = found.filter { $0.kind == kind }
            guard all.count > Self.mostOfAKind, let last = all.dropFirst(Self.mostOfAKind).first else { return all }
            let rest = all.dropFirst(Self.mostOfAKind)
            return all.prefix(Self.mostOfAKind) + [
                Anomaly(
                    kind: kind, sentence: "The same on \(rest.count) more: \(rest.reduce(0) { $0 + $1.count }) in all.",
                    explanation: last.explanation,
                    count: rest.reduce(0) { $0 + $1.count }, frame: last.frame)
            ]
        }
    }

    private static func anomalies(of connection: ConnectionStatistics) -> [Anomaly] {
        let counts = connection.counts, id = connection.observed.id
        let name = "Connection \(id)" + (connection.observed.peer.map { " with \($0)" } ?? "")
        var found: [Anomaly] = []
        func add(_ kind: Anomaly.Kind, _ sentence: String, _ explanation: String, _ count: Int = 1, _ frame: Int? = nil)
        {
            found.append(
                Anomaly(
                    kind: kind, sentence: "\(name): \(sentence)", explanation: explanation, count: count, frame: frame,
                    connection: id))
        }
        if connection.retransmissions > 0 {
            add(
                .retransmissions, "\(Words.count(connection.retransmissions, "packet")) came again on the air.",
                """
                The other side had not confirmed in time: weak radio, or much traffic beside it. Each costs a \
                connection interval and loses nothing.
                """,
                connection.retransmissions)
        }
        if connection.lostParts > 0 {
            let parts = DropReason.losses.compactMap { reason in
                connection.drops[reason].map { "\($0) × \(reason.rawValue)" }
            }
            add(
                .lostParts,
                """
                \(Words.count(connection.lostParts, "part")) of PDUs cannot be used: \
                \(parts.joined(separator: "; ")).
                """,
                "The recorder missed them; whether the other side got them, the capture cannot tell.",
                connection.lostParts)
        }
        if counts.timeouts > 0 {
            add(
                .timeouts, "\(Words.count(counts.timeouts, "request")) had no answer within 30 seconds.",
                "After that ATT allows no further request on the connection: a host must disconnect.",
                counts.timeouts)
        }
        if counts.unanswered > 0 {
            add(
                .unanswered, "\(Words.count(counts.unanswered, "request")) without an answer in the capture.",
                "The connection or the capture ended first, or the recorder missed the answer.", counts.unanswered)
        }
        if connection.impatient > 0 {
            add(
                .impatience, "\(Words.count(connection.impatient, "request")) came before the last one was answered.",
                """
                ATT allows one request at a time. A host that sends the next one breaks that rule, or the capture \
                misses the answer in between.
                """,
                connection.impatient, connection.firstImpatient)
        }
        if connection.sawBeginning, !connection.isText, connection.mtu == nil, connection.fullPDUs > 0 {
            add(
                .smallMTU, "the MTU stayed 23, and \(Words.count(connection.fullPDUs, "value")) filled it.",
                """
                Nobody asked for more. Longer values are cut at 20 bytes or need a request for every further part; \
                an MTU exchange makes that faster.
                """,
                connection.fullPDUs)
        }
        if connection.tooLong > 0 {
            add(
                .exceededMTU,
                "\(Words.count(connection.tooLong, "PDU")) longer than the MTU of \(connection.mtu ?? 23).",
                "The sender breaks the agreement, or the exchange of a later MTU is not in the capture.",
                connection.tooLong, connection.firstTooLong)
        }
        if connection.hasEnded, let reason = connection.reason, reason == 0x08 || reason == 0x22 || reason == 0x3E {
            let words =
                reason == 0x08
                ? "the link was lost"
                : reason == 0x22 ? "an answer of the link layer was missing" : "it was never established"
            add(
                .lostLink, "\(words) (code 0x\(Words.hex(reason))).",
                """
                Nobody hung up: too far away, switched off, or disturbed. What was under way has to be asked for \
                again.
                """
            )
        }
        if connection.isEncrypted {
            add(
                .encryption, "encrypted; what came after that cannot be read.",
                "The keys are not in the capture. A recording in the host (HCI) shows the same in the clear.")
        }
        if let slow = counts.latency.share95, slow >= .seconds(1), counts.latency.count >= 5 {
            add(
                .slowAnswers, "5 % of the answers took \(Words.span(slow)) or longer.",
                "Long connection intervals, a peripheral that sleeps, or retransmissions below.",
                max(1, counts.latency.count / 20))
        }
        return found
    }

    private static func anomalies(of characteristic: CharacteristicStatistics) -> [Anomaly] {
        let peer = characteristic.peer.label
        let name =
            (characteristic.uuid.map { "\($0) (handle 0x\(Words.hex(characteristic.handle)))" }
                ?? "handle 0x\(Words.hex(characteristic.handle))") + " of \(peer)"
        var found: [Anomaly] = []
        for (opcode, count, frame) in characteristic.forbiddenWrites {
            found.append(
                Anomaly(
                    kind: .forbiddenWrites,
                    sentence: "\(Words.count(count, "\(opcode)")) to \(name), which does not offer that.",
                    explanation:
                        """
                        The table says what may be done with a characteristic. A server may refuse, ignore or take \
                        such a write.
                        """,
                    count: count, frame: frame))
        }
        if characteristic.counts.errorCount > 0 {
            let errors = characteristic.counts.errors.map { "\($0.count) × \($0.code)" }.joined(separator: ", ")
            found.append(
                Anomaly(
                    kind: .errors,
                    sentence: "\(name) refused \(Words.count(characteristic.counts.errorCount, "request")): \(errors).",
                    explanation: "The server's own reason is in the response.",
                    count: characteristic.counts.errorCount, frame: nil))
        }
        return found
    }

    private static func anomalies(of peer: BottlePeer, _ readings: ClockReadings) -> [Anomaly] {
        var found: [Anomaly] = []
        if let error = readings.error {
            found.append(
                Anomaly(
                    kind: .clockError,
                    sentence:
                        """
                        The clock of \(peer.label) is \(Words.span(abs(error))) \
                        \(error > .zero ? "ahead of" : "behind") the capture's, more than any time zone.
                        """,
                    explanation:
                        "The bottle lost its clock, or the recorder had none. Drinks of that time have wrong dates.",
                    count: 1, frame: (readings.last ?? readings.latestRecord)?.frame))
        } else if let drift = readings.drift, abs(drift) >= .seconds(5) {
            found.append(
                Anomaly(
                    kind: .clockDrift,
                    sentence:
                        """
                        The clock of \(peer.label) is \(Words.span(abs(drift))) \(drift > .zero ? "fast" : "slow") \
                        beside UTC\(Words.zone(readings.zone)).
                        """,
                    explanation:
                        """
                        It was not set for long, or whoever set it was wrong as much. The zone is the nearest \
                        quarter of an hour.
                        """,
                    count: 1, frame: readings.last?.frame))
        }
        if let rate = readings.rate, Swift.abs(rate) >= 200 {
            found.append(
                Anomaly(
                    kind: .clockRate,
                    sentence:
                        """
                        The clock of \(peer.label) runs \(Int(Swift.abs(rate).rounded())) millionths too \
                        \(rate > 0 ? "fast" : "slow"), \(Int((Swift.abs(rate) * 0.0864).rounded())) seconds a day.
                        """,
                    explanation: "A quartz keeps to 100 millionths. The recorder's clock counts as right.", count: 1,
                    frame: readings.last?.frame))
        }
        return found
    }
}

private enum Words {
    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
    static func times(_ number: Int) -> String { number == 1 ? "once" : "\(number) times" }
    static func hex(_ number: some FixedWidthInteger) -> String {
        let digits = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, number.bitWidth / 4 - digits.utf8.count)) + digits
    }

    /// An offset from UTC as text, ` +01:00`; empty for UTC.
    static func zone(_ zone: Duration?) -> String {
        guard let minutes = zone.map({ Int($0.components.seconds) / 60 }), minutes != 0 else { return "" }
        let size = Swift.abs(minutes)
        func two(_ value: Int) -> String { (value < 10 ? "0" : "") + String(value) }
        return "\(minutes < 0 ? "-" : "+")\(two(size / 60)):\(two(size % 60))"
    }

    /// A duration as text: `340 ms`, `12 s`, `5 min`, `3 h`, `40 days`.
    static func span(_ span: Duration) -> String {
        let (seconds, attoseconds) = span.components
        if seconds == 0 { return "\(attoseconds / 1_000_000_000_000_000) ms" }
        if seconds < 120 { return "\(seconds) s" }
        if seconds < 7200 { return "\(seconds / 60) min" }
        return seconds < 172_800 ? "\(seconds / 3600) h" : "\(seconds / 86_400) days"
    }
}
