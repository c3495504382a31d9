import Glibc
import GRDB
import Store
import Support

/// A folder for the files of a test.
class ScratchFixture {
    let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }
}

/// A new store in a folder of its own.
class StoreFixture {
    let scratch: TemporaryFolder
    let store: TrackerStore

    init() throws {
        scratch = try TemporaryFolder()
        store = try TrackerStore(path: scratch.store)
    }
}

/// The file permissions of a path; 0 if it does not exist.
func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
}

extension TemporaryFolder {
    /// The path of a store in this folder.
    var store: String { file("waterh.sqlite") }

    /// Opens a store with GRDB only, as another program does.
    func withDatabase<T>(_ path: String? = nil, _ body: (Database) throws -> T) throws -> T {
        let database = try DatabaseQueue(path: path ?? store)
        defer { try? database.close() }
        return try database.writeWithoutTransaction(body)
    }
}
