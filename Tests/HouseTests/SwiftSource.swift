import Foundation

/// A Swift file as far as the rules of the house need it: what it imports, declares and extends, and which type names
/// it uses.
struct SwiftSource {
    /// Below the root: `Sources/Gateway/Engine/HeardPeers.swift`.
    let path: String
    private(set) var imports: Set<String> = []
    /// Types declared at the top level, and other names of types.
    private(set) var declared: Set<String> = []
    /// Other names of types, which are no types of their own.
    private(set) var aliases: Set<String> = []
    /// Those of them that other targets see, in the order of the file; no other names.
    private(set) var publicTypes: [String] = []
    /// Types declared in an extension, by their name: which type is extended.
    private(set) var inner: [String: String] = [:]
    /// Functions that the whole target may call, declared at the top level, and what is called like one: `counted(…)`,
    /// no member.
    private(set) var functions: Set<String> = []
    private(set) var called: Set<String> = []
    /// Types extended at the top level.
    private(set) var extended: Set<String> = []
    /// Words that begin with a capital letter, outside comments and text.
    private(set) var used: Set<String> = []
    /// Where time, chance or waiting is not a parameter: `Date()`, `random`, `sleep`.
    private(set) var impure: Set<String> = []
    /// A pause is doubled by hand: `min(pause * 2, longest)`.
    private(set) var doublesByHand = false
    /// What stands between quotes.
    let texts: [SwiftLexer.Text]
    /// What is public and has doc words, or has none.
    let docWords: DocWords
    /// Names in small letters: what is declared, and what is used.
    let names: MemberNames
    /// An import of it is handed on to whoever imports the module.
    let reexports: Bool

    /// Without its ending: `BottleSession+Log`.
    var stem: String { String((path as NSString).lastPathComponent.dropLast(".swift".count)) }

    init(path: String, text: String) {
        self.path = path
        let lexer = SwiftLexer(text)
        texts = lexer.texts
        docWords = DocWords(text)
        names = MemberNames(lexer.code)
        reexports = text.contains("@_exported") && String(decoding: lexer.code, as: UTF8.self).contains("@_exported")
        read(lexer.code)
        if text.contains("*= 2"),
            String(decoding: lexer.code, as: UTF8.self).firstMatch(
                of: /(?:pause|wait|delay|interval|backoff) \*= 2\b/.ignoresCase()) != nil
        {
            doublesByHand = true
        }
    }

