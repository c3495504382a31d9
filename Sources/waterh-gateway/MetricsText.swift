import Utilities

/// Metrics in the Prometheus text format.
struct MetricsText {
    struct Sample {
        let value: String
        let labels: [String: String]
        let suffix: String

        init(_ value: String, _ labels: [String: String] = [:], suffix: String = "") {
            (self.value, self.labels, self.suffix) = (value, labels, suffix)
        }
    }

    private(set) var text = ""

    /// Adds a metric. A metric without samples is omitted unless `evenIfEmpty` is true.
    mutating func add(_ name: String, _ kind: String, _ help: String, _ samples: [Sample], evenIfEmpty: Bool = false) {
        guard !samples.isEmpty || evenIfEmpty else { return }
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
        for sample in samples {
            let labels = sample.labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
            text += "\(name)\(sample.suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
        }
    }

    private static func escaped(_ text: String) -> String {
        Escaping.replacing(text, ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"])
    }
}
