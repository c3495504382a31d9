import Foundation

/// The tests that the tree has, by the names under which the law's acceptance list names them.
struct TestNames {
    /// `Suite/test`, `Class.test_name`, `group.scenario`.
    private(set) var names: Set<String> = []

    static func ofThisRepository() throws -> TestNames {
        var tests = TestNames()
        for file in try Repository.files(in: ["Tests", "hardware/machine/suite"]) {
            let module = String(file.path.split(separator: "/").last?.prefix { $0 != "." } ?? "")
            if file.path.hasSuffix(".swift") { tests.add(swift: file.text) }
            if file.path.hasPrefix("Tests/System/"), file.path.hasSuffix(".py") { tests.add(classesOf: file.text) }
            if file.path.hasPrefix("hardware/machine/suite/"), file.path.hasSuffix(".py") {
                tests.add(functionsOf: file.text, module)
            }
        }
        return tests
    }

    /// Functions with `@Test` in the types that begin at the margin; a name in backticks goes without them.
    mutating func add(swift text: String) {
        var suite: String?
        var isTest = false
        for line in text.split(separator: "\n") {
            if let type = line.prefixMatch(of: /(?:[^ ].*? )?(?:struct|class|actor|enum|extension) ([A-Za-z]+)/),
                !line.hasPrefix(" "), !line.hasPrefix("/")
            {
                (suite, isTest) = (String(type.1), false)
            }
            guard !line.trimmingCharacters(in: .whitespaces).hasPrefix("//") else { continue }
            if line.contains("@Test") { isTest = true }
            guard isTest, let suite, let name = line.firstMatch(of: /\bfunc (?:`([^`]+)`|([A-Za-z0-9_]+))/) else {
                continue
            }
            names.insert("\(suite)/\(name.1 ?? name.2 ?? "")")
            isTest = false
        }
    }

    /// `unittest`'s.
    mutating func add(classesOf text: String) {
        var current: Substring?
        for line in text.split(separator: "\n") {
            if let type = line.prefixMatch(of: /class ([A-Za-z]+)/) { current = type.1 }
            if let current, let test = line.prefixMatch(of: /[ ]{4}def (test_[A-Za-z0-9_]+)/) {
                names.insert("\(current).\(test.1)")
            }
        }
    }

    /// The bench machine's scenarios.
    mutating func add(functionsOf text: String, _ module: String) {
        for line in text.split(separator: "\n") {
            if let scenario = line.prefixMatch(of: /def ([a-z][a-z0-9_]+)\(/) {
                names.insert("\(module).\(scenario.1)")
            }
        }
    }
}
