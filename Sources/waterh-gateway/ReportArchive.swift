import CommandSupport
import Foundation
import Store

/// A compressed archive of texts, made by tar.
enum ReportArchive {
    /// Writes texts to an archive, one file each.
    /// - Parameter excluding: the input files of the report, which must not be replaced.
    /// - Throws: `CommandFailure`. Then no archive is written.
    static func write(_ parts: [(name: String, text: String)], to path: String, excluding: [String]) async throws {
        guard let tar = ChildProcess("tar") else {
            throw CommandFailure(.failed, "tar is not installed", advice: "Install it: apt-get install tar gzip")
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("waterh-report-\(UUID().uuidString)")
        let inner = folder.appendingPathComponent("waterh-report")
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            try FileManager.default.createDirectory(
                at: inner, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for (name, text) in parts { try Data((text + "\n").utf8).write(to: inner.appendingPathComponent(name)) }
        } catch {
            throw CommandFailure(
                .failed, "creating the report failed: \(FileErrorText.text(error))",
                advice: "Set TMPDIR to a writable directory.")
        }
        // Write to a temporary file first, because a gzip header contains the file name.
        let packed = folder.appendingPathComponent("packed").path
        let result: ChildProcess.Result
        do {
            result = try await tar.run([
                "--create", "--gzip", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner", "--file", packed,
                "--directory", folder.path, "waterh-report",
            ])
        } catch {
            throw CommandFailure(.failed, "tar failed: \(error.sentence)", advice: error.advice)
        }
        guard result.exitCode == 0, let bytes = try? Data(contentsOf: URL(fileURLWithPath: packed)) else {
            throw CommandFailure(.failed, "tar failed: \(result.output)", advice: "Install gzip: apt-get install gzip")
        }
        let file = try OutputFile(path, kind: .archive, excluding: excluding)
        try file.write(Array(bytes))
        try file.commit()
    }
}
