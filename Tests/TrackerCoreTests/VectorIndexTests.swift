import Foundation
import Testing

/// The list of all vector ids is data; every id has a test, and every test an id.
@Suite struct VectorIndexTests {
    static let tables: [[Vector]] = [
        DayVectors.table, RecordVectors.table, PaceVectors.table, CompanionVectors.table, AdaptiveVectors.table,
        WaterlineVectors.table, SyncVectors.table, HealthVectors.table, ReminderVectors.table, CheckVectors.table,
        PaceDayTests.table, IngestStoryTests.table, SessionNightTests.table,
    ]

    /// A file of `Data`, its lines without comments.
    static func lines(_ name: String) throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Data/\(name)")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    }

    @Test func everyIdHasATest() throws {
        let listed = try Self.lines("VectorIDs.txt").flatMap { $0.split(separator: " ").map(String.init) }
        let tested = Self.tables.flatMap { $0.map(\.id) }
        #expect(Set(listed).count == listed.count, "an id is listed twice")
        #expect(Set(tested).count == tested.count, "an id is tested twice")
        #expect(Set(listed).subtracting(tested).sorted() == [], "ids without a test")
        #expect(Set(tested).subtracting(listed).sorted() == [], "tests whose id is not listed")
        print("tracker vectors: \(Set(listed).intersection(tested).count) of \(listed.count)")
    }

    @Test func everyCheckAndStoryNamesItsTestOrSurface() throws {
        let tested = Set(Self.tables.flatMap { $0.map(\.id) })
        var names: [String] = []
        for line in try Self.lines("Checks.txt") {
            let parts = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(parts.count == 3, "\(line)")
            names.append(parts[0])
            #expect(!parts[1].isEmpty || !parts[2].isEmpty, "\(parts[0]) is shown by nothing")
            for id in parts[1].split(separator: ",").map({ $0.trimmingCharacters(in: .whitespaces) }) {
                let exists = id.hasSuffix("*") ? tested.contains { $0.hasPrefix(id.dropLast()) } : tested.contains(id)
                #expect(exists, "\(parts[0]) names \(id), which is no vector")
            }
        }
        let number = { (count: Int, width: Int) in String(repeating: "0", count: width - "\(count)".count) + "\(count)" }
        #expect(names == (1...19).map { "B9-\(number($0, 2))" } + (1...36).map { "US-\(number($0, 3))" })
    }
}
