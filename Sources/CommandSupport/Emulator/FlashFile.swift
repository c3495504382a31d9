package import Emulator
import Foundation
import Store

/// The emulated bottle's flash in a JSON file. `save` replaces and synchronises the file atomically.
package final class FlashFile: Sendable {
    private struct Content: Codable {
        /// The version of the format; a newer one is rejected.
        var version = 1
        var flash: BottleFlash
    }

    package let path: String
    private let lock: ProcessLock

    /// Locks the file for this process, and creates its directory. A symbolic link is followed.
    package init(path: String) throws(CommandFailure) {
        var status = stat()
        let exists = stat(path, &status) == 0
        guard !exists || status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(.failed, "not a regular file: \(path)")
        }
        let target = exists ? realpath(path, nil) : nil
        defer { free(target) }
        let path = target.map { String(cString: $0) } ?? path
        self.path = path
        // An invalid file gets no lock file.
        _ = try Self.flash(at: path)
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(.failed, "cannot create \(directory.path): \(FileErrorText.text(error))")
        }
        do {
            lock = try ProcessLock(path + ".lock")
        } catch {
            throw CommandFailure(.failed, "cannot open \(path).lock: \(FileErrorText.text(error))")
        }
        guard lock.isOurs else { throw CommandFailure(.failed, "another emulator uses \(path)") }
    }

    package func load() throws(CommandFailure) -> BottleFlash? { try Self.flash(at: path) }

    private static func flash(at path: String) throws(CommandFailure) -> BottleFlash? {
        guard access(path, F_OK) == 0 else { return nil }
        let content: Content
        do {
            content = try JSONDecoder().decode(Content.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw CommandFailure(
                .badInput, "not a flash file of an emulator: \(path). Move it away, or name another file")
        }
        guard content.version == 1 else {
            throw CommandFailure(
                .badInput, "unsupported version \(content.version) of \(path): this emulator supports version 1")
        }
        return content.flash
    }

    package func save(_ flash: BottleFlash) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let file = try OutputFile(path)
        try file.write(Array(try encoder.encode(Content(flash: flash))))
        try file.commit()
    }
}
