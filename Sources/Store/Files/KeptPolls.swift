import Foundation

/// The folder beside a store in which a service keeps the polls that went wrong: of each a capture and its story, both
/// with the store's drinks.
package enum KeptPolls {
    /// So many are kept; a new one takes the place of the oldest.
    package static let limit = 16

    /// Of a story so much is read.
    private static let storyBytes = 10_000
    /// No capture of ours is larger.
    private static let captureBytes = 16 << 20

    /// - Parameter store: the store's path.
    package static func folder(beside store: String) -> String { store + "-polls" }

    /// Whether a file of that folder is a kept poll's: `20261123T180102003.btsnoop` or `.txt`. Others are somebody's
    /// own.
    package static func isOurs(_ name: String) -> Bool { name.wholeMatch(of: /\d+T\d+\.(?:btsnoop|txt)/) != nil }

    /// What is kept, by when it was written, newest first: a clock may have been wrong when a name was made.
    package static func all(beside store: String) -> [KeptPoll] {
        let (files, folder) = (FileManager.default, folder(beside: store))
        guard store.hasPrefix("/"), let names = try? files.contentsOfDirectory(atPath: folder) else { return [] }
        let found = names.filter { isOurs($0) && $0.hasSuffix(".btsnoop") }.compactMap {
            name -> (written: Date, poll: KeptPoll)? in
            guard let facts = try? files.attributesOfItem(atPath: "\(folder)/\(name)"),
                facts[.type] as? FileAttributeType == .typeRegular
            else { return nil }
            let id = String(name.dropLast(".btsnoop".count))
            let story = read("\(folder)/\(id).txt", upTo: storyBytes).map { String(decoding: $0, as: UTF8.self) } ?? ""
            let lines = story.split(whereSeparator: \.isNewline).map(String.init)
            return (
                facts[.modificationDate] as? Date ?? .distantPast,
                KeptPoll(id: id, story: lines, bytes: (facts[.size] as? NSNumber)?.intValue ?? 0)
            )
        }
        return found.sorted { ($0.written, $0.poll.id) > ($1.written, $1.poll.id) }.prefix(limit).map(\.poll)
    }

    /// A kept poll's capture, btsnoop; `nil` where none of this name is kept.
    package static func capture(_ id: String, beside store: String) -> Data? {
        guard store.hasPrefix("/"), isOurs("\(id).btsnoop") else { return nil }
        return read("\(folder(beside: store))/\(id).btsnoop", upTo: captureBytes)
    }

    /// A file's own bytes: no link is followed, and nothing but a file is opened.
    private static func read(_ path: String, upTo limit: Int) -> Data? {
        let number = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        var facts = stat()
        guard fstat(number, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        return try? file.read(upToCount: limit) ?? Data()
    }

    /// Removes what is kept, and the folder if nothing else is in it.
    /// - Throws: what the file system says.
    static func remove(beside store: String) throws {
        let (files, folder) = (FileManager.default, folder(beside: store))
        guard store != ":memory:", let names = try? files.contentsOfDirectory(atPath: folder) else { return }
        for name in names where isOurs(name) { try files.removeItem(atPath: folder + "/" + name) }
        if names.allSatisfy(isOurs) { try files.removeItem(atPath: folder) }
    }
}
