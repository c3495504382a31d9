import Foundation

/// What a file shows to other targets, and whether words stand above it.
struct DocWords {
    /// Types without words, by their name and line.
    private(set) var types: [(name: String, line: Int)] = []
    /// Functions without words.
    private(set) var functions: [(name: String, line: Int)] = []
    /// Properties, subscripts and initialisers without words, by their name and line. An initialiser that only keeps
    /// what it is given is told by the properties that it sets.
    private(set) var members: [(name: String, line: Int)] = []
    /// Functions with words inside of protocols: who fulfils them need not say it again.
    private(set) var promised: Set<String> = []

    init(_ text: String) {
        var hasWords = false
        var isProtocol = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let code = line.drop { $0 == " " }
            if code.hasPrefix("///") || code.hasPrefix("*/") {
                hasWords = true
                continue
            }
            if code.hasPrefix("@"), !code.contains(" ") { continue }
            if line == "}" { isProtocol = false }
            let words = code.split(whereSeparator: { " (:{<=".contains($0) }).drop { $0.hasPrefix("@") }
            let isPublic = words.first == "public" || words.first == "open"
            if let place = words.firstIndex(where: { Self.kinds.contains($0) }),
                words[..<place].allSatisfy({ Self.modifiers.contains($0) })
            {
                let (kind, name) = (
                    words[place], words.dropFirst(place - words.startIndex + 1).first.map(String.init) ?? ""
                )
                if kind == "func", isProtocol, hasWords { promised.insert(name) }
                if kind == "protocol" { isProtocol = true }
                if isPublic, !hasWords {
                    switch kind {
                    case "func": if !Self.isOperator(code) { functions.append((name, number + 1)) }
                    case "init", "init?":
                        if !Self.onlyKeeps(lines[number...]) { members.append((String(kind), number + 1)) }
                    case "var", "let": members.append((name, number + 1))
                    case "subscript": members.append((String(kind), number + 1))
                    default: types.append((name, number + 1))
                    }
                }
            }
            hasWords = false
        }
    }

    /// Whether the initialiser that begins in the first line does nothing but `self.a = a`, `a = b`, or `(self.a,
    /// self.b) = (a, b)`.
    private static func onlyKeeps(_ lines: ArraySlice<Substring>) -> Bool {
        guard let first = lines.first else { return false }
        let body: [String]
        if first.hasSuffix("}") {
            guard let begin = first.ranges(of: " { ").last else { return false }
            body = [String(first[begin.upperBound...].dropLast())]
        } else {
            let depth = first.prefix { $0 == " " }.count
            let rest = lines.drop { !$0.hasSuffix("{") }.dropFirst()
            body = rest.prefix { $0.prefix(depth + 1) != String(repeating: " ", count: depth) + "}" }.map(String.init)
        }
        return body.map { $0.trimmingCharacters(in: .whitespaces) }.allSatisfy { $0.wholeMatch(of: assignment) != nil }
    }

    nonisolated(unsafe) private static let assignment = /(self\.)?\w+ = \w+|\((self\.\w+(, )?)+\) = \([\w, ]+\)/

    /// What an operator does, all know.
    private static func isOperator(_ code: Substring) -> Bool {
        guard let place = code.firstRange(of: "func ") else { return false }
        return code[place.upperBound...].first.map { "<>=+-*/!~&|".contains($0) } ?? false
    }

    /// Words for these are the language's own.
    static let languages: Set<String> = [
        "advanced", "checkIsolated", "duration", "encode", "enqueue", "hash", "log", "next",
    ]

    private static let kinds: Set<Substring> = [
        "struct", "class", "enum", "actor", "protocol", "typealias", "func", "var", "let", "init", "init?", "subscript",
    ]
    private static let modifiers: Set<Substring> = [
        "public", "open", "static", "final", "mutating", "nonisolated", "indirect", "package", "set)", "private",
        "internal", "override", "required", "convenience", "lazy", "weak", "unowned", "unsafe", "consuming",
        "borrowing",
    ]
}

extension House {
    /// What others see says what it is for: types, functions, properties, and initialisers that do more than keep what
    /// they are given.
    func wordless() -> [String] {
        let promised = sources.values.reduce(into: DocWords.languages) { names, files in
            for file in files { names.formUnion(file.docWords.promised) }
        }
        return manifest.targets.filter { $0.folder.hasPrefix("Sources/") }.flatMap { target in
            (sources[target.name] ?? []).flatMap { file in
                let functions = file.docWords.functions.filter { !promised.contains($0.name) }
                return (file.docWords.types + functions + file.docWords.members).sorted { $0.line < $1.line }
                    .map { "\(target.name)/\(file.path):\($0.line) says no word of \($0.name)" }
            }
        }
    }
}
