import Bluetooth
import CommandSupport
import Replay

struct StatisticsReport {
    let file: String
    let packets: Int
    let statistics: CaptureStatistics

    static let maximumListed = 40

    var text: String { lines.joined(separator: "\n") + "\n" }

    /// The text for a terminal, with highlighted anomalies.
    var coloured: String {
        let sentences = Set(statistics.anomalies.map { "  " + TerminalText.safe($0.sentence) })
        return lines.map { line in sentences.contains { line.hasPrefix($0) } ? "\u{1B}[33m\(line)\u{1B}[0m" : line }
            .joined(separator: "\n") + "\n"
    }

    private var lines: [String] {
        var lines = [head]
        let total = statistics.total
        guard total.pdus > 0 else {
            lines.append("no ATT PDU, or none that matches the filter")
            return (lines + anomalies).map { TerminalText.safe($0) }
        }
        lines.append("PDUs: \(SummaryReport.text(total))")
        lines += requests
        lines += statistics.connections.prefix(Self.maximumListed).map(connection)
        if statistics.connectionCount > Self.maximumListed {
            lines.append(
                "connections: \(statistics.connectionCount) in all; --json lists \(statistics.connections.count)")
        }
        lines += characteristics
        lines += statistics.clocks.map { clock($0.peer, $0.readings) }
        lines += anomalies
        return lines.map { TerminalText.safe($0) }
    }

    private var head: String {
        let total = statistics.total
        var text = "\(CaptureRun.name(file)): \(counted(packets, "packet")), \(counted(total.pdus, "ATT PDU"))"
        if let first = total.first, let last = total.last {
            text +=
                ", \(timestampText(first)) to \(timestampText(last)) (\(durationText(last - first, hasTenths: true)))"
        }
        return text
    }

    private var requests: [String] {
        guard !statistics.requests.isEmpty else { return ["requests: none"] }
        let rows = statistics.requests.map { opcode, counts in
            [opcode.description, "\(counts.requests)"] + latency(counts) + [problems(counts)]
        }
        return ["requests:"] + Self.table([["", "number", "median", "95 %", "worst", ""]] + rows)
    }

    private func latency(_ counts: TrafficCounts) -> [String] {
        [counts.latency.median, counts.latency.percentile95, counts.latency.maximum].map { $0.map(Self.span) ?? "-" }
    }

    private func problems(_ counts: TrafficCounts) -> String {
        var parts: [String] = counts.errors.map { "\($0.count) × \($0.code)" }
        if counts.timeouts > 0 { parts.append(counted(counts.timeouts, "time-out")) }
        if counts.unanswered > 0 { parts.append("\(counts.unanswered) without a response") }
        if counts.backwardResponses > 0 {
            parts.append("\(counts.backwardResponses) with a response before the request, by the recorder's clock")
        }
        return parts.joined(separator: ", ")
    }

    private func connection(_ connection: ConnectionStatistics) -> String {
        let counts = connection.counts
        var parts = [
            counted(counts.pdus, "PDU"),
            connection.mtu.map { "MTU \($0)" }
                ?? (connection.sawBeginning && !connection.isText ? "MTU 23 (no exchange)" : "MTU not in the capture"),
        ]
        parts.append(Self.volume(counts))
        if counts.latency.count > 0 { parts.append("responses after \(latency(counts).joined(separator: " / "))") }
        if connection.retransmissions > 0 { parts.append(counted(connection.retransmissions, "retransmission")) }
        if connection.lostParts > 0 { parts.append("\(counted(connection.lostParts, "part")) lost") }
        let problemText = problems(counts)
        if !problemText.isEmpty { parts.append(problemText) }
        if connection.isEncrypted { parts.append("encrypted") }
        return "connection \(connection.observed.id)\(connection.observed.peer.map { " with \($0)" } ?? ""): "
            + parts.joined(separator: ", ")
    }

