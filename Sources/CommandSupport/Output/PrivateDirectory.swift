import Foundation

enum PrivateDirectory {
    /// Creates the directory.
    /// - Returns: whether it exists, is not a link, and was never writable by others.
    static func make(_ path: String) -> Bool {
        _ = mkdir(path, 0o700)
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else { return false }
        return status.st_mode & 0o077 == 0 || chmod(path, 0o700) == 0
    }
}
