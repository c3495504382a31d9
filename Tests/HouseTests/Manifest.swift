import Foundation

/// Package.swift as far as the arrows between targets go.
struct Manifest {
    struct Target {
        let name: String
        /// Below the root.
        let folder: String
        /// Named at the target itself; each is imported, or it is dead.
        let named: Set<String>
        /// Those that every target of its kind has.
        let common: Set<String>
        /// An executable.
        let isCommand: Bool
    }

    private(set) var targets: [Target] = []
    /// Below the root, of all targets, those of the system's libraries too.
    var folders: [String] { targets.map(\.folder) + systemLibraries.map { "Sources/" + $0 } }
    private var systemLibraries: [String] = []

    init(text: String) {
        let text = text.split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.replacing(/^\s*\/\/.*/, with: "")
        }.joined(separator: "\n")
        // let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
        var aliases: [String: String] = [:]
        for match in text.matches(of: /let ([a-zA-Z]+) = Target\.Dependency\.product\(name: "([A-Za-z0-9]+)"/) {
            aliases[String(match.1)] = String(match.2)
        }
        let list = text.firstRange(of: "let package").map { String(text[$0.lowerBound...]) } ?? ""
        systemLibraries = list.matches(of: /\.systemLibrary\(\s*name: "([A-Za-z0-9]+)"/).map { String($0.1) }
        // func command(…) -> Target { .executableTarget(name: name, dependencies: dependencies + ["CommandKit",
        // argumentParser], …
        var common: [String: Set<String>] = [:]
        for match in text.matches(of: /func ([a-z]+)\([^{]*\{[^}]*?dependencies(?: \+ \[([^\]]*)\])?,/) {
            common[String(match.1)] = Self.names(match.2.map(String.init) ?? "", aliases)
        }
        for call in list.matches(of: /(\.?[a-zA-Z]+)\(\s*(?:name: )?"([A-Za-z0-9-]+)"/) {
            let kind = String(call.1)
            guard common[kind] != nil || [".target", ".executableTarget", ".testTarget"].contains(kind) else {
                continue
            }
            let body = Self.parentheses(list[call.range.lowerBound...]).replacing(
                /(?:exclude|sources|resources): \[[^\]]*\]/, with: "")
            let dependencies = body.firstMatch(of: /\[([^\[\]]*)\]/).map { String($0.1) } ?? ""
            let path = body.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) }
            targets.append(
                Target(
                    name: String(call.2),
                    folder: path ?? (kind == "tests" || kind == ".testTarget" ? "Tests/" : "Sources/") + call.2,
                    named: Self.names(dependencies, aliases), common: common[kind] ?? [],
                    isCommand: kind == "command" || kind == ".executableTarget"))
        }
    }

    /// Quoted names, products by their name, and the short names of products.
    private static func names(_ list: String, _ aliases: [String: String]) -> Set<String> {
        let withoutPackages = list.replacing(/package: "[^"]*"/, with: "")
        let quoted = withoutPackages.matches(of: /"([A-Za-z0-9-]+)"/).map { String($0.1) }
        let short = withoutPackages.matches(of: /[a-zA-Z]+/).compactMap { aliases[String($0.output)] }
        return Set(quoted + short)
    }

    /// From a call's name to the parenthesis that closes it.
    private static func parentheses(_ text: Substring) -> String {
        var depth = 0
        for index in text.indices {
            if text[index] == "(" { depth += 1 }
            if text[index] == ")" {
                depth -= 1
                if depth == 0 { return String(text[...index]) }
            }
        }
        return String(text)
    }
}