    private var characteristics: [String] {
        let all = statistics.characteristics
        guard !all.isEmpty else { return [] }
        let rows = all.prefix(Self.maximumListed).map { entry in
            let counts = entry.counts
            return [
                "0x" + entry.handle.hexDigits, entry.uuid?.description ?? "?", entry.peer.label, "\(counts.requests)",
                "\(counts.notifications)", "\(counts.commands)",
            ] + latency(counts)
                + ["\(counts.valueBytes)", counts.bytesPerSecond.map { "\(Int($0.rounded()))" } ?? "-", notes(entry)]
        }
        var lines =
            ["characteristics:"]
            + Self.table(
                [
                    [
                        "handle", "uuid", "of", "requests", "notifications", "commands", "median", "95 %", "worst",
                        "bytes", "bytes/s", "",
                    ]
                ] + rows, left: 3)
        if all.count > Self.maximumListed { lines.append("  \(all.count) in all; --json lists them") }
        if statistics.uncountedPDUs > 0 {
            lines.append(
                """
                  and \(counted(statistics.uncountedPDUs, "PDU")) of attributes after the first \
                \(CaptureStatistics.characteristicLimit)
                """
            )
        }
        return lines
    }

    private func notes(_ entry: CharacteristicStatistics) -> String {
        let problemText = problems(entry.counts)
        let forbidden = entry.forbiddenWriteCount > 0 ? "\(counted(entry.forbiddenWriteCount, "forbidden write"))" : ""
        return [problemText, forbidden].filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private func clock(_ peer: BottlePeer, _ readings: ClockReadings) -> String {
        var parts: [String] = []
        if let drift = readings.drift, let zone = readings.zone {
            let seconds = Int(drift.components.seconds)
            parts.append(seconds == 0 ? "correct" : "\(abs(seconds)) s \(seconds > 0 ? "fast" : "slow")")
            parts.append("zone UTC\(zoneText(zone))")
        } else if let error = readings.error {
            parts.append("wrong by \(durationText(error < .zero ? .zero - error : error, hasTenths: true))")
        } else {
            parts.append("not reported")
        }
        if let rate = readings.rate {
            parts.append("\(Int(rate.rounded())) ppm \(rate >= 0 ? "fast" : "slow")".replacing("-", with: ""))
        }
        if readings.count > 0 { parts.append("reported \(readings.count == 1 ? "once" : "\(readings.count) times")") }
        if readings.setCount > 0 {
            parts.append("set \(readings.setCount == 1 ? "once" : "\(readings.setCount) times")")
        }
        return "clock of \(peer.label): " + parts.joined(separator: ", ")
    }

    private var anomalies: [String] {
        let all = statistics.anomalies
        guard !all.isEmpty else { return statistics.total.pdus > 0 ? ["no anomalies"] : [] }
        return ["anomalies:"]
            + all.flatMap {
                ["  \($0.sentence)\($0.frame.map { " (from frame \($0))" } ?? "")", "    \($0.explanation)"]
            }
    }

    static func volume(_ counts: TrafficCounts) -> String {
        "\(counts.valueBytes) value bytes" + (counts.bytesPerSecond.map { " at \(rate($0))" } ?? "")
    }

    /// A rate as text: `980 bytes/s`, `12.5 kB/s`.
    static func rate(_ bytesPerSecond: Double) -> String {
        bytesPerSecond < 1000
            ? "\(Int(bytesPerSecond.rounded())) bytes/s" : "\(Double(Int((bytesPerSecond / 100).rounded())) / 10) kB/s"
    }

    /// A duration as text: `820 µs`, `1.24 ms`, `12.4 ms`, `340 ms`, `1.2 s`.
    static func span(_ span: Duration) -> String {
        guard span < .seconds(1) else { return durationText(span, hasTenths: true) }
        let microseconds = Int(span.components.attoseconds / 1_000_000_000_000)
        if microseconds < 1000 { return "\(microseconds) µs" }
        let (hundredths, tenths, whole) = (
            (microseconds + 5) / 10, (microseconds + 50) / 100, (microseconds + 500) / 1000
        )
        if hundredths < 1000 { return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) ms" }
        if tenths < 1000 { return "\(tenths / 10).\(tenths % 10) ms" }
        return whole < 1000 ? "\(whole) ms" : "1.0 s"
    }

    /// Aligns columns: the first `left` columns and the last one to the left, the others to the right.
    static func table(_ rows: [[String]], left: Int = 1) -> [String] {
        let width = rows.reduce(into: [Int](repeating: 0, count: rows.map(\.count).max() ?? 0)) { width, row in
            for (column, cell) in row.enumerated() { width[column] = max(width[column], cell.count) }
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: width[column] - cell.count)
                return column < left || column == width.count - 1 ? cell + padding : padding + cell
            }
            var line = "  " + cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
