import Foundation
import TrackerCore

/// A folder for its owner alone that goes away with the value: for copies that are checked, sent or read before anything is done with them.
public final class ScratchFolder: Sendable {
    /// Where it is.
    public let path: String

    /// - Throws: `Refusal` (`noScratch`) where there is no place for one.
    public init() throws {
        var name = Array((FileManager.default.temporaryDirectory.path + "/waterh-XXXXXX").utf8CString)
        guard mkdtemp(&name) != nil else {
            throw Refusal("noScratch", "There is no place for a copy: \(String(cString: strerror(errno))).", category: errno == ENOSPC ? .diskFull : .failed)
        }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in it.
    public func file(_ name: String) -> String { path + "/" + name }
}
