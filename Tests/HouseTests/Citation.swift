import Foundation

/// A place of the law that a text names: "tracker law A7", "law P3.4 (rule 6) of the protocol", "K-A5", "(B4)" in a
/// comment, or the vector A5-03.
struct Citation: Hashable, CustomStringConvertible {
    let book: String
    let place: String
    var rule: Int?
    /// Of the text, from 1; no part of what is cited.
    let line: Int

    var description: String { "\(book) \(place)" + (rule.map { ", rule \($0)" } ?? "") }

    /// Everything that a text cites, also across the lines of a comment.
    ///
    /// - Parameter prose: what of it is read by people, where an id stands for a citation without "law" before it. The
    ///   whole text, unless it is told.
    static func all(in text: String, prose: String? = nil) throws -> [Citation] {
        var found: [Citation] = []
        var seen: Set<Citation> = []
        func add(_ citations: [Citation]) {
            for citation in citations where seen.insert(citation).inserted { found.append(citation) }
        }
        if text.contains("aw") { add(try ofLaws(joined(text))) }
        let read = joined(prose ?? text)
        add(try bare(read))
        add(try turned(read))
        add(try vectors(text))
        return found
    }

    /// Where a line ended: a blank to whoever reads, and countable.
    private static let lineEnd: Character = "\u{2028}"

