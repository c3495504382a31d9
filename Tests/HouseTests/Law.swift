import Foundation

/// The law: the DocC pages beside the code, whose headings have ids, with their lists of vectors and tables of checks.
struct Law {
    /// The rules' numbers below each heading, by book and id: `tracker A2` has 1 to 6.
    private(set) var headings: [String: Set<Int>] = [:]
    /// Ids of vectors, checks and stories.
    private(set) var vectors: Set<String> = []

    /// What the books are called in citations, and whose pages they are.
    static let books = ["tracker": "TrackerCore", "protocol": "BottleProtocol", "command": "CommandKit"]

    /// The law of this repository.
    static func ofThisRepository() throws -> Law {
        var law = Law()
        for (book, target) in books {
            for page in try Repository.files(in: ["Sources/\(target)/\(target).docc"]) { law.add(page: page.text, of: book) }
        }
        return law
    }

    /// A page in Markdown: headings as `## A7: …`, rows as `| K-A5 | …`, numbered rules below their heading, vectors as `- A5-03: …`.
    mutating func add(page text: String, of book: String) {
        var current: String?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") {
                current = line.prefixMatch(of: /#+ ((?:Section )?[A-Z]?[0-9]*(?:\.[0-9]+)?):/).map { "\(book) \($0.1)" }
                if let current { headings[current] = [] }
            } else if let row = line.prefixMatch(of: /\| (K-[A-Z][0-9]+) \|/) {
                headings["\(book) \(row.1)"] = []
            } else if let row = line.prefixMatch(of: /(?:- |\| )([A-Z0-9]+-[^ ]+?)(?:: | \|)/) {
                vectors.insert(String(row.1))
                // A1-12 names all of A1-12a to A1-12g.
                if row.1.last?.isLowercase == true { vectors.insert(String(row.1.dropLast())) }
            } else if let current, let rule = line.prefixMatch(of: /([0-9]+)\.\s/), let number = Int(rule.1) {
                headings[current]?.insert(number)
            }
        }
    }

    /// Whether there is a heading, and a rule below it, or a vector, as cited.
    func contains(_ citation: Citation) -> Bool {
        if citation.book == "vector" { return vectors.contains(citation.place) }
        guard let rules = headings["\(citation.book) \(citation.place)"] else { return false }
        return citation.rule.map { rules.contains($0) } ?? true
    }

    /// What a text cites that does not exist.
    func dangling(in text: String) -> [String] { Citation.all(in: text).filter { !contains($0) }.map(\.description) }
}

/// A place of the law that a text names: "tracker law A7", "protocol law P3.4, rule 6", "K-A5", or the vector A5-03.
struct Citation: Hashable, CustomStringConvertible {
    let book: String
    let place: String
    var rule: Int?

    var description: String { "\(book) \(place)" + (rule.map { ", rule \($0)" } ?? "") }

    /// Everything that a text cites, also across the lines of a comment.
    static func all(in text: String) -> [Citation] {
        var found: [Citation] = []
        if text.contains(" law") {
            let joined = text.replacing(/\n[ \t]*(?:\/\/\/?|#)?[ \t]*/, with: " ")
            // One book, and one place or several with commas or "and" between them; a rule belongs to the place before it.
            let places = /\b(tracker|protocol|command) law ((?:Section [0-9]|[A-Z][0-9]?)[0-9]*(?:\.[0-9]+)?\b(?!-)(?:(?:, and |, | and |–)(?:rule [0-9]+|(?:Section [0-9]|[A-Z][0-9]?)[0-9]*(?:\.[0-9]+)?)\b(?!-))*)/
            for match in joined.matches(of: places) {
                for word in match.2.split(separator: /, and |, | and |–/) {
                    if let rule = word.wholeMatch(of: /rule ([0-9]+)/), let last = found.indices.last {
                        found[last].rule = Int(rule.1)
                    } else {
                        found.append(Citation(book: String(match.1), place: String(word)))
                    }
                }
            }
        }
        for word in Words.all(in: text) where word.contains("-") {
            if word.wholeMatch(of: /K-[A-Z][0-9]+/) != nil { found.append(Citation(book: "tracker", place: word)) }
            if word.wholeMatch(of: /(?:T|[ABDEX][0-9]{1,2})-[0-9]{2}|US-[0-9]{3}/) != nil { found.append(Citation(book: "vector", place: word)) }
        }
        return found
    }
}

/// Words of letters, digits, `-` and `.`, as ids are written.
enum Words {
    /// Those in which a digit stands and that are not long: others are no ids.
    static func all(in text: String) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var hasDigit = false
        for byte in Array(text.utf8) + [0x0A] {
            if byte >= 0x41 && byte <= 0x5A || byte >= 0x61 && byte <= 0x7A || byte == 0x2D || byte == 0x2E {
                word.append(byte)
            } else if byte >= 0x30 && byte <= 0x39 {
                word.append(byte)
                hasDigit = true
            } else if !word.isEmpty {
                if hasDigit && word.count < 12 {
                    // The end of a sentence is no part of its last word.
                    if word.last == 0x2E { word.removeLast() }
                    words.append(String(decoding: word, as: UTF8.self))
                }
                word.removeAll(keepingCapacity: true)
                hasDigit = false
            }
        }
        return words
    }
}
