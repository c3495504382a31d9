import Foundation
import Testing

/// The law's acceptance list: each row of the founding documents is there, and names tests that exist, or says what
/// stands in its place.
@Suite("The acceptance list")
struct AcceptanceTests {
    @Test("every row is there, once")
    func rows() throws {
        let list = try AcceptanceList.ofThisRepository()
        let numbered =
            (1...19).map { "B9-\(AcceptanceList.padded($0, 2))" }
            + (1...36).map { "US-\(AcceptanceList.padded($0, 3))" } + (1...14).map { "FR-\($0)" }
        #expect(list.rows.map(\.id) == list.features + numbered)
        // Systems A to D have so many features.
        #expect(
            Dictionary(grouping: list.features) { $0.prefix(1) }.mapValues { Set($0).count } == [
                "A": 13, "B": 11, "C": 2, "D": 10,
            ])
    }

    @Test("every test that a row names exists, and a row without one says why")
    func tests() throws {
        let list = try AcceptanceList.ofThisRepository()
        let (vectors, tests) = (try AcceptanceList.vectors(), try TestNames.ofThisRepository().names)
        #expect(vectors.count > 250 && tests.count > 900, "\(vectors.count) vectors, \(tests.count) tests")
        for row in list.rows { #expect(row.faults(vectors: vectors, tests: tests) == [], "\(row.id)") }
        let shown = list.rows.count { !$0.shownBy.isEmpty }
        print(
            """
            acceptance: \(list.rows.count) rows, \(shown) with \(Set(list.rows.flatMap(\.shownBy)).count) tests, \
            \(list.rows.count { !$0.instead.isEmpty }) with something in its place or to come
            """
        )
    }

    @Test(
        "what is wrong in a row is found out",
        arguments: [
            ("| US-001 | It asks something. | `Some/test`, `A1-*`, `A2-01` |  |", []),
            ("| US-001 | It asks something. | `Some/gone` |  |", ["Some/gone is no test"]),
            ("| US-001 | It asks something. | `Page.test_gone` |  |", ["Page.test_gone is no test"]),
            ("| US-001 | It asks something. | `A9-*`, `A2-02` |  |", ["A9-* is no test", "A2-02 is no test"]),
            ("| US-001 | It asks something. |  |  |", ["nothing shows it, and nothing is said of why"]),
            ("| US-001 | It asks something. |  | Something else stands in. |", []),
            ("| US-001 |  | `Page.test_here` |  |", ["it asks nothing"]),
            ("| US-001 | It asks something. | a test of some kind |  |", ["\"a test of some kind\" names no test"]),
        ])
    func wrongRows(line: String, faults: [String]) throws {
        let row = try #require(AcceptanceList.Row(line))
        #expect(row.faults(vectors: ["A1-01", "A2-01"], tests: ["Some/test", "Page.test_here"]) == faults)
    }

    @Test("names of tests are read from Swift and Python")
    func names() {
        var tests = TestNames()
        tests.add(
            swift: """
                @Suite("Words") final class DrinkTests {
                    struct Case { func run() {} }
                    @Test(
                        "in words", arguments: [1])
                    func first(number: Int) {}
                    // @Test func out() {}
                    func helper() {}
                    @Test func `in a sentence`() {}
                }
                private struct Other {
                    @Test func second() {}
                }
                """)
        tests.add(classesOf: "class Today(PageCase):\n    def test_a(self):\n    def helper(self):\n")
        tests.add(functionsOf: "def pours(bottle):\n    def inner():\n", "pair")
        #expect(
            tests.names == [
                "DrinkTests/first", "DrinkTests/in a sentence", "Other/second", "Today.test_a", "pair.pours",
            ])
    }
}

/// The page, row by row.
struct AcceptanceList {
    struct Row {
        var id: String
        var asks: String
        var shownBy: [String]
        /// What stands in the third column beside names in backticks.
        var stray: String
        var instead: String

        /// A line of one of the page's tables; `nil` for its head and for other lines.
        init?(_ line: some StringProtocol) {
            let parts = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard parts.count == 6, parts[0].isEmpty, parts[1] != "row", !parts[1].hasPrefix("---") else { return nil }
            (id, asks, instead) = (parts[1], parts[2], parts[4])
            shownBy = parts[3].matches(of: /`([^`]+)`/).map { String($0.1) }
            stray = parts[3].replacing(/`[^`]+`/, with: "").trimmingCharacters(in: [" ", ","])
        }

        func faults(vectors: Set<String>, tests: Set<String>) -> [String] {
            var faults = shownBy.filter { name in
                let isVector =
                    name.hasSuffix("*") ? vectors.contains { $0.hasPrefix(name.dropLast()) } : vectors.contains(name)
                return !isVector && !tests.contains(name)
            }.map { "\($0) is no test" }
            if asks.split(separator: " ").count < 3, instead.isEmpty { faults.append("it asks nothing") }
            if !stray.allSatisfy({ $0 == "," || $0 == " " }) { faults.append("\"\(stray)\" names no test") }
            if shownBy.isEmpty, stray.isEmpty, instead.isEmpty {
                faults.append("nothing shows it, and nothing is said of why")
            }
            return faults
        }
    }

    let features: [String]
    let rows: [Row]

    static func ofThisRepository() throws -> AcceptanceList {
        let lines = try page("Checks.md").split(separator: "\n")
        let features = lines.first { $0.hasPrefix("Rows: ") }?.dropFirst(6).components(separatedBy: " · ") ?? []
        return AcceptanceList(features: features, rows: lines.compactMap { Row($0) })
    }

    /// Ids of the law's page of vectors, each of which has a test of the same name (`VectorIndexTests`).
    static func vectors() throws -> Set<String> {
        Set(
            try page("Vectors.md").split(separator: "\n").compactMap { line in
                line.prefixMatch(of: /- ([A-Z0-9]+-[^ ]+):[ ]/).map { String($0.1) }
            })
    }

    static func padded(_ number: Int, _ width: Int) -> String {
        String(repeating: "0", count: width - "\(number)".count) + "\(number)"
    }

    private static func page(_ name: String) throws -> String {
        try String(
            contentsOf: Repository.root.appending(path: "Sources/TrackerCore/TrackerCore.docc/\(name)"), encoding: .utf8
        )
    }
}
