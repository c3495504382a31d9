import Bluetooth
import CommandSupport
import Utilities
import Replay

/// The statistics of a capture as one table of comma-separated values (RFC 4180).
struct StatisticsTable {
    private let report: StatisticsReport

    init(_ report: StatisticsReport) { self.report = report }

    private static let columns = [
        "file", "scope", "connection", "peer", "handle", "uuid", "name", "pdus", "requests", "answers", "notifications",
        "indications", "commands", "value_bytes",
        "bytes_per_second", "median_ms", "share95_ms", "worst_ms", "errors", "timeouts", "unanswered", "mtu",
        "retransmissions", "lost_parts", "forbidden_writes",
    ]

    static var head: String { columns.joined(separator: ",") + "\n" }

    var rows: String {
        let statistics = report.statistics
        var rows = [row("total", statistics.total)]
        rows += statistics.requests.map { row("request", $0.counts, ["name": $0.opcode.description]) }
        rows += statistics.connections.map { one in
            row(
                "connection", one.counts,
                [
                    "connection": "\(one.observed.id)", "peer": one.observed.peer?.description ?? "",
                    "mtu": one.mtu.map { "\($0)" } ?? "",
                    "retransmissions": "\(one.retransmissions)", "lost_parts": "\(one.lostParts)",
                ])
        }
        rows += statistics.characteristics.map { one in
            row(
                "characteristic", one.counts,
                [
                    "connection": "\(one.connection)", "peer": one.peer.address?.description ?? "",
                    "handle": "0x" + hexDigits(one.handle),
                    "uuid": one.uuid?.description ?? "", "forbidden_writes": "\(one.forbiddenWriteCount)",
                ])
        }
        return rows.joined()
    }

    private func row(_ scope: String, _ counts: TrafficCounts, _ more: [String: String] = [:]) -> String {
        func milliseconds(_ duration: Duration?) -> String {
            duration.map { "\(StatisticsReport.milliseconds($0))" } ?? ""
        }
        var cells = more
        cells["file"] = report.file
        cells["scope"] = scope
        cells["pdus"] = "\(counts.pdus)"
        cells["requests"] = "\(counts.requests)"
        cells["answers"] = "\(counts.answers)"
        cells["notifications"] = "\(counts.notifications)"
        cells["indications"] = "\(counts.indications)"
        cells["commands"] = "\(counts.commands)"
        cells["value_bytes"] = "\(counts.valueBytes)"
        cells["bytes_per_second"] = counts.bytesPerSecond.map { "\($0)" } ?? ""
        cells["median_ms"] = milliseconds(counts.latency.median)
        cells["share95_ms"] = milliseconds(counts.latency.share95)
        cells["worst_ms"] = milliseconds(counts.latency.worst)
        cells["errors"] = "\(counts.errorCount)"
        cells["timeouts"] = "\(counts.timeouts)"
        cells["unanswered"] = "\(counts.unanswered)"
        return Self.columns.map { Self.quoted(cells[$0] ?? "") }.joined(separator: ",") + "\n"
    }

    /// Quotes a file name, which can have any characters. An apostrophe before it prevents a formula.
    private static func quoted(_ text: String) -> String {
        let text = text.unicodeScalars.first.map { "=+-@\t\r".unicodeScalars.contains($0) } == true ? "'" + text : text
        guard text.unicodeScalars.contains(where: { ",\"\n\r".unicodeScalars.contains($0) }) else { return text }
        return "\"" + Escaping.replacing(text, ["\"": "\"\""]) + "\""
    }
}
