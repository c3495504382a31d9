import Foundation
import Testing

/// The law stands in DocC pages beside the code, and the code cites it: "tracker law A7", "protocol law P3.4". A citation that leads
/// nowhere is worse than none.
@Suite("Citations of the law")
struct CitationTests {
    /// All that people read and write here, but for tables of data and this checker's own wrong examples.
    private func files() throws -> [Repository.File] {
        try Repository.files(in: ["Sources", "Tests", "hardware", "captures", "README.md", "Package.swift"]).filter { file in
            !file.path.hasPrefix("Tests/HouseTests/") && !file.path.hasPrefix("Tests/Fuzz/corpus/")
                && ![".txt", ".csv", ".jsonl", ".hex", ".expected"].contains { file.path.hasSuffix($0) }
        }
    }

    @Test("every citation resolves to a heading, a rule, or a vector")
    func citationsResolve() throws {
        let law = try Law.ofThisRepository()
        var counts: [String: Int] = [:]
        for file in try files() {
            for citation in Citation.all(in: file.text) {
                counts[citation.book, default: 0] += 1
                let resolves = law.contains(citation)
                #expect(resolves, "\(file.path) cites \(citation), and there is no such place")
            }
        }
        print("citations that resolve: \(counts.values.reduce(0, +)) (\(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))), headings: \(law.headings.count)")
        for book in Law.books.keys { #expect(counts[book, default: 0] > 5, "hardly anything cites the \(book) law") }
    }

    @Test("pages of the law refer to each other by ids that exist", arguments: [("tracker", "[ABDEX][0-9]{1,2}"), ("protocol", "P[0-9]"), ("command", "C[0-9]")])
    func pagesResolve(book: String, id: String) throws {
        let law = try Law.ofThisRepository()
        let id = try Regex("\(id)(?:\\.[0-9])?")
        let target = try #require(Law.books[book])
        for page in try Repository.files(in: ["Sources/\(target)/\(target).docc"]) {
            for word in Words.all(in: page.text) where try id.wholeMatch(in: word) != nil {
                let resolves = law.contains(Citation(book: book, place: word))
                #expect(resolves, "\(page.path) refers to \(word)")
            }
            for link in page.text.matches(of: /<doc:([A-Za-z]+)>/) {
                #expect(FileManager.default.fileExists(atPath: Repository.root.appending(path: "Sources/\(target)/\(target).docc/\(link.1).md").path), "\(page.path) links to \(link.1)")
            }
        }
    }

    @Test("a page that a file names is in the repository")
    func namedPagesExist() throws {
        let pages = try Repository.files(in: ["Sources", "Tests", "hardware", "captures", "README.md"]).map(\.path).filter { $0.hasSuffix(".md") }
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
            ("tracker law A5, K-B11, protocol law P4, rule 3, A5-03: all right", []),
        ])
    func wrongCitations(text: String, wrong: [String]) throws {
        #expect(try Law.ofThisRepository().dangling(in: text) == wrong)
    }

    @Test(
        "a page that is not here is found out",
        arguments: [
            ("see hardware/README.md and (adapters.md)", []), ("see `spec/tracker.md`", ["spec/tracker.md"]),
            ("(bluez-notes.md, zombie links)", ["bluez-notes.md"]), ("../bench-day.md", []), ("rewards.md", ["rewards.md"]),
        ])
    func wrongPages(text: String, missing: [String]) {
        #expect(NamedPages.missing(in: text, pages: ["README.md", "hardware/README.md", "hardware/adapters.md", "hardware/bench-day.md"]) == missing)
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
