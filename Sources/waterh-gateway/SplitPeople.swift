import ArgumentParser
import CommandSupport
import Foundation
import Store

/// Splits a configuration of 0.9 with several people. The Debian package runs this on an upgrade.
struct SplitPeople: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "split-people", abstract: "Write one configuration per person from a list of people",
        discussion: "Prints the instance name of each person's service. Existing files are not changed.",
        shouldDisplay: false)

    @Option(help: ArgumentHelp("Configuration that lists people", valueName: "file"), completion: .file())
    var config: String

    func run() throws {
        let path = URL(fileURLWithPath: config).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let text = try? String(contentsOfFile: path, encoding: .utf8)
        else {
            throw CommandFailure(.badInput, "cannot read the configuration \(config)")
        }
        let owner: Set<FileAttributeKey> = [.ownerAccountID, .groupOwnerAccountID, .posixPermissions]
        for part in try SplitConfiguration(text: text, name: config)?.parts ?? [] {
            if !FileManager.default.fileExists(atPath: part.path) {
                // The file gets its name last, so that an interrupted run leaves none that the service cannot read.
                let temporary = part.path + ".new"
                let file = try OutputFile(temporary)
                try file.write(Array(part.text.utf8))
                try file.commit()
                do {
                    try FileManager.default.setAttributes(
                        attributes.filter { owner.contains($0.key) }, ofItemAtPath: temporary)
                    try FileManager.default.moveItem(atPath: temporary, toPath: part.path)
                } catch {
                    throw CommandFailure(
                        .failed, "cannot write the configuration \(part.path): \(FileErrorText.text(error))")
                }
            }
            TextOutput.standard.line(part.name)
        }
    }
}
