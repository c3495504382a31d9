import Foundation
import Testing

/// README and the tour say nothing that is not there, also between their blocks.
@Suite("What README and the tour name")
struct ReadmePageTests {
    /// Who runs or compares each kind: `ReadmeTests`; `hardware/machine/tests`, which reads README alone;
    /// `package_tests.py`.
    private static let kinds: [String: Set<String>] = [
        "README.md": ["sh", "sh bench", "sh machine", "sh package", "text"],
        "hardware/tour.md": ["sh", "sh bench", "text", "console", "conf"],
    ]

    @Test("every block, verb and name is known", arguments: kinds.keys.sorted())
    func pages(path: String) throws {
        let page = ReadmePage(try String(contentsOf: Repository.root.appending(path: path), encoding: .utf8))
        #expect(page.strayFences(known: Self.kinds[path] ?? []) == [])
        let verbs = try ReadmePage.verbs(root: Repository.root)
        #expect(verbs.count >= 6 && verbs.values.allSatisfy { !$0.isEmpty })
        #expect(page.unknownVerbs(verbs) == [])
        guard path == "README.md" else { return }
        let files = try Repository.files(in: ["Sources", "Tests", "hardware"]).map {
            ($0.path as NSString).lastPathComponent
        }
        #expect(
            page.unknownNames(
                files: Set(files), targets: Set(try House(root: Repository.root).manifest.targets.map(\.name))) == [])
        #expect(page.prose.contains("| to change | look at | then run |"))
    }

    @Test("what a page says wrong is found out")
    func wrongPage() {
        let page = ReadmePage(
            """
            ```bash
            waterh-x poll
            ```
            Say `waterh-gateway docter`, `waterh-gateway poll`, `waterh-gateway --version`, `waterh-none poll` or \
            `hardware/bench simulation SEEDS`.

            | to change | look at | then run |
            |---|---|---|
            | a | `Store/A.swift`, `Repairz.swift`, `Repair.swift`, `Store` | `hardware/bench test` |
            | b | `dashbored.c` | `hardware/bench test` |

            ```sh
            ```
            """)
        #expect(page.strayFences(known: ["sh"]) == ["line 1: a block of the kind \"bash\""])
        #expect(
            page.unknownVerbs(["waterh-gateway": ["poll"], "hardware/bench": ["test"]]) == [
                "waterh-gateway docter", "waterh-none poll", "hardware/bench simulation",
            ])
        #expect(page.unknownNames(files: ["Repair.swift"], targets: ["Store"]) == ["Repairz.swift", "dashbored.c"])
    }
}
