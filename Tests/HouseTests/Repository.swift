import Foundation

/// The project's own files, as the tests of the house read them.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    struct File {
        /// Below the root.
        let path: String
        let text: String
    }

    /// Every text file at or below the places named.
    static func files(in places: [String], root: URL = root) throws -> [File] {
        try places.flatMap { place -> [File] in
            let url = root.appending(path: place)
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else { return [] }
            guard isDirectory.boolValue else { return [try file(url, root)].compactMap { $0 } }
            let all = FileManager.default.enumerator(at: url, includingPropertiesForKeys: [.isRegularFileKey])
            return try (all?.compactMap { $0 as? URL } ?? []).compactMap { try file($0, root) }
        }
    }

    /// `nil` for a folder and for what is no text.
    private static func file(_ url: URL, _ root: URL) throws -> File? {
        guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { return nil }
        guard let text = String(data: try Data(contentsOf: url), encoding: .utf8) else { return nil }
        return File(path: String(url.path.dropFirst(root.path.count + 1)), text: text)
    }
}
