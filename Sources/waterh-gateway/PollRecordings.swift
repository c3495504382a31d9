import Foundation
import Store
import TrackerCore

/// The files of failed polls next to a store: a capture (`.btsnoop`) and a trace (`.txt`) of each poll.
struct PollRecordings {
    /// The prefix of the line with the bottle's advertised name.
    static let nameMark = "name: "

    private let store: String
    private let folder: String

    /// Returns `nil` for a store in memory.
    init?(store: String) {
        guard store.hasPrefix("/") else { return nil }
        self.store = store
        folder = FailedPollFiles.folder(beside: store)
    }

    /// Stores the files of a poll, and deletes the oldest ones above the limit.
    func keep(_ trace: String, at time: Instant, _ write: (String) throws -> Void) throws {
        let files = FileManager.default
        if !files.fileExists(atPath: folder) {
            try files.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        let name = folder + "/" + time.description.filter { $0.isNumber || $0 == "T" }
        do {
            try write(name + ".btsnoop")
            try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: name + ".btsnoop")
            guard
                files.createFile(
                    atPath: name + ".txt", contents: Data((trace + "\n").utf8), attributes: [.posixPermissions: 0o600])
            else {
                throw CocoaError(.fileWriteUnknown)
            }
        } catch {
            // A capture without its trace is useless.
            for ending in [".btsnoop", ".txt"] { try? files.removeItem(atPath: name + ending) }
            throw error
        }
        // Sort by modification time, because the time in the name can be wrong. Keep files with other names.
        let recordings = try files.contentsOfDirectory(atPath: folder).filter {
            FailedPollFiles.isOurs($0) && $0.hasSuffix(".btsnoop") && folder + "/" + $0 != name + ".btsnoop"
        }
        let written = recordings.map { file -> (time: Date, name: String) in
            (
                (try? files.attributesOfItem(atPath: folder + "/" + file)[.modificationDate] as? Date) ?? .distantPast,
                file
            )
        }
        for (_, old) in written.sorted(by: <).dropLast(FailedPollFiles.limit - 1) {
            try files.removeItem(atPath: folder + "/" + old)
            try? files.removeItem(atPath: folder + "/" + old.dropLast(".btsnoop".count) + ".txt")
        }
    }

    /// The traces, oldest first, with the names of their captures.
    var traces: [(capture: String, trace: String)] {
        FailedPollFiles.all(beside: store).reversed().map {
            ("\($0.id).btsnoop", $0.trace.joined(separator: "\n") + "\n")
        }
    }

    /// The advertised names in the traces, for redaction.
    static func names(_ stores: [String]) -> [String] {
        let traces = stores.flatMap { PollRecordings(store: $0)?.traces ?? [] }
        let lines: [Substring] = traces.flatMap { $0.trace.split(whereSeparator: \.isNewline) }
        return lines.filter { $0.hasPrefix(nameMark) }.map { String($0.dropFirst(nameMark.count)) }
    }

    static func traces(_ stores: [String]) -> String {
        let parts = stores.enumerated().flatMap { number, store in
            (PollRecordings(store: store)?.traces ?? []).map { "store \(number + 1), \($0.capture)\n\($0.trace)" }
        }
        return parts.isEmpty ? "No failed polls are stored." : parts.joined(separator: "\n")
    }
}
