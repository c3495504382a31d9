import Foundation
import TrackerCore

/// From which file of which machine a store is told to others. One who copied it has it twice, and only one of the two is the one that is known there.
public struct OutletHome: Hashable, Sendable {
    /// Tells machines apart, and says nothing else of them; empty where a machine has no number.
    public var machine: String
    /// The file itself, whatever leads to it.
    public var path: String

    /// - Parameter number: the machine's own, `/etc/machine-id`, which is nobody's business beyond it.
    public init(machine number: String, path: String) {
        let number = number.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
        machine = number.isEmpty ? "" : String(SHA256.hex(("waterh " + number).utf8).prefix(16))
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        self.path = resolved.map { String(cString: $0) } ?? URL(fileURLWithPath: path).standardizedFileURL.path
    }

    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        (machine, path) = (String(parts[0]), String(parts[1]))
    }

    var text: String { "\(machine) \(path)" }
}

/// Whether a store speaks from where it did before.
public enum OutletStanding: Hashable, Sendable {
    /// It does, or it was moved, or it never spoke.
    case known
    /// The file that it was copied from is still there.
    case copy(of: String)
    /// It was told from a file of another machine, which may go on there.
    case fromElsewhere(String)
}
