import Foundation
import Utilities

/// The file at a store's path, examined with stat(2), never opened.
///
/// POSIX locks belong to the process. Closing any descriptor of the database file releases the locks of all connections
/// of this process. So only SQLite opens and creates the file.
struct StoreFile {
    /// The path without symbolic links, because the WAL is next to the link's target.
    let path: String
    let exists: Bool
    let isEmpty: Bool
    /// The size of the WAL in bytes; `nil` if there is none.
    let walBytes: Int?
    let hasOtherHardLinks: Bool

    /// - Throws: `StoreError` for a path that cannot be a store, for example a directory, a pipe or a device.
    init(_ unresolved: String) throws {
        func problem(_ cause: String, code: String) -> StoreError {
            StoreError(.cannotOpen, cause, at: unresolved.isEmpty ? "\"\"" : unresolved, code: code)
        }
        guard !unresolved.isEmpty else { throw problem("The store's path is empty", code: "storeHasNoName") }
        path = Self.target(of: unresolved)
        var status = stat()
        guard stat(path, &status) == 0 else {
            switch errno {
            case EACCES:
                throw problem("The store cannot be reached: no permission for its directory", code: "folderIsClosed")
            case ENAMETOOLONG, ELOOP:
                throw problem("The store's path is too long or has a loop of links", code: "pathLeadsNowhere")
            default:
                (exists, isEmpty, walBytes, hasOtherHardLinks) = (false, true, nil, false)
                return
            }
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw problem("The store's path is a directory", code: "pathIsDirectory")
        default:
            throw problem(
                "The store's path is not a regular file (a pipe, a socket or a device)", code: "notAnOrdinaryFile")
        }
        guard access(path, R_OK) == 0 else {
            throw problem("The store cannot be read: \(String(cString: strerror(errno)))", code: "notReadable")
        }
        // SQLite treats a file of one byte as empty, but it is not a store.
        guard status.st_size != 1 else {
            throw StoreError(.damaged, "The file is not a SQLite database", at: unresolved, code: "notADatabase")
        }
        (exists, isEmpty, hasOtherHardLinks) = (true, status.st_size == 0, status.st_nlink > 1)
        var log = stat()
        walBytes = stat(Self.target(of: path) + "-wal", &log) == 0 ? Int(log.st_size) : nil
    }

    /// Whether this process can write the file, and create and delete its WAL.
    var canCreateWAL: Bool { access(path, W_OK) == 0 && access(Self.folder(of: Self.target(of: path)), W_OK) == 0 }

    /// Rejects a file with several names. SQLite derives the names of the WAL and the locks from the path, so two
    /// processes with two names of one file lose commits.
    func rejectHardLinks(_ unresolved: String) throws {
        if exists, let mounts = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8),
            Self.isMounted(path, in: mounts)
        {
            throw StoreError(
                .cannotOpen,
                """
                The store's file is mounted without its directory: programs that use its other path would not find \
                its WAL
                """,
                at: unresolved, code: "isMounted")
        }
        guard hasOtherHardLinks else { return }
        throw StoreError(
            .cannotOpen,
            "The store's file has another name (a hard link): two programs that use different names would lose data",
            at: unresolved, code: "hasOtherNames")
    }

    /// Whether a mount consists of this file only, for example a volume of a container.
    /// - Parameter mounts: `/proc/self/mountinfo`; the fifth field of a line is the mount point.
    static func isMounted(_ file: String, in mounts: String) -> Bool {
        let name = Escaping.replacing(file, ["\\": #"\134"#, " ": #"\040"#, "\t": #"\011"#, "\n": #"\012"#])
        return mounts.split(separator: "\n").contains { line in
            let fields = line.split(separator: " ", maxSplits: 5)
            return fields.count > 4 && fields[4] == name
        }
    }

    /// Creates the empty file and its directories with permissions for the owner only.
    func create() throws {
        guard !exists else { return }
        try Self.createFolders(Self.folder(of: path), store: path)
        // open(2) would need close(2), which releases locks. If mknod(2) fails, SQLite reports the error.
        _ = mknod(path, S_IFREG | 0o600, 0)
    }

    /// Removes the permissions of group and others from the file, the WAL and the shared memory.
    func restrictPermissions() {
        let file = Self.target(of: path)
        for name in [file, file + "-wal", file + "-shm"] {
            var status = stat()
            guard lstat(name, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 else {
                continue
            }
            _ = chmod(name, status.st_mode & 0o700)
        }
    }

    /// The path in a form that SQLite cannot mistake for a special name (`:memory:`) or a URI (`file:…`).
    var name: String { path.hasPrefix("/") ? path : "./" + path }

    func uri(_ parameter: String) -> String {
        let escaped = name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? name
        return "file:\(name.hasPrefix("/") ? "//" : "")\(escaped)?\(parameter)"
    }

    /// The path with symbolic links resolved; `path` if that fails.
    static func target(of path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func createFolders(_ folder: String, store: String) throws {
        var status = stat()
        if stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
        let parent = Self.folder(of: folder)
        if parent != folder, folder != "." { try createFolders(parent, store: store) }
        // Another process might have created the directory.
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST, stat(folder, &status) == 0,
            status.st_mode & S_IFMT == S_IFDIR
        else {
            throw StoreError(
                .cannotOpen, "Creating the store's directory failed: \(String(cString: strerror(errno)))", at: folder,
                code: "folderCannotBeMade")
        }
    }
}

/// The device and inode of a file, which identify it across replacements of its path.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    /// Returns `nil` if the file does not exist or cannot be examined.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
