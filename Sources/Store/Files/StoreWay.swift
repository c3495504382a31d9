import Foundation

/// The way to a store's file: every folder in which a name is looked up, also behind links, as far as it leads. Where
/// one of the names comes to mean something else, the way leads elsewhere.
struct StoreWay: Equatable {
    /// So many links at most, as the kernel (path_resolution(7)).
    private static let mostLinks = 40

    /// Each folder with the names that are looked up in it.
    private(set) var folders: [String: Set<String>] = [:]
    /// What stands behind each name, the file's own too: links by where they lead, the rest by which it is.
    private var steps: [String: Step] = [:]
    /// The folder that the way ends in, and what is looked up there.
    private(set) var last = "/"
    /// The file's own name, where the way leads to its folder.
    private(set) var name: String?

    private enum Step: Equatable {
        case nothing
        case link(String)
        case there(device: UInt64, inode: UInt64)
    }

    /// - Parameter path: absolute.
    init(to path: String) {
        var rest = path.split(separator: "/").map(String.init)
        var folder = "/", links = 0
        while !rest.isEmpty {
            let next = rest.removeFirst()
            if next == "." { continue }
            if next == ".." {
                folder = (folder as NSString).deletingLastPathComponent
                continue
            }
            let step = (folder == "/" ? "" : folder) + "/" + next
            folders[folder, default: []].insert(next)
            last = folder
            if rest.isEmpty { name = next }
            var status = stat()
            guard lstat(step, &status) == 0 else {
                steps[step] = .nothing
                return
            }
            if status.st_mode & S_IFMT == S_IFLNK {
                guard links < Self.mostLinks,
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: step)
                else { return }
                links += 1
                steps[step] = .link(target)
                name = nil
                if target.hasPrefix("/") { folder = "/" }
                rest = target.split(separator: "/").map(String.init) + rest
                continue
            }
            steps[step] = .there(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
            folder = step
        }
    }
}
