import Foundation

extension StoreLocation {
    /// Returns the reason why a readable store cannot be written, with advice; `nil` if it can. Writes nothing.
    /// - Parameter path: an existing store.
    package static func writeProblem(_ path: String) -> (text: String, advice: String)? {
        // The directory must be writable too, because SQLite writes its WAL there.
        var folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        while access(folder, F_OK) != 0, folder != "/" { folder = (folder as NSString).deletingLastPathComponent }
        guard access(path, W_OK) == 0 || access(path, F_OK) != 0, access(folder, W_OK) == 0 else {
            return (
                "\(path) is not writable",
                """
                Check whether its disk is mounted read-only, and the owner and permissions of the file and of \
                \(folder).
                """
            )
        }
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0, UInt64(disk.f_bavail) * UInt64(disk.f_frsize) < 256 << 10 else { return nil }
        return ("the disk with \(path) is full", "Free some space. The stored data is intact.")
    }
}
