import Foundation
import Testing

/// The house as it stands, and each rule broken on purpose in a tree of a few lines.
@Suite("Rules of the house")
struct HouseTests {
    private static let house = Result { try House(root: Repository.root) }

    @Test("every import is an arrow of the manifest, and no arrow is dead")
    func arrows() throws {
        let house = try Self.house.get()
        let broken = house.brokenArrows()
        #expect(broken == [])
        let files = house.sources.values.reduce(0) { $0 + $1.count }
        print(
            """
            house: \(house.manifest.targets.count) targets, \(files) files, \(HouseRules.namedBySubject.count) \
            named by subject, \(HouseRules.upwardArrows.count) upward arrows known
            """
        )
        #expect(house.manifest.targets.count > 25 && files > 400)
    }

    @Test("pure targets do without Foundation")
    func pureTargets() throws {
        // Outside of the macro, which prints no value of what may throw.
        let broken = try Self.house.get().imports(
            of: "Foundation", in: HouseRules.pure, allowed: HouseRules.withFoundation)
        #expect(broken == [])
    }

    @Test("pure targets take time, chance and waiting from who calls them")
    func parameters() throws {
        let broken = try Self.house.get().impure(in: HouseRules.pure, allowed: HouseRules.impure)
        #expect(broken == [])
    }

    @Test("waiting longer each time is counted in one place")
    func pauses() throws {
        let broken = try Self.house.get().doubledPauses(known: HouseRules.doublesByHand)
        #expect(broken == [])
    }

    @Test("a folder uses its own floor's folder and the floors below")
    func floors() throws {
        // Outside of the macro, which prints no value of what may throw.
        let broken = try Self.house.get().brokenFloors(HouseRules.floors, known: HouseRules.upwardArrows)
        #expect(broken == [])
    }

    @Test("what an extension adds and what stands at the top level is used from the floors above")
    func members() throws {
        let broken = try Self.house.get().brokenMembers(HouseRules.floors, known: HouseRules.upwardArrows)
        #expect(broken == [])
    }

