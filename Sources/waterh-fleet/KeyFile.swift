import CommandKit
import FleetBackup
import FleetStore
import Foundation

/// The file of a fleet's keys, for its owner alone.
struct KeyFile {
    private let path: String

    init(_ path: String) { self.path = path }

    /// - Throws: where it is not there, too.
    func read() throws -> BackupKeys {
        var bytes: [UInt8] = []
        try InputFile(path).read { bytes.append(contentsOf: $0) }
        return try BackupKeys(file: bytes)
    }

    /// The keys of another fleet are not written over.
    func check(_ database: DatabaseOptions) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        let old = try read()
        let now = try database.use { store in
            try store.makeSeals()
            return try BackupKeys(store)
        }
        guard now.isOfSameFleet(as: old) else {
            throw CommandFailure(.refused, "\(path) holds the keys of another fleet.", advice: "Name another file, or the database that these keys are of.")
        }
    }

    /// Writes those that there are now, in the place of the old.
    func write(_ database: DatabaseOptions) throws {
        let keys = try database.use { try BackupKeys($0) }
        let output = try OutputFile(path)
        try output.write(keys.file)
        try output.commit()
    }
}
