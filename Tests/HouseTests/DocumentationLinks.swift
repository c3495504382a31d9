import Foundation

/// The links of a page: to other pages, to files, and in DocC pages to types and their members.
struct DocumentationLinks {
    /// Sources of the target whose page it is, without comments and text; empty where a page links to no symbols.
    let code: [(source: SwiftSource, text: String)]
    /// The module's own name may be linked to.
    let module: String

    init(target: String, root: URL) throws {
        module = target
        code = try Repository.files(in: ["Sources/\(target)"], root: root).filter { $0.path.hasSuffix(".swift") }.map {
            file in
            (
                SwiftSource(path: file.path, text: file.text),
                String(decoding: SwiftSource.withoutCommentsAndText(file.text), as: UTF8.self)
            )
        }
    }

    /// Links to symbols that the target does not declare: ``Type``, ``Type/member``, ``Type/function(label:)``.
    func danglingSymbols(in page: String) -> [String] {
        page.matches(of: /``([^`\n]+)``/).map { String($0.1) }.filter { !exists($0) }
    }

    private func exists(_ link: String) -> Bool {
        if link == module { return true }
        let parts = link.split(separator: "/", maxSplits: 1).map(String.init)
        let type = parts[0]
        guard code.contains(where: { $0.source.declared.contains(type) }) else { return false }
        guard parts.count > 1 else { return true }
        let homes = code.filter { $0.source.declared.contains(type) || $0.source.extended.contains(type) }
        return homes.contains { Self.declares(parts[1], in: $0.text) }
    }

    private static func declares(_ member: String, in text: String) -> Bool {
        let name = String(member.prefix { $0 != "(" })
        guard member.contains("(") else {
            return ["var", "let", "case", "func", "struct", "enum"].contains { keyword in
                text.ranges(of: "\(keyword) \(name)").contains { found in
                    found.upperBound == text.endIndex
                        || !(text[found.upperBound].isLetter || text[found.upperBound].isNumber)
                }
            }
        }
        let labels = member.dropFirst(name.count + 1).dropLast().split(separator: ":").map(String.init)
        return text.ranges(of: name == "init" ? "init(" : "func \(name)(").contains { found in
            let parameters = text[found.upperBound...].prefix { $0 != "{" }.prefix(600)
            return labels.allSatisfy { label in
                label == "_"
                    ? parameters.contains("_ ") : parameters.contains("\(label): ") || parameters.contains("\(label) ")
            }
        }
    }

    /// Links of a DocC page to pages that are not there, or to headings that these do not have:
    /// `<doc:Page#A7:-Polling>`, `[text](doc:Page)`.
    ///
    /// - Parameter pages: those beside it, by name without ending.
    static func danglingPages(in page: String, pages: [String: String]) -> [String] {
        page.matches(of: /(?:<|\]\()doc:([^>)\s]+)[>)]/).map { String($0.1) }.filter { link in
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let text = pages[parts[0]] else { return true }
            return parts.count > 1 && !anchors(of: text).contains(plain(parts[1]))
        }
    }

    /// Links of a Markdown page to files that are not there, or to headings that these do not have:
    /// `[text](path#heading)`.
    ///
    /// - Parameter file: the text at a path relative to the page, an empty one for what is no text; `nil` where nothing
    ///   is. The page itself is at "".
    static func danglingFiles(in page: String, file: (String) -> String?) -> [String] {
        page.matches(of: /\]\(([^)\s]+)[^)]*\)/).map { String($0.1) }.filter { link in
            guard !link.contains("://"), !link.hasPrefix("doc:"), !link.hasPrefix("mailto:") else { return false }
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let text = parts[0].isEmpty ? page : file(parts[0]) else { return true }
            return parts.count > 1 && !anchors(of: text).contains(plain(parts[1]))
        }
    }

    /// What documentation comments of a Swift file say: `///` and `/** */`.
    static func words(ofComments text: String) -> String {
        SwiftLexer(text).comments.filter { $0.value.hasPrefix("/") || $0.value.hasPrefix("*") }.map {
            String($0.value.dropFirst())
        }.joined(separator: "\n")
    }

    /// Links of a page that no check follows, and the site does not show: by reference, and in HTML. What is fenced or
    /// in backticks is no link.
    static func unusualLinks(in page: String) -> [String] {
        var isFenced = false
        return page.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            if line.drop(while: { $0 == " " }).hasPrefix("```") { isFenced.toggle() }
            guard !isFenced, line.contains("[") || line.contains("<") else { return [] }
            let plain = line.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter {
                $0.offset % 2 == 0
            }.map { String($0.element) }.joined(separator: "``")
            return plain.matches(of: /^\s{0,3}\[[^\]]+\]:\s*\S+|<(?:a|img)\s[^>]*>/.ignoresCase()).map {
                String($0.output)
            }
        }
    }

    private static func anchors(of page: String) -> Set<String> {
        Set(page.split(separator: "\n").filter { $0.hasPrefix("#") }.map { plain(String($0.drop { $0 == "#" })) })
    }

    /// Letters and digits alone: what the makers of anchors leave of a heading they do not agree on.
    private static func plain(_ heading: String) -> String {
        (heading.removingPercentEncoding ?? heading).lowercased().filter { $0.isLetter || $0.isNumber }
    }
}
