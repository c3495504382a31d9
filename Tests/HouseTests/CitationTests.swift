import Foundation
import Testing

/// The law stands in DocC pages beside the code, and the code cites it: "tracker law A7", "protocol law P3.4". A
/// citation that leads nowhere is worse than none.
@Suite("Citations of the law")
struct CitationTests {
    /// All that people read and write here, but for tables of data and this checker's own wrong examples.
    private func files() throws -> [Repository.File] {
        try Repository.files(in: ["Sources", "Tests", "hardware", "captures", "README.md", "Package.swift"]).filter {
            file in
            !file.path.hasPrefix("Tests/HouseTests/") && !file.path.hasPrefix("Tests/Fuzz/corpus/")
                && ![".txt", ".csv", ".jsonl", ".hex", ".expected"].contains { file.path.hasSuffix($0) }
        }
    }

    @Test("every citation resolves to a heading, a rule, or a vector")
    func citationsResolve() throws {
        let law = try Law.ofThisRepository()
        var counts: [String: Int] = [:]
        for file in try files() {
            for citation in try Citation.all(in: file.text, prose: Prose.of(file)) {
                counts[citation.book, default: 0] += 1
                let resolves = law.contains(citation)
                #expect(resolves, "\(file.path):\(citation.line) cites \(citation), and there is no such place")
            }
        }
        print(
            """
            citations that resolve: \(counts.values.reduce(0, +)) \
            (\(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))), \
            headings: \(law.headings.count)
            """
        )
        for book in Law.books.keys { #expect(counts[book, default: 0] > 5, "hardly anything cites the \(book) law") }
    }

    @Test(
        "pages of the law refer to each other by ids that exist",
        arguments: [("tracker", "[ABDEX][0-9]{1,2}"), ("protocol", "P[0-9]"), ("command", "C[0-9]")])
    func pagesResolve(book: String, id: String) throws {
        let law = try Law.ofThisRepository()
        let id = try Regex("\(id)(?:\\.[0-9])?")
        let target = try #require(Law.books[book])
        for page in try Repository.files(in: ["Sources/\(target)/\(target).docc"]) {
            for word in Words.all(in: page.text) where try id.wholeMatch(in: word) != nil {
                let resolves = law.contains(Citation(book: book, place: word, line: 1))
                #expect(resolves, "\(page.path) refers to \(word)")
            }
        }
    }

    @Test("no heading of the law stands twice")
    func headingsStandOnce() throws {
        let doubles = try Law.ofThisRepository().doubles
        #expect(doubles == [])
        var law = Law()
        law.add(page: "## A7: Polling\n\nText.\n\n## A7: Pausing\n", of: "tracker")
        #expect(law.doubles == ["tracker A7"])
    }

    @Test("a citation is found in its line")
    func lines() throws {
        let text = "/// One.\n/// See tracker\n    /// law A7, and (B4).\n\n// K-A5\nlet a = \"A5-03\""
        let found = try Citation.all(in: text).map { "\($0.line): \($0)" }
        #expect(found == ["3: tracker A7", "3: tracker B4", "5: tracker K-A5", "6: vector A5-03"])
    }

    @Test(
        "what people read of a file",
        arguments: [
            ("a.swift", "let a = A99 // (A7)\n@Test(\"B4\") func\n// B1\nlet u = \"https://A88\"", " (A7)\nB4\n B1"),
            (
                "a.swift",
                """
                /* (B81)\n A7 */ let a = A9\nlet u = \"https://x\" // (B82)\n@Test(\n    \"B85\", arguments: \
                [\"A8\"])
                """,
                " (B81)\n A7 \n (B82)\n\nB85"
            ),
            ("a.md", "A99", "A99"), ("a.sh", "A99=1\n  # (B4)", "\n (B4)"),
            ("a.sh", "echo '# A9' ${#A9} # (B4)", " (B4)"),
            ("a.js", "const a = 'A9 // A8'; // (B86)\n/* B4\nA7 */ u('https://A9')", " (B86)\n B4\nA7 "),
            ("a.css", "a { b: url(//A9) } /* (B87) */", " (B87) "), ("a.c", "int A9; // (B88)", " (B88)"),
            ("a.html", "A9 <!-- (B88) -->", " (B88) "),
            (
                "a.py", "a = \"# A9\"  # (B89)\ndef f():\n    \"\"\"As (B90)\n    and A7.\"\"\"\n",
                " (B89)\n\nAs (B90)\n    and A7."
            ), ("a.yml", "a: A9 # (B91)", " (B91)"),
        ])
    func prose(path: String, text: String, prose: String) {
        #expect(Prose.of(Repository.File(path: path, text: text)) == prose)
    }

    @Test("a page that a file names is in the repository")
    func namedPagesExist() throws {
        let pages = try Repository.files(in: ["Sources", "Tests", "hardware", "captures", "README.md"]).map(\.path)
            .filter { $0.hasSuffix(".md") }
        for file in try files() {
            #expect(NamedPages.missing(in: file.text, pages: pages) == [], "named by \(file.path)")
        }
    }

    @Test(
        "what is cited wrong is found out",
        arguments: [
            ("See tracker law A99.", ["tracker A99"]),
            ("tracker law A5, A7 and E77", ["tracker E77"]),
            ("tracker law A2, rule 4, and G, rule 40", ["tracker G, rule 40"]),
            ("the end of a line: tracker law\n    /// A98, with more", ["tracker A98"]),
            ("protocol law P3.4 and P3.9", ["protocol P3.9"]),
            ("command law C2, C77", ["command C77"]),
            ("command law A5", ["command A5"]),
            ("tracker law Section 12", ["tracker Section 12"]),
            ("K-A5 holds, K-A99 does not", ["tracker K-A99"]),
            ("as in A5-03 and A5-99, B9-20, US-037", ["vector A5-99", "vector B9-20", "vector US-037"]),
            ("Tracker law A80", ["tracker A80"]),
            ("tracker law: A81", ["tracker A81"]),
            ("the tracker's law A82", ["tracker A82"]),
            ("law A83 of the tracker", ["tracker A83"]),
            ("(A84)", ["tracker A84"]),
            ("tracker law A2 rule 85", ["tracker A2, rule 85"]),
            ("A1 to A86", ["tracker A86"]),
            ("A1/A87", ["tracker A87"]),
            ("A1 or A88", ["tracker A88"]),
            ("tracker laws A7 and A89", ["tracker A89"]),
            ("`A90`", ["tracker A90"]),
            ("tracker law (A91)", ["tracker A91"]),
            ("tracker law A2, rules 1 and 92", ["tracker A2, rule 92"]),
            ("tracker  law  A93", ["tracker A93"]),
            ("tracker law A2, rule 1, and rule A94", ["tracker A94"]),
            ("tracker law A1 & A70", ["tracker A70"]),
            ("K-A5, rule 98", ["tracker K-A5, rule 98"]),
            ("A5-99a", ["vector A5-99a"]),
            ("A5_98", ["vector A5-98"]),
            ("US-37", ["vector US-37"]),
            ("FR-99", ["vector FR-99"]),
            ("protocol law P3.4 (rule 99)", ["protocol P3.4, rule 99"]),
            ("bottle law P9.9", ["protocol P9.9"]),
            ("A2.99", ["tracker A2.99"]),
            ("B4: as told; B99: not", ["tracker B99"]),
            ("as A2 rule 5 and A2.5 say, but not A2 rule 99", ["tracker A2, rule 99"]),
            ("rule 91 of A2", ["tracker A2, rule 91"]),
            ("A2's rule 92", ["tracker A2, rule 92"]),
            ("A2, Rule 93", ["tracker A2, rule 93"]),
            ("A2, rules 1-94", ["tracker A2, rule 94"]),
            ("Section 95 of the tracker's law", ["tracker Section 95"]),
            ("section 96 of the tracker law", ["tracker Section 96"]),
            ("command rule C98", ["command C98"]),
            ("K-a89", ["tracker K-a89"]),
            ("A5\u{2011}99 and A5\u{2013}98", ["vector A5-99", "vector A5-98"]),
            ("rules 1 and 90 of A2", ["tracker A2, rule 90"]),
            ("rule 1 of A2, A2's rule 1, a rule of A, rules 1-3 of A2, command rule C2", []),
            ("the bytes A5 99 and E2:80:93, A4 paper's A4, law A bottle keeps, in section A1, C99", []),
            ("tracker law A5, K-B11, protocol law P4, rule 3, A5-03: all right", []),
        ])
    func wrongCitations(text: String, wrong: [String]) throws {
        let dangling = try Law.ofThisRepository().dangling(in: text)
        #expect(dangling == wrong)
    }

    @Test(
        "a page that is not here is found out",
        arguments: [
            ("see hardware/README.md and (adapters.md)", []), ("see `spec/tracker.md`", ["spec/tracker.md"]),
            ("(bluez-notes.md, zombie links)", ["bluez-notes.md"]), ("../bench-day.md", []),
            ("rewards.md", ["rewards.md"]),
        ])
    func wrongPages(text: String, missing: [String]) {
        #expect(
            NamedPages.missing(
                in: text, pages: ["README.md", "hardware/README.md", "hardware/adapters.md", "hardware/bench-day.md"])
                == missing)
    }
}

/// Markdown pages that a text names, by their whole path or by its end.
enum NamedPages {
    static func missing(in text: String, pages: [String]) -> [String] {
        guard text.contains(".md") else { return [] }
        return text.matches(of: /\$?[A-Za-z0-9_.\/-]+\.md\b/).map { match in
            String(match.output.trimmingPrefix(/(?:\$[A-Za-z]+)?(?:\.{0,2}\/)+/))
        }
        .filter { name in !pages.contains { $0 == name || $0.hasSuffix("/" + name) } }
    }
}
