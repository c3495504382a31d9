import Foundation

/// What a page for newcomers names beside its blocks of commands: files, targets, and verbs of our programs.
struct ReadmePage {
    /// Without what is fenced, which is executed.
    let prose: String
    /// What stands behind each fence that opens a block, and its line.
    let fences: [(kind: String, line: Int)]

    init(_ text: String) {
        var (lines, fences): ([Substring], [(kind: String, line: Int)]) = ([], [])
        var isOpen = false
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let bare = line.drop { $0 == " " }
            if bare.hasPrefix("```") || bare.hasPrefix("~~~") {
                if !isOpen { fences.append((String(line.dropFirst(3)), number + 1)) }
                isOpen.toggle()
            } else if !isOpen {
                lines.append(line)
            }
        }
        (prose, self.fences) = (lines.joined(separator: "\n"), fences)
    }

    /// Blocks that nobody runs and nobody prints.
    func strayFences(known: Set<String>) -> [String] {
        fences.filter { !known.contains($0.kind) }.map { "line \($0.line): a block of the kind \"\($0.kind)\"" }
    }

    /// Verbs in backticks that a program does not have: `waterh-gateway poll`, `hardware/bench test`.
    ///
    /// - Parameter verbs: by the program.
    func unknownVerbs(_ verbs: [String: Set<String>]) -> [String] {
        spans(prose).compactMap { span in
            let words = span.split(separator: " ").map(String.init)
            guard words.count > 1, words[0] == "hardware/bench" || words[0].hasPrefix("waterh-"),
                !words[1].hasPrefix("-")
            else { return nil }
            return verbs[words[0]]?.contains(words[1]) == true ? nil : "\(words[0]) \(words[1])"
        }
    }

    /// Names without a folder in the second column of the table of changes that are neither a file's nor a target's.
    func unknownNames(files: Set<String>, targets: Set<String>) -> [String] {
        let table =
            prose.components(separatedBy: "| to change | look at | then run |\n|---|---|---|\n").dropFirst().first ?? ""
        return table.components(separatedBy: "\n").prefix { $0.hasPrefix("| ") }.flatMap { row in
            let cells = row.components(separatedBy: " | ")
            return cells.count > 1
                ? spans(cells[1]).filter { !$0.contains("/") && !files.contains($0) && !targets.contains($0) }
                : ["a row without columns: \(row)"]
        }
    }

    private func spans(_ text: String) -> [String] {
        text.components(separatedBy: "\n").flatMap { line in
            line.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        }
    }

    /// What our programs can be told: `commandName:` of each command, and the lines of the bench's help.
    static func verbs(root: URL) throws -> [String: Set<String>] {
        var verbs: [String: Set<String>] = [:]
        for file in try Repository.files(in: ["Sources"], root: root)
        where file.path.hasPrefix("Sources/waterh-") && file.path.hasSuffix(".swift") {
            let program = String(file.path.split(separator: "/")[1])
            for match in file.text.matches(of: /commandName: "([a-z-]+)"/) {
                verbs[program, default: []].insert(String(match.1))
            }
        }
        let bench = try String(contentsOf: root.appending(path: "hardware/bench"), encoding: .utf8)
        let help =
            bench.components(separatedBy: "<<'TEXT'\n").dropFirst().first?.components(separatedBy: "\nTEXT").first ?? ""
        verbs["hardware/bench"] = Set(help.matches(of: /(?:^|\n)[ ]{2}([a-z]+)\b/).map { String($0.1) })
        return verbs
    }
}
