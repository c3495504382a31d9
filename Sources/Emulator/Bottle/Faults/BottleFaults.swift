/// A fault plan of the emulated bottle, written as `drop=5,slow=300,hang-up=12`. See `BottleFaultOption.all` for the
/// meaning and the range of each fault. `FaultPlan` has the faults of the link.
package struct BottleFaults: Hashable, Sendable {
    package var drop = 0
    package var twice = 0
    package var slow = 0
    package var gap = 0
    package var ignore = 0
    package var early = 0
    package var unasked = 0
    package var hangUp = 0
    package var hangUpOnce = 0
    package var refuse = 0
    package var cut = 0
    package var split = 0
    package var shuffle = false
    package var restart = 0
    package var interleave = 0
    package var length = 0
    package var entry = 0
    package var lie = 0
    package var foreign = 0
    package var endless = false
    package var forget = 0
    package var counts = false
    package var frame = 0
    package var resend = 0
    package var ring = 500
    package var drift = 0
    package var step = 0
    package var power = 0
    package var keepAlive = false

    package init() {}

    /// The error of an unknown fault, or of a number out of range.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// Parses `NAME[=NUMBER],…`. An empty text means no faults.
    package init(_ text: String) throws(Malformed) {
        for part in text.split(separator: ",") {
            let pieces = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.filter { $0 != " " }
            }
            guard let name = pieces.first, let option = BottleFaultOption.all.first(where: { $0.name == name }) else {
                throw Malformed(description: "unknown fault '\(part)'")
            }
            switch (option.kind, pieces.count > 1 ? Int(pieces[1]) : nil) {
            case (.flag(let path), _) where pieces.count == 1: self[keyPath: path] = true
            case (.number(let path, let range), let number?) where range.contains(number): self[keyPath: path] = number
            case (.flag, _): throw Malformed(description: "'\(name)' must not have a number")
            case (.number(_, let range), _):
                throw Malformed(
                    description:
                        """
                        '\(name)' requires a number from \(range.lowerBound) to \(range.upperBound), for example \
                        '\(option.example)'
                        """
                )
            }
        }
    }

    /// The faults that are set, in the format of `init(_:)`.
    package var text: String { words.joined(separator: ",") }

    package var words: [String] {
        let none = BottleFaults()
        return BottleFaultOption.all.compactMap { option in
            switch option.kind {
            case .flag(let path): self[keyPath: path] ? option.name : nil
            case .number(let path, _):
                self[keyPath: path] == none[keyPath: path] ? nil : "\(option.name)=\(self[keyPath: path])"
            }
        }
    }
}
