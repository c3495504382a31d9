import ArgumentParser
import TrackerCore

/// What `export` writes: files, and lines.
enum ExportFormat: String, ExpressibleByArgument, CaseIterable {
    case appleHealth = "apple-health"
    case csv, json, jsonl, influx

    /// As a whole file; `nil` where it is lines only.
    var file: HealthFiles.Format? { HealthFiles.Format(rawValue: rawValue) }
    var lines: DrinkLines.Format? { DrinkLines.Format(rawValue: rawValue) }
}
