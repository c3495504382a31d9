import Foundation

/// What a service's figures have of a store.
extension TrackerStore {
    /// Of the file and of what SQLite has written beside it and not merged yet; `nil`: the file is not there.
    package var bytes: Int? {
        func size(_ path: String) -> Int? {
            ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue
        }
        return size(path).map { $0 + (size(path + "-wal") ?? 0) }
    }

    /// Changes that wait for a sync server.
    /// - Throws: what reading the store throws.
    package func outboxDepth() throws -> Int { try read { try SyncStateTable.waiting($0) } }
}
