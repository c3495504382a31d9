import ArgumentParser
import CommandSupport
import Foundation

/// Splits a configuration of 0.9 with several people. The Debian package runs this on an upgrade.
struct SplitPeople: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "split-people",
        abstract: "Write one configuration per person from a list of people",
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
        for part in try SplitConfiguration(text: text, name: config)?.parts ?? [] {
            try Self.write(part.text, to: part.path, attributes)
            TextOutput.standard.line(part.name)
        }
    }

    /// Writes a configuration. Does nothing if the file exists.
    /// - Parameter attributes: the owner, group and mode of the new file.
    private static func write(_ text: String, to path: String, _ attributes: [FileAttributeKey: Any]) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            guard errno == EEXIST else { throw failure(path) }
            return
        }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard let owner = attributes[.ownerAccountID] as? Int, let group = attributes[.groupOwnerAccountID] as? Int,
            let mode = attributes[.posixPermissions] as? Int,
            fchown(descriptor, uid_t(owner), gid_t(group)) == 0, fchmod(descriptor, mode_t(mode)) == 0,
            bytes.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == bytes.count,
            fsync(descriptor) == 0
        else {
            let failure = failure(path)
            unlink(path)
            throw failure
        }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.failed, "cannot write the configuration \(path): \(String(cString: strerror(errno)))")
    }
}
