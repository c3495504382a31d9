import Support
import Testing
import TrackerCore

/// One row of a table of the specification with its id and its check.
struct Vector: Sendable, CustomTestStringConvertible {
    let id: String
    let check: @Sendable () throws -> Void

    init(_ id: String, _ check: @escaping @Sendable () throws -> Void) {
        self.id = id
        self.check = check
    }

    var testDescription: String { id }

    /// Rows of a table without ids: `prefix-01`, `prefix-02`, …
    static func numbered<Row: Sendable>(
        _ prefix: String, _ rows: [Row], _ check: @escaping @Sendable (Row) throws -> Void
    ) -> [Vector] {
        rows.enumerated().map { index, row in
            Vector("\(prefix)-\(index < 9 ? "0" : "")\(index + 1)") { try check(row) }
        }
    }

    /// The rows of one list of `Tests/Vectors/tracker.json`.
    static func published<Row: Decodable & Identifiable & Sendable>(
        _ list: String, _ check: @escaping @Sendable (Row) throws -> Void
    ) throws -> [Vector] where Row.ID == String {
        try (testVectors(list, in: "tracker.json") as [Row]).map { row in Vector(row.id) { try check(row) } }
    }
}

/// `2026-02-02T22:21:15Z`; an invalid text fails the test.
func at(_ text: String, _ location: SourceLocation = #_sourceLocation) throws -> Instant {
    try #require(
        Instant(iso: text.hasSuffix("Z") ? text : text + "Z"), "not an instant: \(text)", sourceLocation: location)
}

func day(_ text: String, _ location: SourceLocation = #_sourceLocation) throws -> LocalDay {
    try #require(LocalDay(text), "not a day: \(text)", sourceLocation: location)
}

func time(_ text: String, _ location: SourceLocation = #_sourceLocation) throws -> TimeOfDay {
    try #require(TimeOfDay(text), "not a time: \(text)", sourceLocation: location)
}

/// The first instant at which the wall clock of the zone shows this: `2026-06-15 09:30` or with seconds.
func local(_ text: String, _ zone: String = "Europe/Berlin", _ location: SourceLocation = #_sourceLocation) throws
    -> Instant
{
    let full = text.count == 16 ? text + ":00" : text
    let wall = try #require(WallTime(full), "not a wall time: \(text)", sourceLocation: location)
    switch try Zone(zone).moments(of: wall) {
    case .once(let instant), .repeated(let instant, _): return instant
    default: throw VectorError.noSuchWallTime(text)
    }
}

enum VectorError: Error { case noSuchWallTime(String) }
