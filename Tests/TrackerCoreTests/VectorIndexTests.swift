import Foundation
import Testing

/// The specification lists every vector with a sentence; every line has a test, and every test a line.
@Suite struct VectorIndexTests {
    static var tables: [[Vector]] {
        get throws {
            [
                try DayVectors.table, try RecordVectors.table, try PaceVectors.table, CompanionVectors.table,
                try AdaptiveVectors.table, WaterlineVectors.table, SyncVectors.table, HealthVectors.table,
                ReminderVectors.table, CheckVectors.table, PaceDayTests.table, SessionNightTests.table,
            ]
        }
    }

    @Test(arguments: try tables.flatMap(\.self)) func `all vectors pass`(_ vector: Vector) throws { try vector.check() }

    /// The lines of a page of the specification.
    static func lines(_ page: String) throws -> [String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "Sources/TrackerCore/TrackerCore.docc/\(page)")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// `- A5-03: sentence.`; an id with `/zone` represents one in each of `worldZones`.
    @Test func `every vector of the specification has a test and a sentence`() throws {
        var listed: [String] = []
        var sentences = 0
        for line in try Self.lines("Vectors.md") where line.hasPrefix("- ") {
            let parts = try #require(
                line.firstRange(of: ": ").map { (String(line[..<$0.lowerBound].dropFirst(2)), line[$0.upperBound...]) },
                "no sentence: \(line)")
            #expect(parts.1.split(separator: " ").count > 1, "no sentence: \(line)")
            listed +=
                parts.0.contains("/zone") ? worldZones.map { parts.0.replacing("/zone", with: "/\($0)") } : [parts.0]
            sentences += 1
        }
        let tested = try Self.tables.flatMap { $0.map(\.id) }
        #expect(Set(listed).count == listed.count, "an id is listed twice")
        #expect(Set(tested).count == tested.count, "an id is tested twice")
        #expect(Set(listed).subtracting(tested).sorted() == [], "ids without a test")
        #expect(Set(tested).subtracting(listed).sorted() == [], "tests whose id the specification does not list")
        print("tracker vectors: \(Set(listed).intersection(tested).count) of \(listed.count), \(sentences) sentences")
    }
}