    /// Without the marks of comments, so that a sentence goes on over its lines.
    private static func joined(_ text: String) -> String {
        text.replacing(/\n[ \t]*(?:\/\/\/?|#)?[ \t]*/, with: String(lineEnd))
    }

    private static let blank = #"[ \x{2028}]+"#
    private static let and =
        #"(?:,\#(blank)(?:and|or)\#(blank)|[,;]\#(blank)|\#(blank)(?:and|or|to)\#(blank)|[ ]?&[ ]?|–|\/)"#
    /// A hyphen or a dash, however it was typed.
    private static let dash = #"[\-\x{2010}-\x{2015}]"#
    private static let numbers = #"[0-9]+(?:(?:\#(and)|\#(dash))[0-9]+\b)*"#
    private static let rules = #"[Rr]ules?\#(blank)\#(numbers)"#
    private static let place =
        #"(?:[Ss]ection\#(blank)[0-9]+(?:\.[0-9]+)?|K-[A-Z][0-9]+|[A-Z][0-9]*(?:\.[0-9]+)?)\b(?!-)"#
    private static let reference = #"\#(place)(?:'s)?(?:[,;]?\#(blank)\(?\#(rules))?"#

    /// "tracker law A5, K-B11 and A7", "the tracker's law: A5", "law A5 of the tracker"; a book that there is not goes
    /// by the letter.
    private static func ofLaws(_ text: String) throws -> [Citation] {
        let expression = try Regex(
            #"""
            (?:\b([A-Za-z]+)(?:'s|s')?\#(blank))?\b[Ll]aws?:?\#(blank)[`(]?(\#(reference)(?:\#(and)(?:\#(reference)|\#(rules)))*)(?:\#(blank)of\#(blank)the\#(blank)([a-z]+))?
            """#,
            as: (Substring, Substring?, Substring, Substring?).self)
        return text.matches(of: expression).flatMap { match -> [Citation] in
            let named = [match.1, match.3].compactMap { $0?.lowercased() }.compactMap { word in
                Law.books.keys.first { word == $0 || word == $0 + "s" }
            }.first
            // "the law A bottle keeps" cites nothing.
            return items(of: match.2, in: text, book: named).filter {
                named != nil || $0.place.contains(where: \.isNumber)
            }
        }
    }

    /// "Section 9 of the tracker's law", "command rule C2", "rule 3 of A2": what is cited stands on the other side.
    private static func turned(_ text: String) throws -> [Citation] {
        var found: [Citation] = []
        let books = Law.books.keys.sorted().joined(separator: "|")
        let sections = try Regex(
            #"""
            \b([Ss]ection\#(blank)[0-9]+(?:\.[0-9]+)?)\#(blank)of\#(blank)(?:the\#(blank))?(\#(books))(?:'s)?\#(blank)law\b
            """#,
            as: (Substring, Substring, Substring).self)
        for match in text.matches(of: sections) { found += items(of: match.1, in: text, book: String(match.2)) }
        guard text.contains("ule") else { return found }
        let named = try Regex(
            #"\b(\#(books))(?:'s)?\#(blank)[Rr]ules?\#(blank)(\#(reference)(?:\#(and)\#(reference))*)"#,
            as: (Substring, Substring, Substring).self)
        for match in text.matches(of: named) where match.2.contains(where: \.isLetter) {
            found += items(of: match.2, in: text, book: String(match.1))
        }
        let ruled = try Regex(
            #"""
            \b[Rr]ules?\#(blank)(\#(numbers))\#(blank)of\#(blank)(K-[A-Z][0-9]+|[ABDEX][1-9][0-9]?(?:\.[0-9]{1,2})?|P[1-9](?:\.[0-9]{1,2})?|C[1-9][0-9]?)\b
            """#,
            as: (Substring, Substring, Substring).self)
        for match in text.matches(of: ruled) {
            let (place, line) = (String(match.2), Self.line(of: match.2.startIndex, in: text))
            for number in match.1.matches(of: /[0-9]+/) {
                found.append(Citation(book: book(of: place), place: place, rule: Int(number.output), line: line))
            }
        }
        return found
    }

    /// Ids and the numbers of rules, in their order; a number belongs to the id before it.
    private static func items(of list: Substring, in text: String, book: String?) -> [Citation] {
        var found: [Citation] = []
        for match in list.matches(
            of: /[Ss]ection[ \u{2028}]+[0-9]+(?:\.[0-9]+)?|K-[A-Z][0-9]+|[A-Z][0-9]*(?:\.[0-9]+)?\b|[0-9]+/)
        {
            let word = String(match.output).replacing(String(lineEnd), with: " ").replacing("section", with: "Section")
            let line = Self.line(of: match.range.lowerBound, in: text)
            if let number = Int(word) {
                guard let last = found.indices.last else { continue }
                if found[last].rule == nil {
                    found[last].rule = number
                } else {
                    found.append(Citation(book: found[last].book, place: found[last].place, rule: number, line: line))
                }
            } else {
                found.append(Citation(book: book ?? Self.book(of: word), place: word, line: line))
            }
        }
        return found
    }

    private static func book(of place: String) -> String {
        place.hasPrefix("P") ? "protocol" : place.hasPrefix("C") ? "command" : "tracker"
    }

    /// An id alone: "(A6)", "A2.5", "B4 rule 3". Not those among bytes in hexadecimal.
    private static func bare(_ text: String) throws -> [Citation] {
        let expression = try Regex(
            #"""
            (?:^|[^A-Za-z0-9_.:\-])((?:[ABDEX][1-9][0-9]?|P[1-9])(?:\.[0-9]{1,2})?)(?![A-Za-z0-9_\-])((?:'s)?(?:[,;]?\#(blank)\(?\#(rules))?)
            """#,
            as: (Substring, Substring, Substring).self)
        return text.matches(of: expression).flatMap { match -> [Citation] in
            let (before, after) = (text[..<match.1.startIndex].suffix(3), text[match.1.endIndex...].prefix(3))
            guard before.wholeMatch(of: /[0-9A-Fa-f]{2}[ :]/) == nil, after.wholeMatch(of: /[ :][0-9A-Fa-f]{2}/) == nil
            else { return [] }
            // A law of another book, as "command law A5", was told already.
            return items(of: text[match.1.startIndex..<match.2.endIndex], in: text, book: nil)
        }
    }

    /// K-A5, A5-03, US-037, and A5_03 in a name.
    private static func vectors(_ text: String) throws -> [Citation] {
        var found: [Citation] = []
        let text =
            text.utf8.contains(0xE2)
            ? text.replacing(/([A-Z][0-9]{0,2})[\u{2010}-\u{2015}]([A-Z]?[0-9]{2})/, with: { "\($0.1)-\($0.2)" }) : text
        guard text.contains("-") || text.contains("_") else { return [] }
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            for word in Words.all(in: String(line)) where word.contains("-") {
                if word.wholeMatch(of: /K-[A-Za-z][0-9]+/) != nil {
                    let rule = line.firstMatch(
                        of: try Regex(
                            #"\#(word)[,;]?\#(blank)\(?rules?\#(blank)([0-9]+)"#, as: (Substring, Substring).self)
                    ).flatMap { Int($0.1) }
                    found.append(Citation(book: "tracker", place: word, rule: rule, line: number + 1))
                }
                if word.wholeMatch(of: /(?:T|[ABDEX][0-9]{1,2})-[0-9]{2}[a-z]?|(?:US|FR)-[0-9]+/) != nil {
                    found.append(Citation(book: "vector", place: word, line: number + 1))
                }
            }
            guard line.contains("_") else { continue }
            for match in line.matches(of: /\b([ABDEX][1-9][0-9]?)_([0-9]{2})\b/) {
                found.append(Citation(book: "vector", place: "\(match.1)-\(match.2)", line: number + 1))
            }
        }
        return found
    }

    private static func line(of index: String.Index, in text: String) -> Int {
        text[..<index].count { $0 == lineEnd } + 1
    }
}
