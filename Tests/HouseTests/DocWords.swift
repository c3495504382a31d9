/// What a file shows to other targets, and whether words stand above it.
struct DocWords {
    /// Types without words, by their name and line.
    private(set) var types: [(name: String, line: Int)] = []
    /// Functions without words.
    private(set) var functions: [(name: String, line: Int)] = []
    /// How many properties and initialisers have none: a name that says all needs no more, but most say less than their author thinks.
    private(set) var members = 0
    /// Functions with words inside of protocols: who fulfils them need not say it again.
    private(set) var promised: Set<String> = []

    init(_ text: String) {
        var hasWords = false
        var isProtocol = false
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let code = line.drop { $0 == " " }
            if code.hasPrefix("///") || code.hasPrefix("*/") {
                hasWords = true
                continue
            }
            if code.hasPrefix("@"), !code.contains(" ") { continue }
            if line == "}" { isProtocol = false }
            let words = code.split(whereSeparator: { " (:{<=".contains($0) }).drop { $0.hasPrefix("@") }
            let isPublic = words.first == "public" || words.first == "open"
            if let place = words.firstIndex(where: { Self.kinds.contains($0) }), words[..<place].allSatisfy({ Self.modifiers.contains($0) }) {
                let (kind, name) = (words[place], words.dropFirst(place - words.startIndex + 1).first.map(String.init) ?? "")
                if kind == "func", isProtocol, hasWords { promised.insert(name) }
                if kind == "protocol" { isProtocol = true }
                if isPublic, !hasWords {
                    switch kind {
                    case "func": if !Self.isOperator(code) { functions.append((name, number + 1)) }
                    case "var", "let", "init", "init?", "subscript": members += 1
                    default: types.append((name, number + 1))
                    }
                }
            }
            hasWords = false
        }
    }

    /// What an operator does, all know.
    private static func isOperator(_ code: Substring) -> Bool {
        guard let place = code.firstRange(of: "func ") else { return false }
        return code[place.upperBound...].first.map { "<>=+-*/!~&|".contains($0) } ?? false
    }

    /// Words for these are the language's own.
    static let languages: Set<String> = ["advanced", "checkIsolated", "duration", "encode", "enqueue", "hash", "log", "next"]

    private static let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "typealias", "func", "var", "let", "init", "init?", "subscript"]
    private static let modifiers: Set<Substring> = [
        "public", "open", "static", "final", "mutating", "nonisolated", "indirect", "package", "set)", "private", "internal", "override", "required", "convenience", "lazy", "weak", "unowned", "unsafe", "consuming", "borrowing",
    ]
}

extension House {
    /// Types and functions that others see say what they are for, and so do more and more of their members.
    ///
    /// - Parameter known: by target, how many properties and initialisers have no words. The numbers may only become smaller.
    func wordless(known: [String: Int] = [:]) -> [String] {
        var unused = known
        var broken: [String] = []
        let promised = sources.values.reduce(into: DocWords.languages) { names, files in for file in files { names.formUnion(file.docWords.promised) } }
        for target in manifest.targets where target.folder.hasPrefix("Sources/") {
            var count = 0
            for file in sources[target.name] ?? [] {
                let functions = file.docWords.functions.filter { !promised.contains($0.name) }
                for (name, line) in (file.docWords.types + functions).sorted(by: { $0.line < $1.line }) { broken.append("\(target.name)/\(file.path):\(line) says no word of \(name)") }
                count += file.docWords.members
            }
            let allowed = unused.removeValue(forKey: target.name) ?? 0
            if count > allowed { broken.append("\(target.name) has \(count) public properties and initialisers without words, \(allowed) are known") }
            if count < allowed { broken.append("\(target.name) has \(count) public properties and initialisers without words: put \(count) in the place of \(allowed) in the list") }
        }
        return broken + unused.keys.sorted().map { "\($0) is gone: take it from the list" }
    }
}
