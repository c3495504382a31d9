import Foundation

/// Where a file lies or would lie, however it is named: through links, or over two names of one folder.
struct FilePlace {
    /// Without links.
    let path: String
    private let folder: stat
    private let name: String
    private let file: stat?

    /// `nil` where no file can lie.
    init?(_ path: String) {
        var path = path
        // A link may lead to where no file is yet.
        for _ in 0..<40 {
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            path = next.hasPrefix("/") ? next : URL(fileURLWithPath: path).deletingLastPathComponent().path + "/" + next
        }
        let url = URL(fileURLWithPath: path)
        guard let parent = realpath(url.deletingLastPathComponent().path, nil) else { return nil }
        defer { free(parent) }
        var (folder, file) = (stat(), stat())
        guard stat(parent, &folder) == 0 else { return nil }
        (self.folder, name) = (folder, url.lastPathComponent)
        self.path = String(cString: parent) + "/" + name
        self.file = stat(path, &file) == 0 ? file : nil
    }

    /// Whether both are one file.
    func isSame(as other: Self) -> Bool {
        if let file, let one = other.file, Self.isSame(file, one) { return true }
        return name == other.name && Self.isSame(folder, other.folder)
    }

    private static func isSame(_ one: stat, _ other: stat) -> Bool {
        one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }
}
