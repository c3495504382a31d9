import CommandKit
import Foundation
import Scenarios

/// Scenarios of a folder, and the page that tells of them.
public enum ScenarioCatalogue {
    /// Files as named, and those of folders, by name.
    public static func files(_ paths: [String]) throws -> [String] {
        var files: [String] = []
        for path in paths {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
                files.append(path)
                continue
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: path).filter {
                $0.hasSuffix(".toml") && !$0.hasPrefix(".")
            }.sorted()
            guard !names.isEmpty else {
                throw CommandFailure(
                    .badInput, "there is no scenario in \(path)",
                    advice: "A scenario is a file whose name ends in .toml.")
            }
            files += names.map { path.hasSuffix("/") ? path + $0 : "\(path)/\($0)" }
        }
        return files
    }

    /// A section for each, as Markdown: its title, its story, its file.
    public static func page(_ files: [(name: String, scenario: Scenario)]) -> String {
        files.map {
            """
            ## \($0.scenario.title)\n\n\($0.scenario.story)\n\n[`\($0.name)`](\($0.name)), \
            \($0.scenario.steps.count) steps.
            """
        }.joined(separator: "\n\n")
    }
}
