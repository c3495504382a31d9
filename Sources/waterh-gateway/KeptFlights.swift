import Foundation
import Store
import TrackerCore

/// The polls that went wrong, kept beside the store: of each a capture (`.btsnoop`) and its story (`.txt`), for the
/// store's owner alone.
struct KeptFlights {
    /// How a story's line begins that has the bottle's name as it was on the air.
    static let nameMark = "name: "

    private let store: String
    private let folder: String

    /// `nil` for a store that is no file.
    init?(store: String) {
        guard store.hasPrefix("/") else { return nil }
        self.store = store
        folder = KeptPolls.folder(beside: store)
    }

    /// - Parameter write: writes the capture to a path.
    func keep(_ story: String, at time: Instant, _ write: (String) throws -> Void) throws {
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
                    atPath: name + ".txt", contents: Data((story + "\n").utf8), attributes: [.posixPermissions: 0o600])
            else {
                throw CocoaError(.fileWriteUnknown)
            }
        } catch {
            // Half of it tells nobody anything.
            for ending in [".btsnoop", ".txt"] { try? files.removeItem(atPath: name + ending) }
            throw error
        }
        // By when they were written, not by their names: a clock may have been wrong. What has another name is
        // somebody's own.
        let others = try files.contentsOfDirectory(atPath: folder).filter {
            KeptPolls.isOurs($0) && $0.hasSuffix(".btsnoop") && folder + "/" + $0 != name + ".btsnoop"
        }
        let written = others.map { other -> (time: Date, name: String) in
            (
                (try? files.attributesOfItem(atPath: folder + "/" + other)[.modificationDate] as? Date) ?? .distantPast,
                other
            )
        }
        for (_, old) in written.sorted(by: <).dropLast(KeptPolls.limit - 1) {
            try files.removeItem(atPath: folder + "/" + old)
            try? files.removeItem(atPath: folder + "/" + old.dropLast(".btsnoop".count) + ".txt")
        }
    }

    /// What is known of them, oldest first, with the captures' names. What else lies there is somebody's own.
    var stories: [(capture: String, story: String)] {
        KeptPolls.all(beside: store).reversed().map { ("\($0.id).btsnoop", $0.story.joined(separator: "\n") + "\n") }
    }

    /// For a report: the names of bottles in the stories, which may be strangers'.
    static func names(_ stores: [String]) -> [String] {
        let stories = stores.flatMap { KeptFlights(store: $0)?.stories ?? [] }
        let lines: [Substring] = stories.flatMap { $0.story.split(whereSeparator: \.isNewline) }
        return lines.filter { $0.hasPrefix(nameMark) }.map { String($0.dropFirst(nameMark.count)) }
    }

    /// For a report: the stories of all stores.
    static func stories(_ stores: [String]) -> String {
        let parts = stores.enumerated().flatMap { number, store in
            (KeptFlights(store: store)?.stories ?? []).map { "store \(number + 1), \($0.capture)\n\($0.story)" }
        }
        return parts.isEmpty ? "No poll went wrong that is still kept." : parts.joined(separator: "\n")
    }
}
