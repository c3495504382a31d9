import Bluetooth
import CommandSupport
import Utilities
import Replay

/// The statistics of a capture as one table of comma-separated values (RFC 4180).
struct StatisticsTable {
    let report: StatisticsReport

    /// The columns of a row's scope, then of its counts, then of connections and characteristics.
    private static let scopeColumns = ["file", "scope", "connection", "peer", "handle", "uuid", "name"]
    private static let countColumns: [(name: String, text: @Sendable (TrafficCounts) -> String)] = [
        ("pdus", { "\($0.pdus)" }), ("requests", { "\($0.requests)" }), ("answers", { "\($0.responses)" }),
        ("notifications", { "\($0.notifications)" }), ("indications", { "\($0.indications)" }),
        ("commands", { "\($0.commands)" }), ("value_bytes", { "\($0.valueBytes)" }),
        ("bytes_per_second", { $0.bytesPerSecond.map { "\($0)" } ?? "" }),
        ("median_ms", { milliseconds($0.latency.median) }), ("share95_ms", { milliseconds($0.latency.percentile95) }),
        ("worst_ms", { milliseconds($0.latency.maximum) }), ("errors", { "\($0.errorCount)" }),
        ("timeouts", { "\($0.timeouts)" }), ("unanswered", { "\($0.unanswered)" }),
    ]
    private static let otherColumns = ["mtu", "retransmissions", "lost_parts", "forbidden_writes"]

    private static func milliseconds(_ duration: Duration?) -> String {
        duration.map { "\(StatisticsReport.milliseconds($0))" } ?? ""
    }

    static var head: String {
        (scopeColumns + countColumns.map(\.name) + otherColumns).joined(separator: ",") + "\n"
    }

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
                    "handle": "0x" + one.handle.hexDigits,
                    "uuid": one.uuid?.description ?? "", "forbidden_writes": "\(one.forbiddenWriteCount)",
                ])
        }
        return rows.joined()
    }

    private func row(_ scope: String, _ counts: TrafficCounts, _ more: [String: String] = [:]) -> String {
        let cells = more.merging(["file": report.file, "scope": scope]) { $1 }
        let texts =
            Self.scopeColumns.map { cells[$0] ?? "" } + Self.countColumns.map { $0.text(counts) }
            + Self.otherColumns.map { cells[$0] ?? "" }
        return texts.map(Self.quoted).joined(separator: ",") + "\n"
    }

    /// Quotes a file name, which can have any characters. An apostrophe before it prevents a formula.
    private static func quoted(_ text: String) -> String {
        let text = text.unicodeScalars.first.map { "=+-@\t\r".unicodeScalars.contains($0) } == true ? "'" + text : text
        guard text.unicodeScalars.contains(where: { ",\"\n\r".unicodeScalars.contains($0) }) else { return text }
        return "\"" + Escaping.replacing(text, ["\"": "\"\""]) + "\""
    }
}
