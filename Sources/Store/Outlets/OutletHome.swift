import Cryptography
import Foundation
import TrackerCore

/// From which file of which machine a store is told to others. One who copied it has it twice, and only one of the two
/// is the one that is known there.
package struct OutletHome: Hashable, Sendable {
    /// Tells machines apart, and says nothing else of them. A machine without a number is told by the file itself: by
    /// where it lies on which disk.
    package var machine: String
    /// The file itself, whatever leads to it.
    package var path: String

    /// - Parameter number: the machine's own, `/etc/machine-id`, which is nobody's business beyond it.
    package init(machine number: String, path: String) {
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        self.path = resolved.map { String(cString: $0) } ?? URL(fileURLWithPath: path).standardizedFileURL.path
        let number =
            number.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? Self.number(ofFile: self.path)
        machine = number.map { String(SHA256.hex(("waterh " + $0).utf8).prefix(16)) } ?? ""
    }

    /// Of a file that is there: the same after a start and under another name, another one for each copy.
    private static func number(ofFile path: String) -> String? {
        var (file, disk) = (stat(), statvfs())
        guard stat(path, &file) == 0, statvfs(path, &disk) == 0 else { return nil }
        return "file \(disk.f_fsid) \(file.st_ino)"
    }

    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        (machine, path) = (String(parts[0]), String(parts[1]))
    }

    var text: String { "\(machine) \(path)" }
}

/// Whether a store speaks from where it did before.
package enum OutletStanding: Hashable, Sendable {
    /// It does, or it was moved, or it never spoke.
    case known
    /// The file that it was copied from is still there.
    case copy(of: String)
    /// It was told from a file of another machine, which may go on there.
    case fromElsewhere(String)
}
