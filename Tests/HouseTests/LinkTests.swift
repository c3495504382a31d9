import Foundation
import Testing

/// A broken link in a page fails here, before anybody follows it.
@Suite("Links of the documentation")
struct LinkTests {
    /// Targets with pages of their own.
    private static let catalogs = (try? FileManager.default.contentsOfDirectory(atPath: Repository.root.appending(path: "Sources").path))?.sorted().filter { target in
        FileManager.default.fileExists(atPath: Repository.root.appending(path: "Sources/\(target)/\(target).docc").path)
    } ?? []

    @Test("every symbol and page that a catalog links to is there", arguments: catalogs)
    func symbols(target: String) throws {
        let links = try DocumentationLinks(target: target, root: Repository.root)
        let all = try Repository.files(in: ["Sources/\(target)/\(target).docc"]).filter { $0.path.hasSuffix(".md") }
        let pages = Dictionary(all.map { (($0.path as NSString).lastPathComponent.replacing(".md", with: ""), $0.text) }, uniquingKeysWith: { first, _ in first })
        for page in all {
            #expect(links.danglingSymbols(in: page.text) == [], "linked by \(page.path)")
            #expect(DocumentationLinks.danglingPages(in: page.text, pages: pages) == [], "linked by \(page.path)")
        }
    }

    @Test("every symbol that a comment links to is declared in its target")
    func symbolsOfComments() throws {
        #expect(Self.catalogs.count >= Law.books.count)
        for file in try Repository.files(in: ["Sources"]) where file.path.hasSuffix(".swift") {
            let comments = file.text.split(separator: "\n").filter { $0.drop { $0 == " " }.hasPrefix("///") && $0.contains("``") }
            guard !comments.isEmpty else { continue }
            let links = try DocumentationLinks(target: String(file.path.split(separator: "/")[1]), root: Repository.root)
            #expect(links.danglingSymbols(in: comments.joined(separator: "\n")) == [], "linked by \(file.path)")
        }
    }

    @Test("every file that a page links to is there")
    func files() throws {
        let pages = try Repository.files(in: ["Sources", "Tests", "hardware", "captures", "README.md"]).filter { $0.path.hasSuffix(".md") }
        #expect(pages.count > 20)
        for page in pages {
            let folder = Repository.root.appending(path: page.path).deletingLastPathComponent()
            let dangling = DocumentationLinks.danglingFiles(in: page.text) { link in
                let path = folder.appending(path: link.removingPercentEncoding ?? link).path
                return FileManager.default.fileExists(atPath: path) ? (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" : nil
            }
            #expect(dangling == [], "linked by \(page.path)")
        }
    }

    @Test(
        "a link made wrong is found out",
        arguments: [
            ("``Instant`` and ``DayCalendar/instant(on:at:)``", []), ("``Instont``", ["Instont"]), ("``Instant/supporting``", ["Instant/supporting"]),
            ("``DayCalendar/instant(on:around:)``", ["DayCalendar/instant(on:around:)"]), ("``TrackerCore``", []),
        ])
    func wrongSymbols(page: String, dangling: [String]) throws {
        #expect(try DocumentationLinks(target: "TrackerCore", root: Repository.root).danglingSymbols(in: page) == dangling)
    }

    @Test("a link to a file or a heading that is gone is found out")
    func wrongFiles() {
        let page = "# Here\n[here](there.md), [part](there.md#a-part-of-it), [gone](gone.md#part), [no part](there.md#nowhere), [elsewhere](https://example.org/x.md), [own](#here), [not](#there)"
        #expect(DocumentationLinks.danglingFiles(in: page) { $0 == "there.md" ? "## A part, of it" : nil } == ["gone.md#part", "there.md#nowhere", "#there"])
    }

    @Test(
        "a link to a page of DocC that is gone is found out",
        arguments: [
            ("<doc:Checks>, [x](doc:Checks#A7:-Polling)", []), ("<doc:Checks#No-such-heading>", ["Checks#No-such-heading"]), ("<doc:No-where3>", ["No-where3"]),
            ("<doc:/TrackerCore/X>", ["/TrackerCore/X"]), ("[x](doc:Nowhere4)", ["Nowhere4"]),
        ])
    func wrongPages(page: String, dangling: [String]) {
        #expect(DocumentationLinks.danglingPages(in: page, pages: ["Checks": "# Checks\n## A7: Polling"]) == dangling)
    }
}
