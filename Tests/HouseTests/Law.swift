import Foundation

/// The law: the DocC pages beside the code, whose headings have ids, with their lists of vectors and tables of checks.
struct Law {
    /// The rules' numbers below each heading, by book and id: `tracker A2` has 1 to 6.
    private(set) var headings: [String: Set<Int>] = [:]
    /// Ids of vectors, checks and stories.
    private(set) var vectors: Set<String> = []
    /// Headings that stand twice, of which a citation could mean either.
    private(set) var doubles: [String] = []

    /// What the books are called in citations, and whose pages they are.
    static let books = ["tracker": "TrackerCore", "protocol": "BottleProtocol", "command": "CommandKit"]

    /// The law of this repository.
    static func ofThisRepository() throws -> Law {
        var law = Law()
        for (book, target) in books {
            for page in try Repository.files(in: ["Sources/\(target)/\(target).docc"]) {
                law.add(page: page.text, of: book)
            }
        }
        return law
    }

    /// A page in Markdown: headings as `## A7: …`, rows as `| K-A5 | …`, numbered rules below their heading, vectors as
    /// `- A5-03: …`.
    mutating func add(page text: String, of book: String) {
        var current: String?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") {
                current = line.prefixMatch(of: /#+ ((?:Section )?[A-Z]?[0-9]*(?:\.[0-9]+)?):/).map { "\(book) \($0.1)" }
                if let current, headings.updateValue([], forKey: current) != nil { doubles.append(current) }
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
        if let rules = headings["\(citation.book) \(citation.place)"] {
            return citation.rule.map { rules.contains($0) } ?? true
        }
        // A2.5 is rule 5 of A2, where A2.5 is no heading.
        let parts = citation.place.split(separator: ".")
        guard parts.count == 2, citation.rule == nil, let rule = Int(parts[1]) else { return false }
        return headings["\(citation.book) \(parts[0])"]?.contains(rule) ?? false
    }

    /// What a text cites that does not exist.
    func dangling(in text: String) throws -> [String] {
        try Citation.all(in: text).filter { !contains($0) }.map(\.description)
    }
}
