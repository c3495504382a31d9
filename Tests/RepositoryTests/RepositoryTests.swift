import Foundation
import Testing

/// Rules for the source tree that neither the compiler nor `swift format lint` checks. `hardware/size --check` counts
/// lines, declarations and banned words.
@Suite struct RepositoryTests {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Targets from the bottom up. A target imports targets of its own layer and of the layers below.
    static let layers: [(name: String, targets: [String])] = [
        (
            "C modules",
            [
                "CArchive", "CCrypto", "CCurl", "CDashboard", "CDBus", "CLibPQ", "CLibXML2", "CLinux", "CMosquitto",
                "CQREncode", "CReport",
            ]
        ),
        ("values", ["Bluetooth", "BottleProtocol", "Captures", "Emulator", "TrackerCore", "Utilities"]),
        ("decisions", ["Gateway", "Replay"]),
        ("input and output", ["BlueZ", "DBus", "ESPHome", "Store"]),
        ("application API", ["TrackerService"]),
        ("interfaces", ["CommandSupport", "HomeAssistant", "Notifications", "PostgreSQL", "WebServer"]),
        ("programs", ["Benchmarks", "waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"]),
    ]

    static let layerOfTarget = Dictionary(
        uniqueKeysWithValues: layers.enumerated().flatMap { level, layer in layer.targets.map { ($0, level) } })

    /// Targets that take time, zone and randomness as parameters.
    static let pureTargets = ["BottleProtocol", "Captures", "TrackerCore"]

    struct Source {
        /// Relative to the root.
        var path: String
        var text: String
        var target: String { String(path.split(separator: "/")[1]) }
        var name: String { URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent }
    }

    static let sources: [Source] = {
        let folder = root.appending(path: "Sources")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }.compactMap { url in
            (try? String(contentsOf: url, encoding: .utf8)).map {
                Source(path: String(url.path.dropFirst(root.path.count + 1)), text: $0)
            }
        }
    }()

    @Test func `every target belongs to one layer`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path)
        #expect(Set(folders) == Set(Self.layerOfTarget.keys))
    }

    @Test func `a target imports only its own layer and the layers below`() throws {
        #expect(!Self.sources.isEmpty)
        for source in Self.sources {
            let level = try #require(Self.layerOfTarget[source.target], "\(source.path)")
            for match in source.text.matches(of: /(?m)^(?:@\w+ )*(?:\w+ )?import (?:\w+ )?(\w+)/) {
                guard let imported = Self.layerOfTarget[String(match.1)] else { continue }
                #expect(imported <= level, "\(source.path) imports \(match.1) from a higher layer")
            }
        }
    }

    @Test func `no target re-exports what it imports`() {
        for source in Self.sources { #expect(!source.text.contains("@_exported"), "\(source.path)") }
    }

    @Test(arguments: pureTargets) func `a pure target reads no clock and no random number generator`(_ target: String) {
        let pattern =
            /\b(?:Date\(\)|Date\.now|(?:Continuous|Suspending)Clock\(|SystemRandomNumberGenerator|\.random\(in)/
        for source in Self.sources where source.target == target {
            for line in source.text.split(separator: "\n") where !line.contains("using:") {
                #expect(line.firstMatch(of: pattern) == nil, "\(source.path): \(line)")
            }
        }
    }

    @Test func `a file's name shares a word with a declaration in it`() {
        let declaration =
            /\b(?:struct|class|enum|actor|protocol|extension|func|let) (?:\w+\.)*(\w+(?:: Expressible\w+)?)/
        for source in Self.sources where source.name != "main" {
            let words = source.name.matches(of: /[A-Z]+[a-z]*/).map { $0.output.lowercased().prefix(4) }
            let names = source.text.matches(of: declaration).map { $0.1.lowercased() }
            let shared = names.contains { name in words.contains { name.contains($0) } }
            #expect(shared, "\(source.path): one file holds one subject and is named after it")
        }
    }

    @Test func `a link in a Markdown page leads to a file`() throws {
        let paths = FileManager.default.enumerator(atPath: Self.root.path)?.compactMap { $0 as? String } ?? []
        let pages = paths.filter { $0.hasSuffix(".md") && !$0.hasPrefix(".") && !$0.contains("/.") }
        #expect(pages.contains("README.md"))
        for page in pages {
            let url = Self.root.appending(path: page)
            let text = try String(contentsOf: url, encoding: .utf8)
            for match in text.matches(of: /\]\(([^)#:\s]+)(?:#[^)]*)?\)/) {
                let file = url.deletingLastPathComponent().appending(path: String(match.1)).standardizedFileURL
                #expect(FileManager.default.fileExists(atPath: file.path), "\(page): \(match.1)")
            }
        }
    }
}