    @Test("what a language reads by its signs is not looked for by Swift's characters, which a mark beside them hides")
    func signs() throws {
        let pattern = try Regex(#"\.replacing(OccurrencesOf)?\((of: )?"(&|<|>|\\"|'|\\n|\\r|#|%\{|\\\\)""#)
        let allowed = ["FleetConnection.swift"]  // libpq's own words.
        let folder = Repository.root.appending(path: "Sources")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        let broken = try files.filter { file in
            try !allowed.contains { file.hasSuffix($0) }
                && pattern.firstMatch(in: String(contentsOf: folder.appending(path: file), encoding: .utf8)) != nil
        }
        #expect(files.count > 300)
        #expect(broken == [], "Escaping.replacing looks for them by Unicode scalars")
        #expect(
            try pattern.firstMatch(in: #"text.replacing("<", with: "&lt;")"#) != nil
                && pattern.firstMatch(in: #"text.replacing("\"", with: "")"#) != nil)
    }

    @Test("no module hands on what it imports")
    func reexports() throws {
        let broken = try Self.house.get().reexports()
        #expect(broken == [])
    }

    @Test("a file is called like its type")
    func names() throws {
        // Outside of the macro, which prints no value of what may throw.
        let broken = try Self.house.get().misnamed(except: HouseRules.namedBySubject)
        #expect(broken == [])
    }

    @Test("a public type stands in a file of its name")
    func types() throws {
        let broken = try Self.house.get().moreTypes(known: HouseRules.publicTypes)
        #expect(broken == [])
    }

    @Test("what other targets see has words")
    func docWords() throws {
        let broken = try Self.house.get().wordless()
        #expect(broken == [])
    }

    /// The parser makes a name that is not said from the type's, for every command at every start, and asks the runtime
    /// at length how a type is described: five in a hundred of what a poll costs.
    @Test("every command says its name")
    func commandNames() throws {
        let files = try Repository.files(in: ["Sources"], root: Repository.root).filter {
            $0.path.hasPrefix("Sources/waterh-") && $0.path.hasSuffix(".swift")
        }
        let all = files.reduce(0) { $0 + $1.text.matches(of: /CommandConfiguration\(/).count }
        let nameless = files.filter { $0.text.firstMatch(of: /CommandConfiguration\((?!\s*commandName: ")/) != nil }
            .map(\.path)
        #expect(nameless == [] && all > 80)
    }

    /// Opening a store and following its lines is the tracker's own; all else has a name at the desk, for every
    /// surface.
    @Test("a command of the tracker asks the desk, and not the store behind it")
    func deskIsAsked() throws {
        let own: Set = ["DeskOpening.swift", "DrinkStream.swift", "Options.swift"]
        let files = try Repository.files(in: ["Sources/waterh-tracker"], root: Repository.root).filter {
            $0.path.hasSuffix(".swift")
        }
        let around = files.filter { file in
            !own.contains { file.path.hasSuffix("/" + $0) } && file.text.contains(/\.store\.[a-z]\w*\(/)
        }.map(\.path)
        #expect(around == [] && files.count > 20)
    }

    @Test("every folder with sources is a target's")
    func folders() throws {
        let broken = try Self.house.get().strayFolders(root: Repository.root, scripted: HouseRules.scripted)
        #expect(broken == [])
    }

    @Test("the pages of a library name only the commands that are listed")
    func pages() throws {
        let broken = try Self.house.get().pageWords(root: Repository.root, allowed: HouseRules.pageCommands)
        #expect(broken == [])
    }

    /// Who makes a list longer changes it here as well, and says why in the commit.
    @Test("the lists of exceptions are no longer than they were")
    func lists() {
        #expect(HouseRules.namedBySubject.count <= 38)
        #expect(HouseRules.withFoundation.count <= 1)
        #expect(HouseRules.impure.count <= 22)
        #expect(HouseRules.reached.count <= 17)
        #expect(HouseRules.commandLine.count <= 12)
        #expect(HouseRules.pageCommands.count <= 8)
        #expect(
            HouseRules.upwardArrows.isEmpty && HouseRules.speaksCommandLine.isEmpty && HouseRules.doublesByHand.isEmpty)
        #expect(HouseRules.publicTypes.count <= 92 && HouseRules.publicTypes.values.reduce(0, +) <= 206)
    }

    @Test("the words of a library name no flag and no command")
    func words() throws {
        // Outside of the macro, which prints no value of what may throw.
        let broken = try Self.house.get().commandWords(
            surfaces: HouseRules.commandLine, except: HouseRules.speaksCommandLine)
        #expect(broken == [])
    }

    @Test("the README's picture of the floors is the manifest's")
    func picture() throws {
        let readme = try String(contentsOf: Repository.root.appending(path: "README.md"), encoding: .utf8)
        let after = try #require(readme.components(separatedBy: "```text\ncommands ").last)
        let picture = try #require(("commands " + after).components(separatedBy: "\n```").first)
        let rows = picture.components(separatedBy: "\n").filter { $0.first?.isLetter == true }
        let targets = try Self.house.get().manifest.targets.filter {
            $0.folder.hasPrefix("Sources/") && $0.name != "Benchmarks"
        }
        let isC: (String) -> Bool = {
            $0.count > 1 && $0.first == "C" && $0.dropFirst().first?.isUppercase == true && $0 != "CDashboard"
        }
        let names = Set(targets.map(\.name)).filter { !isC($0) }
        var floor: [String: Int] = [:]
        for (number, row) in rows.reversed().enumerated() {
            // What a floor is about stands behind two blanks or more, in words.
            for word in row.split(separator: " ") where names.contains(String(word)) { floor[String(word)] = number }
        }
        #expect(Set(floor.keys) == names, "only in one of them: \(names.symmetricDifference(floor.keys).sorted())")
        for target in targets {
            for other in target.named.union(target.common) {
                guard let above = floor[target.name], let below = floor[other] else { continue }
                #expect(below <= above, "\(target.name) uses \(other), which stands above it")
            }
        }
    }

    @Test("what README's table says a target may not know, it does not")
    func mayNotKnow() throws {
        let readme = try String(contentsOf: Repository.root.appending(path: "README.md"), encoding: .utf8)
        let table = TargetTable(readme: readme)
        #expect(table.rows.count >= 30)
        let broken = try Self.house.get().knowTooMuch(
            table, meanings: HouseRules.ignorance, known: HouseRules.reached, withoutRow: HouseRules.withoutRow)
        #expect(broken == [])
    }

    @Test(
        "a target that knows too much is found out",
        arguments: [
            (
                [
                    "| `Ground` | stones | water, ours |", "| `House` | a house | air |",
                    "| `door`, `x-*` | a door | rules |",
                ], [:], ["the table has a row for x-*, and there is no such target"]
            ),
            (
                ["| `Grund` | stones | water, ours |", "| `House` | a house | air |", "| `do*` | a door | rules |"],
                [:], ["the table has a row for Grund, and there is no such target", "Ground has no row in the table"]
            ),
            (
                [
                    "| `Ground` | stones | water, ours, Glibc |", "| `House` | a house | air |",
                    "| `door` | a door | rules |",
                ], [:], ["Ground may not know \"Glibc\", and no rule says what that means"]
            ),
            (
                ["| `Ground` | stones | water, ours |", "| `House` | a house | air |", "| `door` | a door | rules |"],
                ["Sources/Ground/Stone.swift": "import Heavy\nstruct Stone {}"],
                ["Ground may not know water, and Stone.swift imports Heavy"]
            ),
            (
                ["| `Ground` | stones | water, ours |", "| `House` | a house | air |", "| `door` | a door | rules |"],
                ["Sources/Ground/Stone.swift": "import House\nstruct Stone { let bucket: Bucket }"],
                [
                    "Ground may not know water, and Stone.swift uses Bucket",
                    "Ground may not know ours, and Stone.swift imports House",
                ]
            ),
            (
                ["| `Ground` | stones | ours |", "| `House` | a house | water, air |", "| `door` | a door | rules |"],
                [:],
                [
                    "House may not know water, and Cellar/Wine.swift imports Heavy",
                    "House may not know water, and the manifest gives it Heavy",
                ]
            ),
            (
                ["| `Ground` | stones | ours |", "| `House` | a house | air |", "| `door` | a door | water, rules |"],
                [:], ["door may not know water, and reaches Heavy through House"]
            ),
            (
                ["| `Ground` | stones | ours, paper |", "| `House` | a house | air, water? |"], [:],
                [
                    "Ground may not know paper, and has a Swift file",
                    "House may not know \"water?\", and no rule says what that means", "door has no row in the table",
                ]
            ),
        ] as [([String], [String: String], [String])])
    func knowTooMuch(rows: [String], changes: [String: String], sentences: [String]) throws {
        let table = TargetTable(
            readme: "# House\n\n| target | subject | may not know |\n|---|---|---|\n" + rows.joined(separator: "\n")
                + "\n\nMore.")
        let said = try Self.tree(changes) { house, _ in
            house.knowTooMuch(
                table,
                meanings: [
                    "water": .of(modules: ["Heavy"], types: ["Bucket"]), "air": .of(modules: ["Air"]),
                    "ours": .ofOurTargets, "paper": .ofSwift, "rules": .notShown("read"),
                ])
        }
        #expect(said.filter { !$0.hasPrefix("nothing is said") } == sentences)
    }

    @Test("what is reached no more, and what nothing is said not to know any more, is one too many")
    func ignoranceOnlyShrinks() throws {
        let table = TargetTable(
            readme:
                """
                | target | subject | may not know |\n|---|---|---|\n| `Ground`, `House` | all | air |\n| `door` | \
                a door | water |\n
                """
        )
        let said = try Self.tree([:]) { house, _ in
            house.knowTooMuch(
                table, meanings: ["water": .of(modules: ["Heavy"]), "air": .of(modules: ["Air"]), "fire": .ofSwift],
                known: ["door reaches Heavy through House", "House reaches Air through Ground"])
        }
        #expect(
            said == [
                "nothing is said not to know \"fire\" any more: take it from the list",
                "House reaches Air through Ground no longer: take it from the list",
            ])
    }

    /// Two targets, of which one has two floors and knows the other.
    private static let right: [String: String] = [
        "Package.swift": """
        let heavy = Target.Dependency.product(name: "Heavy", package: "heavy.swift")
        func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
            .target(name: name, dependencies: dependencies, swiftSettings: strict)
        }
        func command(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
            .executableTarget(name: name, dependencies: dependencies + ["Kit"], swiftSettings: strict)
        }
        let package = Package(targets: [
            // Pure.
            target("Ground"),
            target("House", ["Ground", heavy]),
            command("door", ["House", .product(name: "Bell", package: "bells")]),
        ])
        """,
        "Sources/Ground/Stone.swift": "/// Hard.\npublic struct Stone {}\n",
        "Sources/House/Cellar/Wine.swift":
            "import Ground\nimport Heavy\n\nstruct Wine { let cork: Stone } // \"Roof\" is above: Roof\n",
        "Sources/House/Attic/Roof.swift": "import Foundation\nstruct Roof { let wine = [Wine]() }\n",
        "Sources/House/Attic/Roof+Tiles.swift": "extension Roof { var text: String { \"Wine\" } }\n",
        "Sources/door/Door.swift": "import Bell\nimport House\nimport Kit\n@main struct Door {}\n",
    ]

    private static let floors = ["House": [["Cellar"], ["Attic"]]]

    /// What all checks say of the small tree, after a change.
    private static func said(_ changes: [String: String]) throws -> [String] {
        try tree(changes) { house, root in
            house.brokenArrows() + house.imports(of: "Foundation", in: ["Ground"]) + house.reexports()
                + house.impure(in: ["Ground"]) + house.doubledPauses() + house.brokenFloors(floors)
                + house.brokenMembers(floors) + house.misnamed(except: [])
                + house.commandWords(surfaces: [], except: []) + house.moreTypes(known: [:]) + house.wordless()
                + (try house.strayFolders(root: root)) + (try house.pageWords(root: root, allowed: []))
        }
    }

    /// What a check says of the small tree, after a change.
    private static func tree(_ changes: [String: String], _ check: (House, URL) throws -> [String]) throws -> [String] {
        let root = FileManager.default.temporaryDirectory.appending(path: "house-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for (path, text) in right.merging(changes, uniquingKeysWith: { $1 }) where !text.isEmpty {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return try check(try House(root: root), root)
    }

    @Test(
        "each rule is found broken",
        arguments: [
            ([:], []),
            (
                ["Sources/Ground/Stone.swift": "import House\nstruct Stone {}"],
                ["Ground/Stone.swift imports House, which the manifest does not name"]
            ),
            (
                ["Sources/Ground/Stone.swift": "@testable import struct House.Wine\nstruct Stone {}"],
                ["Ground/Stone.swift imports House, which the manifest does not name"]
            ),
            (
                ["Sources/House/Cellar/Wine.swift": "import Ground\nstruct Wine {}"],
                ["House names Heavy in the manifest and imports it nowhere"]
            ),
            (
                ["Sources/door/Door.swift": "import House\nstruct Door {}"],
                ["door names Bell in the manifest and imports it nowhere"]
            ),
            (
                ["Sources/Ground/Stone.swift": "import FoundationEssentials\nstruct Stone {}"],
                ["Ground/Stone.swift imports Foundation"]
            ),
            (
                ["Sources/Ground/Stone.swift": "@_exported import Foundation\nstruct Stone {}"],
                ["Ground/Stone.swift imports Foundation", "Ground/Stone.swift hands on what it imports (@_exported)"]
            ),
            (
                ["Sources/Ground/Stone.swift": "@_spi(Cut) import Foundation\nstruct Stone {}"],
                ["Ground/Stone.swift imports Foundation"]
            ),
            (
                ["Sources/Ground/Stone.swift": "@_implementationOnly\nimport Foundation\nstruct Stone {}"],
                ["Ground/Stone.swift imports Foundation"]
            ),
            (
                ["Sources/Ground/Stone.swift": "#if os(Linux)\n    import Foundation\n#endif\nstruct Stone {}"],
                ["Ground/Stone.swift imports Foundation"]
            ),
            (
                ["Sources/Ground/Stone.swift": "import Testing; import Foundation\nstruct Stone {}"],
                ["Ground/Stone.swift imports Foundation"]
            ),
            (
                ["Sources/Ground/Stone.swift": "/* a /* b */ c */ import Foundation\nstruct Stone {}"],
                ["Ground/Stone.swift imports Foundation"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        "struct Stone {}\nlet odd = #\"a\"b\"#\nimport Foundation\nlet more = #\"c\"d\"#"
                ], ["Ground/Stone.swift imports Foundation"]
            ),
            (
                ["Sources/Ground/Stone.swift": "import func Foundation.exit\nstruct Stone {}"],
                ["Ground/Stone.swift imports Foundation"]
            ),
            (
                ["Sources/Ground/Stone.swift": "package import struct House.Wine // a\nstruct Stone {}"],
                ["Ground/Stone.swift imports House, which the manifest does not name"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone {\n  let odd = /\"[^{\"]*/\n}\nimport Foundation"],
                ["Ground/Stone.swift imports Foundation"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        """
                    struct Stone { let a = \"import Foundation\", b = Load.import, c = \"\"\"\n  import \
                    Foundation\n  \"\"\" }\n// import Foundation\n/* import Foundation */
                    """
                ], []
            ),
            (
                ["Sources/Ground/Stone.swift": "import Glibc\nstruct Stone { let at = time(nil) }"],
                ["Ground/Stone.swift uses Glibc, and takes it from nobody"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { let side = Int.random(in: 1...6) }"],
                ["Ground/Stone.swift uses random, and takes it from nobody"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { var any: Int? { [1, 2].shuffled().randomElement() } }"],
                [
                    "Ground/Stone.swift uses randomElement, and takes it from nobody",
                    "Ground/Stone.swift uses shuffled, and takes it from nobody",
                ]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        "struct Stone { func side(_ g: inout Dice) -> Int { Int.random(in: 1...(3 + 3), using: &g) } }"
                ], []
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { let text = \"at \\(ContinuousClock.now)\" }"],
                ["Ground/Stone.swift uses ContinuousClock, and takes it from nobody"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        "struct Stone { let a = Date(), b: Date = .init(timeIntervalSince1970: 0) }"
                ], ["Ground/Stone.swift uses Date, and takes it from nobody"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        "struct Stone { func wait() async throws { try await Task.sleep(for: .seconds(1)) } }"
                ], ["Ground/Stone.swift uses sleep, and takes it from nobody"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { var dice = SystemRandomNumberGenerator() }"],
                ["Ground/Stone.swift uses SystemRandomNumberGenerator, and takes it from nobody"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { func wait() { pause = min(pause * 2, Self.longest) } }"],
                ["Ground/Stone.swift doubles a pause by hand: see Pauses/Backoff.swift"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { func wait() { pause = min(64, pause * 2) } }"],
                ["Ground/Stone.swift doubles a pause by hand: see Pauses/Backoff.swift"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { func wait() { nextPause *= 2 } }"],
                ["Ground/Stone.swift doubles a pause by hand: see Pauses/Backoff.swift"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { let seed = \"x\".hashValue }"],
                ["Ground/Stone.swift uses hashValue, and takes it from nobody"]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { let clock: any Clock = .continuous }"],
                ["Ground/Stone.swift uses continuous, and takes it from nobody"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        """
                    struct Stone { func odd() -> Regex<Substring> { return /\"\"\"/ } }\nimport House\nlet \
                    text = \"\"\"\n    \"\"\"
                    """
                ], ["Ground/Stone.swift imports House, which the manifest does not name"]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "--" + key }"#],
                [#"Ground/Stone.swift:1 says "--…""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "service waterh restart" }"#],
                [#"Ground/Stone.swift:1 says "service waterh restart""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "Use -v for more" }"#],
                [#"Ground/Stone.swift:1 says "Use -v""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "btmgmt power on, or dbus-send" }"#],
                [#"Ground/Stone.swift:1 says "btmgmt""#]
            ),
            (
                ["Sources/House/page.json": "{\"a\": \"systemctl restart\"}"],
                ["House/page.json: systemctl is said to whoever has the page"]
            ),
            (["Sources/Ground/Stone.swift": "@MainActor struct Stone {}"], []),
            (
                ["Sources/Ground/Stone.swift": "#if DEBUG\n    /// Hard.\n    @frozen public struct Stone {}\n#endif"],
                []
            ),
            (
                ["Sources/House/Cellar/Wine.swift": "import Ground\nimport Heavy\nstruct Wine { let above: Roof? }"],
                ["House: Cellar -> Attic: Cellar/Wine.swift uses Roof"]
            ),
            (["Sources/House/Garden/Tree.swift": "struct Tree {}"], ["House/Garden is on no floor"]),
            (
                ["Sources/Ground/Clay/Brick.swift": "struct Brick {}"],
                ["Ground has folders, and no floors are listed for it"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        "struct Stone { let text = \"Try \\(1 + 1) times, or say --really\" } // waterh-gateway"
                ], ["Ground/Stone.swift:1 says \"--really\""]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone { let text = \"Run waterh-gateway poll\" }"],
                ["Ground/Stone.swift:1 says \"waterh-gateway\""]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "say --\(key)" }"#],
                [#"Ground/Stone.swift:1 says "--…""#]
            ),
            (
                ["Sources/Ground/Stone.swift": "struct Stone {\n  let text = \"-\"\n    + \"-link\"\n}"],
                [#"Ground/Stone.swift:2 says "--link""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "\u{2D}-link" }"#],
                [#"Ground/Stone.swift:1 says "--link""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "give -s PATH" }"#],
                [#"Ground/Stone.swift:1 says "-s PATH""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "<--link>" }"#],
                [#"Ground/Stone.swift:1 says "--link""#]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        #"struct Stone { let text = "See \(link("http://x")) and say --link" }"#
                ], [#"Ground/Stone.swift:1 says "--link""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "Run waterh-fleet serve" }"#],
                [#"Ground/Stone.swift:1 says "waterh-fleet""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "Run waterh-\(verb) now" }"#],
                [#"Ground/Stone.swift:1 says "waterh-… n""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "look at journalctl" }"#],
                [#"Ground/Stone.swift:1 says "journalctl""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "apt-get install it" }"#],
                [#"Ground/Stone.swift:1 says "apt-get""#]
            ),
            (
                ["Sources/Ground/Stone.swift": #"struct Stone { let text = "with hardware/bench test" }"#],
                [#"Ground/Stone.swift:1 says "hardware/bench""#]
            ),
            (["Sources/Ground/Stone.swift": "struct Stone { let text = \"<!-- systemd, -- --\" }"], []),
            (["Sources/door/Door.swift": "import Bell\nimport House\nstruct Door { let text = \"Say --open\" }"], []),
            (["Sources/Ground/Stones.swift": "struct Pebble {}"], ["Ground/Stones.swift declares no Stones"]),
            (
                ["Sources/Ground/Pebble.swift": "/// Small.\npublic typealias Pebble = Stone"],
                ["Ground/Pebble.swift declares no Pebble"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        "/// Hard.\npublic struct Stone {}\n/// Fine.\n@frozen public enum Grain {}\nstruct Sand {}"
                ], ["Ground/Stone.swift has public types beside its own: Grain"]
            ),
            (
                ["Sources/House/Attic/Roof+Tiles.swift": "extension Roof {}\n/// Red.\npublic struct Tile {}"],
                ["House/Attic/Roof+Tiles.swift has public types beside its own: Tile"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        "public struct Stone {\n    public func roll() {}\n    func rest() {}\n}"
                ], ["Ground/Stone.swift:1 says no word of Stone", "Ground/Stone.swift:2 says no word of roll"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        """
                    /// Hard.\n@frozen\npublic final class Stone {\n    @inline(__always)\n    public static \
                    func roll() {}\n}
                    """
                ], ["Ground/Stone.swift:5 says no word of roll"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        """
                    /// Hard.\npublic struct Stone {\n    /// Kilograms.\n    public let weight: Int\n    \
                    public var size: Int { 1 }\n    public init() {}\n}
                    """
                ], ["Ground/Stone.swift:5 says no word of size", "Ground/Stone.swift:6 says no word of init"]
            ),
            (
                ["Sources/Ground/Stone.swift": "/// Hard.\n\npublic struct Stone {}"],
                ["Ground/Stone.swift:3 says no word of Stone"]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        """
                    /// Hard.\npublic struct Stone {\n    public init(a: Int) { self.a = a }\n    public \
                    init(\n        a: Int, b: Int = 1\n    ) {\n        self.a = a\n        (self.b, self.c) = \
                    (b, a)\n    }\n}
                    """
                ], []
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        """
                    /// Hard.\npublic struct Stone {\n    public init(a: Int) { self.a = a + 1 }\n    public \
                    init?(b: Int) {\n        a = b\n        roll()\n    }\n    public subscript(a: Int) -> Int \
                    { a }\n}
                    """
                ],
                [
                    "Ground/Stone.swift:3 says no word of init", "Ground/Stone.swift:4 says no word of init?",
                    "Ground/Stone.swift:8 says no word of subscript",
                ]
            ),
            (
                [
                    "Sources/Ground/Stone.swift":
                        """
                    /// Hard.\npublic protocol Stone {\n    /// Downhill.\n    func roll()\n    func rest()\n\
                    }\nstruct Round {\n    public func roll() {}\n    public func rest() {}\n    public static \
                    func == (left: Round, right: Round) -> Bool { true }\n    public func hash(into hasher: \
                    inout Hasher) {}\n}
                    """
                ], ["Ground/Stone.swift:9 says no word of rest"]
            ),
            (
                ["Sources/Pirate/Pirate.swift": "struct Pirate {}"],
                ["Sources/Pirate has sources, and no target of the manifest compiles them"]
            ),
            (
                ["Sources/House/page.js": "// waterh-fleet\nsay('waterh-gateway pair')"],
                ["House/page.js: waterh-gateway pair is said to whoever has the page"]
            ),
            (
                ["Sources/House/page.html": "<p>systemctl restart</p>"],
                ["House/page.html: systemctl is said to whoever has the page"]
            ),
            (
                [
                    "Sources/House/Attic/Roof+Tiles.swift": "extension Wine { struct Bin {} }",
                    "Sources/House/Attic/Wine.swift": "",
                    "Sources/House/Cellar/Wine.swift": "import Ground\nimport Heavy\nstruct Wine { let bin: Wine.Bin }",
                ],
                ["House: Cellar -> Attic: Cellar/Wine.swift uses Bin", "House/Attic/Roof+Tiles.swift declares no Roof"]
            ),
            (
                [
                    "Sources/House/Attic/Roof+Tiles.swift": "extension Roof {}\nfunc tiled() {}",
                    "Sources/House/Cellar/Wine.swift":
                        "import Ground\nimport Heavy\nstruct Wine { func pour() { tiled(); self.roofed() } }",
                ],
                ["House: Cellar -> Attic: Cellar/Wine.swift calls tiled"]
            ),
            (
                [
                    "Sources/House/Attic/Wine+Tiles.swift":
                        "extension Wine {\n    static func tiled() {}\n    private func hidden() {}\n}",
                    "Sources/House/Cellar/Wine.swift":
                        "import Ground\nimport Heavy\nstruct Wine { func pour() { Self.tiled(); hidden() } }",
                ],
                ["House: Cellar -> Attic: Cellar/Wine.swift uses .tiled"]
            ),
            (
                [
                    "Sources/House/Attic/Wine+Tiles.swift": "extension Wine {\n    var shape: Int { 1 }\n}",
                    "Sources/House/Cellar/Wine.swift":
                        "import Ground\nimport Heavy\nstruct Wine { var cask: Int { shape } }",
                ],
                ["House: Cellar -> Attic: Cellar/Wine.swift uses .shape"]
            ),
            (
                [
                    "Sources/House/Attic/Wine+Tiles.swift": "extension Wine {\n    typealias Tiles = [Int]\n}",
                    "Sources/House/Cellar/Wine.swift": "import Ground\nimport Heavy\nstruct Wine { let cask: Tiles }",
                ],
                ["House: Cellar -> Attic: Cellar/Wine.swift uses .Tiles"]
            ),
            (
                [
                    "Sources/House/Attic/Roof+Tiles.swift": "extension Roof {}\nlet slope = 30",
                    "Sources/House/Cellar/Wine.swift":
                        "import Ground\nimport Heavy\nstruct Wine { func pour() -> Int { slope } }",
                ],
                ["House: Cellar -> Attic: Cellar/Wine.swift uses slope"]
            ),
            (
                [
                    "Sources/House/Attic/Roof+Tiles.swift":
                        "extension Roof {}\nfunc tiled(_ a: () -> Int) {}\nfunc round(_ a: Int) -> Int { a }",
                    "Sources/House/Cellar/Wine.swift":
                        "import Ground\nimport Heavy\nstruct Wine { func pour() { tiled { 1 }; [1].map(round) } }",
                ],
                [
                    "House: Cellar -> Attic: Cellar/Wine.swift uses round",
                    "House: Cellar -> Attic: Cellar/Wine.swift uses tiled",
                ]
            ),
            // What is called so elsewhere, too, is not known to be that one.
            (
                [
                    "Sources/House/Attic/Wine+Tiles.swift":
                        """
                    extension Wine {\n    static func tiled() {}\n    var shape: Int { 1 }\n    var cork: Int \
                    { 1 }\n}
                    """,
                    "Sources/House/Cellar/Wine.swift":
                        """
                    import Ground\nimport Heavy\nenum Drink { case tea, tiled }\nstruct Wine { func \
                    pour(shape: Int) -> Int { [1].map { cork in cork + shape }.count } }
                    """,
                ], []
            ),
            (
                ["Sources/House/Attic/Wine+Tiles.swift": "extension Roof {}"],
                ["House/Attic/Wine+Tiles.swift declares no Wine"]
            ),
        ] as [([String: String], [String])])
    func brokenRules(changes: [String: String], sentences: [String]) throws {
        let said = try Self.said(changes)
        #expect(said == sentences)
    }

    /// However an import is spelled, it is one.
    @Test(
        "an import is found in each of its spellings",
        arguments: [
            "@testable import House",
            "@preconcurrency public import House",
            "public import class House.Wine",
            "internal import House",
            "fileprivate import enum House.Wine",
            "@_exported import House",
            "@_exported @testable public import struct House.Wine",
            "@_spiOnly\n@_spi(Cut)\nimport House",
            "#if canImport(House)\n    import House\n#endif",
            "#if !canImport(House)\n#else\n@testable import House\n#endif",
            "#if canImport(House) && os(Linux)\npublic import func House.wine\n#endif",
            "import let House.wine",
            "import protocol House.Drink",
            "import House.Cellar.Wine",
            "import `House`",
            "import\n    House",
            "import struct /* of ours */ House.Wine",
            "import Foundation.NSDate; import House",
        ])
    func spellings(line: String) throws {
        for text in [
            "\(line)\npublic struct Stone {}\n", "public struct Stone {}\n\(line)\n",
            "#if DEBUG\npublic struct Stone {\n#else\npublic struct Stone: Hashable {\n#endif\n}\n\(line)\n",
        ] {
            let said = try Self.tree(["Sources/Ground/Stone.swift": text]) { house, _ in house.brokenArrows() }
            #expect(said == ["Ground/Stone.swift imports House, which the manifest does not name"], "\(text)")
        }
        // The only import of what the manifest names, spelled so: the arrow is not dead.
        let kept = try Self.tree([
            "Sources/House/Cellar/Wine.swift": line.replacing("House", with: "Ground")
                + "\nstruct Wine { let cork: Stone }", "Sources/House/Attic/Tap.swift": "import Heavy\nstruct Tap {}",
        ]) { house, _ in house.brokenArrows() }
        #expect(kept == [])
    }

    /// A dependency is alive where it is imported, and nowhere else.
    @Test(
        "what only looks like an import keeps no arrow alive",
        arguments: [
            "// import Heavy", "/* import Heavy */", "let a = \"import Heavy\"",
            "let a = \"\"\"\n    import Heavy\n    \"\"\"", "#if canImport(Heavy)\n#endif",
            "let a = Load.import(Heavy.self)",
            "func load(import Heavy: Int, _ other: Int) {}",
            "func load(\n    import heavy: Int,\n    import Heavy: Int\n) {}", "enum Load { case `import`, Heavy }",
        ])
    func lookalikes(text: String) throws {
        let said = try Self.tree(["Sources/House/Cellar/Wine.swift": "import Ground\nstruct Wine {}\n\(text)\n"]) {
            house, _ in house.brokenArrows()
        }
        #expect(said == ["House names Heavy in the manifest and imports it nowhere"])
    }

    @Test("an exception that is not needed any more is one too many")
    func listsOnlyShrink() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "house-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for (path, text) in Self.right {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        let house = try House(root: root)
        #expect(
            house.misnamed(except: ["Ground/Stone.swift"]) == [
                "Ground/Stone.swift is gone or named right: take it from the list"
            ])
        #expect(
            house.brokenFloors(Self.floors, known: ["House: Cellar -> Attic"]) == [
                "House: Cellar -> Attic is no longer there: take it from the list"
            ])
        #expect(
            house.moreTypes(known: ["Ground/Stone.swift": 1, "Ground/Gone.swift": 2]) == [
                "Ground/Stone.swift has 0 public types beside its own: put 0 in the place of 1 in the list",
                "Ground/Gone.swift is gone: take it from the list",
            ])
        let said = try house.pageWords(root: root, allowed: ["House/page.js: systemctl"])
        #expect(said == ["House/page.js: systemctl is said no longer: take it from the list"])
        #expect(
            house.commandWords(surfaces: [], except: ["Ground/Stone.swift"]) == [
                "Ground/Stone.swift names no command any more: take it from the list"
            ])
        #expect(
            house.imports(of: "Foundation", in: ["Ground"], allowed: ["Ground/Stone.swift"]) == [
                "Ground/Stone.swift no longer imports Foundation: take it from the list"
            ])
    }
}
