import Foundation
import GRDB
import TrackerCore
import Utilities

/// The machine and file that a store is published from. A copied store has the same identity, and a broker accepts only
/// one client with it.
package struct PublisherLocation: Hashable, Sendable {
    /// A hash of the machine ID. Without a machine ID, of the file system and inode.
    package var machine: String
    /// The path without symbolic links.
    package var path: String

    /// - Parameter machineID: the contents of `/etc/machine-id`.
    package init(machineID: String, path: String) {
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        self.path = resolved.map { String(cString: $0) } ?? URL(fileURLWithPath: path).standardizedFileURL.path
        let id = machineID.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? Self.fileID(self.path)
        machine = id.map { String(SHA256.hex(("waterh " + $0).utf8).prefix(16)) } ?? ""
    }

    /// An identifier that is the same after restarts and renames, and different for each copy.
    private static func fileID(_ path: String) -> String? {
        var (file, disk) = (stat(), statvfs())
        guard stat(path, &file) == 0, statvfs(path, &disk) == 0 else { return nil }
        return "file \(disk.f_fsid) \(file.st_ino)"
    }

    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        (machine, path) = (String(parts[0]), String(parts[1]))
    }

    var text: String { "\(machine) \(path)" }
}

/// The result of comparing a publisher's location with its last one.
package enum LocationCheck: Hashable, Sendable {
    /// The location is the same, the file was moved, or the store was never published.
    case accepted
    /// The file is a copy, and the original file still exists.
    case copy(of: String)
    /// The file was published on another machine, where a service might still run.
    case onAnotherMachine(String)
}

extension TrackerStore {
    /// Compares the location with the last one. A new publisher and a moved file adopt this location.
    package func checkLocation(_ here: PublisherLocation, of name: String) throws -> LocationCheck {
        guard let known = try lastLocation(of: name) else {
            try adoptLocation(here, of: name)
            return .accepted
        }
        guard known != here else { return .accepted }
        // The last location was stored on a machine without a machine ID.
        guard !known.machine.isEmpty || known.path != here.path else {
            try adoptLocation(here, of: name)
            return .accepted
        }
        guard known.machine == here.machine else { return .onAnotherMachine(known.path) }
        guard try originalExists(known.path, as: name, beside: here.path) else {
            try adoptLocation(here, of: name)
            return .accepted
        }
        return .copy(of: known.path)
    }

    /// Adopts this location with the same identity.
    package func adoptLocation(_ here: PublisherLocation, of name: String) throws {
        try write { db in
            try db.run("UPDATE publisher SET origin = ? WHERE name = ?", [here.text, name])
        }
    }

    /// Adopts this location with a new identity. The retained topics belong to the original. Both stores publish
    /// waiting changes, because it is unknown which store recorded them.
    package func adoptLocation(_ here: PublisherLocation, of name: String, newID id: String) throws {
        try write { db in
            try db.run("DELETE FROM stale_topic WHERE \(Self.isCurrent)", ["publisher": name])
            try db.run("UPDATE publisher SET origin = ?, id = ? WHERE name = ?", [here.text, id, name])
        }
    }

    /// The retained topics of the original that both stores have recorded.
    package func retainedByOriginal(of name: String, at here: PublisherLocation) throws -> Set<String> {
        var topics = Set(try retainedTopics(of: name))
        if let known = try lastLocation(of: name), known.path != here.path, known.machine == here.machine,
            let original = try? TrackerStore(path: known.path, for: .reading)
        {
            topics.formUnion((try? original.retainedTopics(of: name)) ?? [])
        }
        return topics
    }

    /// The identity of a publisher, even if it is closed; `nil` if there is none.
    package func identity(of name: String) throws -> (id: String, path: String?)? {
        let row = try read { db in
            try Row.fetchOne(db, sql: "SELECT id, origin FROM publisher WHERE name = ?", arguments: [name])
        }
        return try row.map {
            (try $0.decode(atIndex: 0), try $0.decode(String?.self, atIndex: 1).flatMap(PublisherLocation.init)?.path)
        }
    }

    private func lastLocation(of name: String) throws -> PublisherLocation? {
        try first("SELECT origin FROM publisher WHERE name = ?", [name]).flatMap(PublisherLocation.init)
    }

    /// Whether the original exists: another file with the same identity, or an unreadable one.
    private func originalExists(_ path: String, as name: String, beside own: String) throws -> Bool {
        var (info, ownInfo) = (stat(), stat())
        guard stat(path, &info) == 0 else { return errno != ENOENT && errno != ENOTDIR }
        if stat(own, &ownInfo) == 0, info.st_dev == ownInfo.st_dev, info.st_ino == ownInfo.st_ino { return false }
        guard let original = try? TrackerStore(path: path, for: .reading).identity(of: name) else {
            return Glibc.access(path, R_OK) != 0
        }
        return try original.id == identity(of: name)?.id
    }
}
