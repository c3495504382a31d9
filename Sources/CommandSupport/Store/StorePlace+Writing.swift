import Foundation

extension StorePlace {
    /// Why nothing can be written into a store that can be read, and what to do; `nil` where nothing stands in the way.
    /// Writes nothing.
    /// - Parameter path: the store's file, which is there.
    package static func writingTrouble(_ path: String) -> (words: String, advice: String)? {
        // SQLite writes its log beside the file, and drinks need some room.
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard access(path, W_OK) == 0, access(folder, W_OK) == 0 else {
            return (
                "\(path) takes no writes",
                """
                Look whether its disk is mounted read-only, and at the owner and the permissions of the file and \
                of \(folder).
                """
            )
        }
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0, UInt64(disk.f_bavail) * UInt64(disk.f_frsize) < 256 << 10 else { return nil }
        return ("the disk with \(path) is full", "Free some space. What was stored before is intact.")
    }
}
