import Foundation
import Testing

/// A broken link in a page fails here, before anybody follows it.
@Suite("Links of the documentation")
struct LinkTests {
    @Test("every symbol that the law links to is declared", arguments: Law.books.values.sorted())
    func symbols(target: String) throws {
        let links = try DocumentationLinks(target: target, root: Repository.root)
        for page in try Repository.files(in: ["Sources/\(target)/\(target).docc"]) {
            #expect(links.danglingSymbols(in: page.text) == [], "linked by \(page.path)")
        }
    }

    @Test("every file that a page links to is there")
    func files() throws {
        let pages = try Repository.files(in: ["Sources", "Tests", "hardware", "captures", "README.md"]).filter { $0.path.hasSuffix(".md") }
        #expect(pages.count > 20)
        for page in pages {
            let folder = Repository.root.appending(path: page.path).deletingLastPathComponent()
            let dangling = DocumentationLinks.danglingFiles(in: page.text) { FileManager.default.fileExists(atPath: folder.appending(path: $0).path) }
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

    @Test("a link to a file that is gone is found out")
    func wrongFiles() {
        let page = "[here](there.md), [gone](gone.md#part), [elsewhere](https://example.org/x.md)"
        #expect(DocumentationLinks.danglingFiles(in: page) { $0 == "there.md" } == ["gone.md"])
    }
}
