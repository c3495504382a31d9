import Utilities

/// The metrics of the polls.
struct PollFigures: Sendable {
    var results: [String: Int]
    var received: Int
    var new: Int
    var duplicates: Int
    var suspect: Int
    var acknowledged: Int
    var seconds: Double
    /// The cumulative histogram of durations.
    var buckets: [(end: Double, count: Int)]
    /// The battery level in percent by bottle.
    var battery: [String: Int]
    /// The last signal strength in dBm by bottle.
    var rssi: [String: Int]
    var isConnected: Bool
    /// The total connection time in seconds.
    var linkSeconds: Double
    /// The size of the store and its WAL in bytes.
    var storeBytes: Int?
    /// The number of changes that wait for a server.
    var waiting: Int?

    var metrics: String {
        var lines: [String] = []
        func family(
            _ name: String, _ kind: String, _ help: String,
            _ samples: (PollFigures) -> [(suffix: String, labels: [(String, String)], value: String)]
        ) {
            let found = samples(self).map { sample in
                let words = sample.labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
                return "\(name)\(sample.suffix)\(words.isEmpty ? "" : "{\(words)}") \(sample.value)"
            }
            guard !found.isEmpty || name == "waterh_polls_total" else { return }
            lines += ["# HELP \(name) \(help)", "# TYPE \(name) \(kind)"] + found
        }
        func counter(_ name: String, _ help: String, _ value: (PollFigures) -> Int) {
            family("waterh_records_\(name)_total", "counter", help) { [("", [], "\(value($0))")] }
        }
        family("waterh_polls_total", "counter", "Completed polls by result.") { figures in
            figures.results.sorted { $0.key < $1.key }.map { ("", [("result", $0.key)], "\($0.value)") }
        }
        counter("received", "Records received from bottles.", \.received)
        counter("new", "Records that were stored for the first time.", \.new)
        counter("duplicate", "Records that were already stored.", \.duplicates)
        counter("suspect", "Records that are kept and not counted.", \.suspect)
        counter("acknowledged", "Records that were acknowledged to bottles.", \.acknowledged)
        family("waterh_poll_duration_seconds", "histogram", "Duration of polls.") { figures in
            let polls = "\(figures.results.values.reduce(0, +))"
            return figures.buckets.map { ("_bucket", [("le", "\($0.end)")], "\($0.count)") }
                + [("_bucket", [("le", "+Inf")], polls), ("_sum", [], "\(figures.seconds)"), ("_count", [], polls)]
        }
        family("waterh_link_connected", "gauge", "1 while a connection to a bottle is open, else 0.") {
            [("", [], $0.isConnected ? "1" : "0")]
        }
        family("waterh_link_seconds_total", "counter", "Total duration of connections to bottles.") {
            [("", [], "\($0.linkSeconds)")]
        }
        family("waterh_rssi_dbm", "gauge", "Signal strength of a bottle before the last connection.") {
            figures in
            figures.rssi.sorted { $0.key < $1.key }.map { ("", [("bottle", $0.key)], "\($0.value)") }
        }
        family("waterh_store_bytes", "gauge", "Size of the store file and its WAL.") {
            $0.storeBytes.map { [("", [], "\($0)")] } ?? []
        }
        family("waterh_outbox_depth", "gauge", "Changes that wait for the sync server.") {
            $0.waiting.map { [("", [], "\($0)")] } ?? []
        }
        family("waterh_battery_ratio", "gauge", "A bottle's battery, 0 to 1.") { figures in
            figures.battery.sorted { $0.key < $1.key }.map { ("", [("bottle", $0.key)], "\(Double($0.value) / 100)") }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func escaped(_ text: String) -> String {
        Escaping.replacing(text, ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"])
    }
}
