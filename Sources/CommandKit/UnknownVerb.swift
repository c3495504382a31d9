import ArgumentParser

/// A word that stands where a verb belongs and is none: named as such, with the verb that may have been meant.
///
/// Without this a command with a default verb hands the word on, and the person reads a usage error of a verb that was
/// never typed.
struct UnknownVerb {
    /// The verbs before it, and the word.
    var path: [String]
    /// The verb that looks most like it.
    var meant: String?
    /// Every verb that could stand there.
    var verbs: [String]

    /// - Returns: `nil` where the arguments fail for another reason.
    init?<Root: ParsableCommand>(_ root: Root.Type, _ arguments: [String]) {
        var command: any ParsableCommand.Type = root
        var path: [String] = []
        // `help logg` asks the same as `logg --help`.
        for word in arguments.first == "help" ? arguments.dropFirst() : arguments[...] {
            let children = command.configuration.subcommands
            guard !children.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            path.append(word)
            if let child = children.first(where: { Self.names($0).contains(word) }) {
                command = child
                continue
            }
            // The default verb may take such a word: `session 3f2a`, `settings hydration.goalMl`.
            guard (try? root.parseAsRoot(path)) == nil else { return nil }
            self.path = path
            verbs = children.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
            let near = verbs.map { (distance: Self.distance(word.lowercased(), $0), verb: $0) }.min {
                $0.distance < $1.distance
            }
            meant = near.flatMap { $0.distance <= max(1, min(word.count, $0.verb.count) / 2) ? $0.verb : nil }
            return
        }
        return nil
    }

    func sentences(_ program: String) -> (what: String, advice: String) {
        let before = ([program] + path.dropLast()).joined(separator: " ")
        let what =
            "There is no verb '\(path.last ?? "")' of \(before)" + (meant.map { ": did you mean '\($0)'?" } ?? ".")
        return (what, "Verbs: \(verbs.joined(separator: ", ")). More: \(before) --help")
    }

    private static func names(_ command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }

    /// Letters to add, drop, change or swap with their neighbour.
    static func distance(_ left: String, _ right: String) -> Int {
        let (a, b) = (Array(left), Array(right))
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
