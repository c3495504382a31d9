package import Foundation
package import TrackerCore

/// A failed poll that was kept next to the store: its trace and a capture.
package struct FailedPoll: Hashable, Sendable {
    /// The id: the capture's file name without its extension.
    package var id: String
    /// The time by the host's clock; `nil` if the name has none.
    package var at: Instant?
    /// The lines of the trace. The first line has the reason.
    package var trace: [String]
    package var bytes: Int

    init(id: String, trace: [String], bytes: Int) {
        (self.id, self.trace, self.bytes) = (id, trace, bytes)
        at = Self.time(id)
    }

    /// Parses a file name: `20261123T180102003` (UTC, with or without milliseconds).
    private static func time(_ id: String) -> Instant? {
        guard let parts = id.wholeMatch(of: /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})?/)?.output else {
            return nil
        }
        return Instant(iso: "\(parts.1)-\(parts.2)-\(parts.3)T\(parts.4):\(parts.5):\(parts.6).\(parts.7 ?? "000")Z")
    }
}

/// The directory next to a store with the captures and traces of failed polls. They contain drinks.
package enum FailedPollFiles {
    /// The number of kept polls; a new one replaces the oldest.
    package static let limit = 16

    private static let traceBytes = 10_000
    private static let captureBytes = 16 << 20

    package static func folder(beside store: String) -> String { store + "-polls" }

    /// Whether the file belongs to a kept poll: `20261123T180102003.btsnoop` or `.txt`.
    package static func isPollFile(_ name: String) -> Bool { name.wholeMatch(of: /\d+T\d+\.(?:btsnoop|txt)/) != nil }

    /// All kept polls, newest first by modification time, because the host's clock can have been wrong.
    package static func all(beside store: String) -> [FailedPoll] {
        let (files, folder) = (FileManager.default, folder(beside: store))
        guard store.hasPrefix("/"), let names = try? files.contentsOfDirectory(atPath: folder) else { return [] }
        let found = names.filter { isPollFile($0) && $0.hasSuffix(".btsnoop") }.compactMap {
            name -> (written: Date, poll: FailedPoll)? in
            guard let attributes = try? files.attributesOfItem(atPath: "\(folder)/\(name)"),
                attributes[.type] as? FileAttributeType == .typeRegular
            else { return nil }
            let id = String(name.dropLast(".btsnoop".count))
            let trace = read("\(folder)/\(id).txt", upTo: traceBytes).map { String(decoding: $0, as: UTF8.self) } ?? ""
            let lines = trace.split(whereSeparator: \.isNewline).map(String.init)
            return (
                attributes[.modificationDate] as? Date ?? .distantPast,
                FailedPoll(id: id, trace: lines, bytes: (attributes[.size] as? NSNumber)?.intValue ?? 0)
            )
        }
        return found.sorted { ($0.written, $0.poll.id) > ($1.written, $1.poll.id) }.prefix(limit).map(\.poll)
    }

    package static func capture(_ id: String, beside store: String) -> Data? {
        guard store.hasPrefix("/"), isPollFile("\(id).btsnoop") else { return nil }
        return read("\(folder(beside: store))/\(id).btsnoop", upTo: captureBytes)
    }

    private static func read(_ path: String, upTo limit: Int) -> Data? {
        try? SmallFile.read(path, limit: limit, flags: O_NOFOLLOW)
    }

    /// Deletes all kept polls, and the directory if it is empty.
    /// - Throws: errors of the file system.
    static func remove(beside store: String) throws {
        let (files, folder) = (FileManager.default, folder(beside: store))
        guard store != ":memory:", let names = try? files.contentsOfDirectory(atPath: folder) else { return }
        for name in names where isPollFile(name) { try files.removeItem(atPath: folder + "/" + name) }
        if names.allSatisfy(isPollFile) { try files.removeItem(atPath: folder) }
    }
}
