import Foundation

/// The names in small letters that a file declares and uses, as far as the floors need them: what an extension adds to
/// a type stands where the extension does, and so does what is declared at the top level.
struct MemberNames {
    /// Everything that is declared here, by whatever keyword and at whatever depth; labels, too.
    private(set) var declared: Set<String> = []
    /// Functions, properties and other names of types that extensions add, but for private ones.
    private(set) var added: Set<String> = []
    /// Functions, variables and constants of the top level, but for private ones.
    private(set) var global: Set<String> = []
    /// What stands behind a dot: `self.leave`, `.leave`.
    private(set) var members: Set<String> = []
    /// What does not.
    private(set) var bare: Set<String> = []

    /// - Parameter code: without comments and texts.
    init(_ code: [UInt8]) {
        var (depth, index) = (0, 0)
        var (isExtension, isPrivate, isHidden) = (false, false, false)
        var keyword: String?
        /// In parentheses behind `let`: each name is declared.
        var tuple: Int?
        /// Since the last brace or line: closures name their parameters before `in`.
        var recent: [String] = []
        /// Where a list of cases is, as `case milk, tea`.
        var cases: Int?
        while index < code.count {
            let byte = code[index]
            guard Self.isName(byte) else {
                switch byte {
                case UInt8(ascii: "("), UInt8(ascii: "["):
                    if byte == UInt8(ascii: "("), keyword == "let" || keyword == "var" {
                        (tuple, keyword) = (depth, nil)
                    }
                    depth += 1
                case UInt8(ascii: "{"):
                    depth += 1
                    recent = []
                case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                    depth -= 1
                    if tuple == depth { tuple = nil }
                    if byte == UInt8(ascii: "}"), depth == 0 { (isExtension, isHidden) = (false, false) }
                    if byte == UInt8(ascii: "}") { isPrivate = false }
                case 0x0A: recent = []
                case UInt8(ascii: ","): if cases == depth { keyword = "case" }
                default: break
                }
                if ![0x20, 0x0A, UInt8(ascii: "`")].contains(byte), byte != UInt8(ascii: ",") { keyword = nil }
                if byte == 0x0A && keyword == nil || byte == UInt8(ascii: ":") { cases = nil }
                index += 1
                continue
            }
            let start = index
            while index < code.count, Self.isName(code[index]) { index += 1 }
            let isMember =
                start > 0 && code[start - 1] == UInt8(ascii: ".") && (start < 2 || code[start - 2] != UInt8(ascii: "."))
            let isAttribute =
                start > 0 && (code[start - 1] == UInt8(ascii: "@") || code[start - 1] == UInt8(ascii: "#"))
            guard !isAttribute, byte > 0x39 else { continue }
            let word = String(decoding: code[start..<index], as: UTF8.self)
            let follows = index < code.count ? code[index] : 0
            if isMember {
                members.insert(word)
                keyword = nil
                continue
            }
            if let known = keyword, !Self.keywords.contains(word) {
                keyword = nil
                if known == "case" { cases = depth }
                declared.insert(word)
                let isOfType = known == "typealias" || byte > 0x5A || byte == 0x5F
                if depth == 1, isExtension, !isHidden, !isPrivate, isOfType { added.insert(word) }
                if depth == 0, !isPrivate, known == "func" || known == "let" || known == "var" { global.insert(word) }
                isPrivate = false
                continue
            }
            switch word {
            case "func", "let", "var", "typealias", "case": keyword = word
            case "struct", "class", "enum", "actor", "protocol":
                // Of a type only the name counts: the type itself is told by `SwiftSource`.
                keyword = word
                isPrivate = false
            case "private", "fileprivate": if follows != UInt8(ascii: "(") { isPrivate = true }
            case "extension" where depth == 0: (isExtension, isHidden, isPrivate) = (true, isPrivate, false)
            case "init", "subscript", "import": isPrivate = false
            case "in": declared.formUnion(recent)
            default:
                bare.insert(word)
                recent.append(word)
                if tuple != nil || follows == UInt8(ascii: ":") { declared.insert(word) }
            }
        }
    }

    private static let keywords: Set<String> = [
        "func", "let", "var", "typealias", "case", "struct", "class", "enum", "actor", "protocol", "init", "subscript",
    ]

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
        default: false
        }
    }
}

extension House {
    /// What extensions add and what stands at the top level, used from the floor below or beside it. A name counts
    /// where nothing else of ours is called so: of others it is not known whose they are.
    ///
    /// - Parameter known: arrows that are still to be turned, as `Store: Opening -> Schema`.
    func brokenMembers(_ floors: [String: [[String]]], known: Set<String> = []) -> [String] {
        /// Where a name is declared: one folder, or `nil` where there are several.
        var places: [String: String?] = [:]
        let ours = manifest.targets.filter { $0.folder.hasPrefix("Sources/") }.map(\.name)
        for target in ours {
            for file in sources[target] ?? [] {
                let place = "\(target)/\(Self.folder(file))"
                for name in file.names.declared {
                    if let other = places[name] {
                        if other != place { places[name] = .some(nil) }
                    } else {
                        places[name] = place
                    }
                }
            }
        }
        var broken: [String] = []
        for (target, order) in floors.sorted(by: { $0.key < $1.key }) where ours.contains(target) {
            let level = Dictionary(
                order.enumerated().flatMap { index, names in names.map { ($0, index) } },
                uniquingKeysWith: { first, _ in first })
            var (homes, globals): ([String: String], Set<String>) = ([:], [])
            for file in sources[target] ?? [] {
                for name in file.names.added.union(file.names.global)
                where places[name] == .some("\(target)/\(Self.folder(file))") { homes[name] = Self.folder(file) }
                globals.formUnion(file.names.global)
            }
            for file in sources[target] ?? [] {
                let own = Self.folder(file)
                for name in file.names.members.union(file.names.bare).intersection(homes.keys).sorted() {
                    guard let other = homes[name], other != own, let mine = level[own], let its = level[other],
                        its >= mine
                    else { continue }
                    // What is called is told by `brokenFloors`.
                    guard !(globals.contains(name) && file.called.contains(name)) else { continue }
                    let arrow = "\(target): \(own) -> \(other)"
                    if !known.contains(arrow) {
                        broken.append("\(arrow): \(file.path) uses \(globals.contains(name) ? "" : ".")\(name)")
                    }
                }
            }
        }
        return broken
    }

    /// Whoever imports a module of ours gets that module, and no other with it: `@_exported` would open what the
    /// manifest keeps shut.
    func reexports() -> [String] {
        manifest.targets.flatMap { target in
            (sources[target.name] ?? []).filter(\.reexports).map {
                "\(target.name)/\($0.path) hands on what it imports (@_exported)"
            }
        }
    }
}
