extension Schema {
    /// The steps as one text for an empty file: a column that a later step adds stands in its table from the beginning.
    ///
    /// SQLite reads the whole schema anew after each `ALTER TABLE`, and that took more than half of the time of making
    /// a store. The tables are those that the steps leave one by one, to the letter (a test compares them). A column
    /// that this cannot place stays where it is.
    static func atOnce(_ steps: [Migration]) -> String {
        var lines: [Substring] = []
        // The table that is being written down, and the line with which each table ends.
        var (table, ends): (Substring?, [Substring: Int]) = (nil, [:])
        var columns: [Int: String] = [:]
        for line in steps.flatMap({ $0.sql.utf8.split(separator: UInt8(ascii: "\n")) }).map(Substring.init) {
            let isAltered = line.hasPrefix("ALTER TABLE ")
            let words = isAltered || line.hasPrefix("CREATE TABLE ") ? line.split(separator: " ", maxSplits: 5) : []
            if !words.isEmpty, !isAltered { table = words[2] }
            if line.hasPrefix(")"), let name = table { (table, ends[name]) = (nil, lines.count) }
            if isAltered, words.count == 6, words[3...4] == ["ADD", "COLUMN"],
                let end = ends[words[2]], let semicolon = words[5].firstIndex(of: ";")
            {
                columns[end, default: ""] += ", \(words[5][..<semicolon])"
            } else {
                lines.append(line)
            }
        }
        return lines.enumerated().map { (columns[$0] ?? "") + $1 }.joined(separator: "\n")
    }
}
