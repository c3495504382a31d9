import Foundation

extension StorePlace {
    /// Which file a path leads to: by number where it exists, else by its folder's number and its name.
    struct Spot: Hashable {
        private let device: UInt64
        private let inode: UInt64
        private let name: String

        static func folder(of path: String) -> String {
            let folder = (path as NSString).deletingLastPathComponent
            return folder.isEmpty ? "." : folder
        }

        init(_ path: String) {
            var status = stat()
            if stat(path, &status) == 0 {
                (device, inode, name) = (UInt64(status.st_dev), UInt64(status.st_ino), "")
                return
            }
            // A link may lead to where nothing is yet.
            var end = path
            for _ in 0..<16 {
                guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: end) else { break }
                end = next.hasPrefix("/") ? next : Self.folder(of: end) + "/" + next
            }
            let isThere = stat(Self.folder(of: end), &status) == 0
            (device, inode) = isThere ? (UInt64(status.st_dev), UInt64(status.st_ino)) : (0, 0)
            name = isThere ? (end as NSString).lastPathComponent : end
        }
    }
}
