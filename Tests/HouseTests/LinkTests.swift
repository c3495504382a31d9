import Foundation
import Testing

/// A broken link in a page fails here, before anybody follows it.
@Suite("Links of the documentation")
struct LinkTests {
    /// Targets with pages of their own.
    private static let catalogs =
        (try? FileManager.default.contentsOfDirectory(atPath: Repository.root.appending(path: "Sources").path))?
        .sorted().filter { target in
            FileManager.default.fileExists(
                atPath: Repository.root.appending(path: "Sources/\(target)/\(target).docc").path)
        } ?? []

    @Test("every symbol and page that a catalog links to is there", arguments: catalogs)
    func symbols(target: String) throws {
        let links = try DocumentationLinks(target: target, root: Repository.root)
        let pages = try Self.pages(of: target)
        for page in try Repository.files(in: ["Sources/\(target)/\(target).docc"]) where page.path.hasSuffix(".md") {
            #expect(links.danglingSymbols(in: page.text) == [], "linked by \(page.path)")
            #expect(DocumentationLinks.danglingPages(in: page.text, pages: pages) == [], "linked by \(page.path)")
        }
    }

    /// The pages of a target's catalog, by name without ending.
    private static func pages(of target: String) throws -> [String: String] {
        let all = try Repository.files(in: ["Sources/\(target)/\(target).docc"]).filter { $0.path.hasSuffix(".md") }
        return Dictionary(
            all.map { (($0.path as NSString).lastPathComponent.replacing(".md", with: ""), $0.text) },
            uniquingKeysWith: { first, _ in first })
    }

    @Test("every symbol that a comment links to is declared in its target")
    func symbolsOfComments() throws {
        #expect(Self.catalogs.count >= Law.books.count)
        for file in try Repository.files(in: ["Sources"]) where file.path.hasSuffix(".swift") {
            guard file.text.contains("``") || file.text.contains("doc:") else { continue }
            let comments = DocumentationLinks.words(ofComments: file.text)
            guard comments.contains("``") || comments.contains("doc:") else { continue }
            let target = String(file.path.split(separator: "/")[1])
            #expect(
                try DocumentationLinks(target: target, root: Repository.root).danglingSymbols(in: comments) == [],
                "linked by \(file.path)")
            #expect(
                DocumentationLinks.danglingPages(in: comments, pages: try Self.pages(of: target)) == [],
                "linked by \(file.path)")
        }
    }

    @Test("every file that a page links to is there")
    func files() throws {
        let pages = try Repository.files(in: ["Sources", "Tests", "hardware", "captures", "README.md"]).filter {
            $0.path.hasSuffix(".md")
        }
        #expect(pages.count > 20)
        for page in pages {
            let folder = Repository.root.appending(path: page.path).deletingLastPathComponent()
            let dangling = DocumentationLinks.danglingFiles(in: page.text) { link in
                let path = folder.appending(path: link.removingPercentEncoding ?? link).standardizedFileURL.path
                // What is outside of the tree, or hidden, is on this disk and nowhere else.
                guard path.hasPrefix(Repository.root.path + "/") || path == Repository.root.path,
                    !path.dropFirst(Repository.root.path.count).contains("/.")
                else { return nil }
                return FileManager.default.fileExists(atPath: path)
                    ? (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" : nil
            }
            #expect(dangling == [], "linked by \(page.path)")
            #expect(DocumentationLinks.unusualLinks(in: page.text) == [], "in \(page.path)")
        }
    }

    @Test("a link that nobody follows is found out, and one in a comment of any kind")
    func unusualLinks() {
        let page =
            """
            [z][nope]\n[nope]: nope.txt\n<a href=\"nope6.txt\">a</a> <IMG src=x> `<a href=x>`\n```\n[a]: b\n```\n- \
            [ ] a task: b
            """
        #expect(
            DocumentationLinks.unusualLinks(in: page) == ["[nope]: nope.txt", "<a href=\"nope6.txt\">", "<IMG src=x>"])
        let words = DocumentationLinks.words(
            ofComments: "/// <doc:Nope14>, [x](doc:Nope15)\n/** ``Nope17``\n more */ let a = \"``A``\" // ``B``")
        #expect(
            words.contains("<doc:Nope14>") && words.contains("``Nope17``\n more") && !words.contains("``A``")
                && !words.contains("``B``"))
    }

    @Test(
        "a link made wrong is found out",
        arguments: [
            ("``Instant`` and ``DayCalendar/instant(on:at:)``", []), ("``Instont``", ["Instont"]),
            ("``Instant/supporting``", ["Instant/supporting"]),
            ("``DayCalendar/instant(on:around:)``", ["DayCalendar/instant(on:around:)"]), ("``TrackerCore``", []),
        ])
    func wrongSymbols(page: String, dangling: [String]) throws {
        #expect(
            try DocumentationLinks(target: "TrackerCore", root: Repository.root).danglingSymbols(in: page) == dangling)
    }

    @Test("a link to a file or a heading that is gone is found out")
    func wrongFiles() {
        let page =
            """
            # Here\n[here](there.md), [part](there.md#a-part-of-it), [gone](gone.md#part), [no \
            part](there.md#nowhere), [elsewhere](https://example.org/x.md), [own](#here), [not](#there)
            """
        #expect(
            DocumentationLinks.danglingFiles(in: page) { $0 == "there.md" ? "## A part, of it" : nil } == [
                "gone.md#part", "there.md#nowhere", "#there",
            ])
    }

    @Test(
        "a link to a page of DocC that is gone is found out",
        arguments: [
            ("<doc:Checks>, [x](doc:Checks#A7:-Polling)", []),
            ("<doc:Checks#No-such-heading>", ["Checks#No-such-heading"]), ("<doc:No-where3>", ["No-where3"]),
            ("<doc:/TrackerCore/X>", ["/TrackerCore/X"]), ("[x](doc:Nowhere4)", ["Nowhere4"]),
        ])
    func wrongPages(page: String, dangling: [String]) {
        #expect(DocumentationLinks.danglingPages(in: page, pages: ["Checks": "# Checks\n## A7: Polling"]) == dangling)
    }
}