    /// Word by word, with the braces, brackets and parentheses around it counted: what is declared stands outside of
    /// all.
    private mutating func read(_ code: [UInt8]) {
        var depth = 0
        var index = 0
        var modifiers: [String] = []
        /// `import`, `struct`: the name comes next.
        var keyword: String?
        /// The word before, of those that are looked at.
        var before = ""
        /// What the extension in which we are extends.
        var host: String?
        while index < code.count {
            let byte = code[index]
            guard Self.isName(byte) else {
                switch byte {
                case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: "}"):
                    depth -= 1
                    modifiers = []
                case UInt8(ascii: ";"): modifiers = []
                default: break
                }
                index += 1
                continue
            }
            let start = index
            while index < code.count, Self.isName(code[index]) { index += 1 }
            let isType = byte >= 0x41 && byte <= 0x5A
            let isCall =
                !isType && index < code.count && code[index] == UInt8(ascii: "(")
                && (start == 0 || code[start - 1] != UInt8(ascii: "."))
            guard isType || depth == 0 || isCall || Self.tells(byte) else { continue }
            let word = String(decoding: code[start..<index], as: UTF8.self)
            if isType {
                used.insert(word)
                if depth == 1, keyword != nil, keyword != "typealias", let host { inner[word] = host }
            }
            if isCall, before != "func", before != "case" { called.insert(word) }
            if word == "min", isCall,
                String(decoding: code[index...].prefix(60), as: UTF8.self).prefixMatch(
                    of:
                        /\((?:[A-Za-z.]+ \* 2,|[A-Za-z0-9_.]+, [A-Za-z.]*(?:[Pp]ause|[Ww]ait|[Dd]elay|[Bb]ackoff)[A-Za-z]* \* 2\))/
                ) != nil
            {
                doublesByHand = true
            }
            if before == "func", depth == 0, !modifiers.contains("private"), !modifiers.contains("fileprivate") {
                functions.insert(word)
            }
            before = word
            if depth > 0, word == "import", let module = Self.module(code, start, index) { imports.insert(module) }
            if depth > 0 { keyword = Self.kinds.contains(word) && code[start - 1] != UInt8(ascii: ".") ? word : nil }
            if let found = Self.impurity(word, code, start, index) { impure.insert(found) }
            guard depth == 0 else { continue }
            if start > 0, code[start - 1] == UInt8(ascii: "@") || code[start - 1] == UInt8(ascii: "#") { continue }
            if let known = keyword {
                // import func Foundation.exit; class func is no type, and stands at no top level.
                if known == "import", Self.kinds.contains(word) || Self.importKinds.contains(word) { continue }
                switch known {
                case "import": imports.insert(word)
                case "extension": extended.insert(word)
                default:
                    declared.insert(word)
                    if known == "typealias" { aliases.insert(word) }
                    if known != "typealias", modifiers.contains("public") || modifiers.contains("open") {
                        publicTypes.append(word)
                    }
                }
                if known != "import" { host = known == "extension" ? word : nil }
                (keyword, modifiers) = (nil, [])
            } else if Self.kinds.contains(word) || word == "import" || word == "extension" {
                // `.import`, and a name in backticks.
                if start == 0 || code[start - 1] != UInt8(ascii: ".") && code[start - 1] != UInt8(ascii: "`") {
                    keyword = word
                }
            } else if Self.modifiers.contains(word) {
                modifiers.append(word)
            } else if word != "func" {
                modifiers = []
            }
        }
    }

    /// What is imported where braces do not tell the depth: `#if` and `#else` may both open the same one. Labels and
    /// names are called so, too.
    private static func module(_ code: [UInt8], _ start: Int, _ end: Int) -> String? {
        let before = code[..<start].reversed().prefix { $0 != 0x0A && $0 != UInt8(ascii: ";") }
        guard
            String(decoding: before.reversed(), as: UTF8.self).wholeMatch(
                of: /\s*(?:(?:@[A-Za-z_]+(?:\([^)]*\))?|public|package|internal|fileprivate|private)\s+)*/) != nil
        else { return nil }
        let after = String(decoding: code[end...].prefix(200), as: UTF8.self)
        guard
            let found = after.prefixMatch(
                of:
                    /\s+(?:(?:struct|class|enum|actor|protocol|typealias|func|var|let)\s+)?`?([A-Za-z_][A-Za-z0-9_]*)`?(\s*:)?/
            ), found.2 == nil
        else { return nil }
        return String(found.1)
    }

    /// First letters of what is looked for below the top level: what `impurity` finds, `import`, and the kinds of
    /// types.
    private static func tells(_ first: UInt8) -> Bool { "acefhiprstv".utf8.contains(first) }

    /// What takes time, chance or a pause from the machine where it stands.
    private static func impurity(_ word: String, _ code: [UInt8], _ start: Int, _ end: Int) -> String? {
        func follows(_ text: String) -> Bool { code[end...].starts(with: text.utf8) }
        let isMember = start > 0 && code[start - 1] == UInt8(ascii: ".")
        switch word {
        case "SystemRandomNumberGenerator", "ContinuousClock", "SuspendingClock": return word
        // Drawn anew at each start.
        case "hashValue" where isMember: return word
        // A clock that is asked for without its name: `clock: .continuous`, `any Clock = .continuous`.
        case "continuous", "suspending":
            let before = String(decoding: code[max(0, start - 30)..<start], as: UTF8.self)
            return isMember && before.contains(/[Cc]lock(?:<[A-Za-z]+>)?\??\s*[:=]\s*\.$/) ? word : nil
        case "Date" where follows("()") || follows(".now") || follows("(timeIntervalSinceNow"),
            "UUID" where follows("()"):
            return word
        case "sleep" where isMember && ["(for:", "(until:", "(nanoseconds:"].contains(where: follows): return word
        case "random", "randomElement", "shuffled", "shuffle":
            guard isMember, follows("(") else { return nil }
            // With a generator that is handed in: `using:` before the parenthesis closes.
            var depth = 0
            let arguments = code[end...].prefix { byte in
                depth += byte == UInt8(ascii: "(") ? 1 : byte == UInt8(ascii: ")") ? -1 : 0
                return depth > 0
            }
            return String(decoding: arguments, as: UTF8.self).contains("using:") ? nil : word
        default: return nil
        }
    }

    private static let kinds: Set<String> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
    private static let importKinds: Set<String> = ["func", "var", "let"]
    private static let modifiers: Set<String> = [
        "public", "package", "internal", "private", "fileprivate", "final", "indirect", "nonisolated", "open", "unsafe",
    ]

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
        default: false
        }
    }

    /// Comments and the inside of text literals become nothing.
    static func withoutCommentsAndText(_ text: String) -> [UInt8] { SwiftLexer(text).code }
}
