/// A fault of the emulated bottle. Its raw value is its name in a plan.
package enum BottleFault: String, CaseIterable, Sendable {
    case drop, twice, slow, gap, ignore, early, unasked
    case hangUp = "hang-up"
    case hangUpOnce = "hang-up-once"
    case refuse, cut, split, shuffle, restart, interleave, length, entry, lie, foreign, endless, forget, counts, frame
    case resend, ring, drift, step, power
    case keepAlive = "keep-alive"

    /// An example of the fault in a plan, such as `drop=5`.
    package var example: String { range == nil ? rawValue : "\(rawValue)=\(definition.example)" }
    package var meaning: String { definition.meaning }
    /// The numbers that the fault takes; `nil` if it takes none.
    var range: ClosedRange<Int>? { definition.range }
    /// The number without this fault.
    var defaultNumber: Int { self == .ring ? 500 : 0 }

    private var definition: (range: ClosedRange<Int>?, example: Int, meaning: String) {
        let (percent, milliseconds, perFrame) = (0...100, 0...600_000, 0...DrinkLogPackets.maximumPerFrame)
        return switch self {
        case .drop: (percent, 5, "N percent of the notifications are lost")
        case .twice: (percent, 10, "N percent of the notifications are sent twice")
        case .slow: (milliseconds, 300, "each response is N ms late")
        case .gap: (milliseconds, 50, "N ms between two notifications")
        case .ignore: (percent, 20, "N percent of the commands are ignored; 100: the bottle never responds")
        case .early:
            (milliseconds, 500, "commands are ignored for N ms after the subscription (a quirk of a real bottle)")
        case .unasked:
            (
                milliseconds, 500,
                "sends state and log to a subscriber without requests after N ms (a quirk of a real bottle)"
            )
        case .hangUp: (1...1_000_000, 12, "each connection is dropped instead of sending its N-th notification")
        case .hangUpOnce:
            (1...1_000_000, 12, "the first connection is dropped instead of sending its N-th notification")
        case .refuse:
            (
                0...1_000_000, 2,
                "the first N connections are dropped at once (the client might already have discovered the services)"
            )
        case .cut: (percent, 5, "N percent of the notifications lack their last bytes")
        case .split: (1...512, 20, "all data is sent in pieces of at most N bytes")
        case .shuffle: (nil, 1, "log entries are sent in random order, as over parallel ATT bearers")
        case .restart: (percent, 50, "N percent of the log transfers restart in the middle")
        case .interleave: (percent, 30, "a report is sent before N percent of the log's notifications")
        case .length: (percent, 10, "N percent of the frames have a wrong length field")
        case .entry: (percent, 10, "N percent of the log's entries have a wrong size byte")
        case .lie: (percent, 50, "N percent of the log responses contradict the stored log")
        case .foreign: (percent, 20, "N percent of the responses are those of another maker's bottle")
        case .endless: (nil, 1, "invalid data is sent after the log while a central is subscribed")
        case .forget: (percent, 50, "N percent of the acknowledgements are ignored: those records are sent again")
        case .counts: (nil, 1, "an acknowledgement of N records deletes the N oldest ones, even if they were not sent")
        case .frame:
            (perFrame, 16, "the retail log is sent in frames of at most N records (one frame without this fault)")
        case .resend: (0...500, 8, "the last N acknowledged records are sent again with the next ones")
        case .ring: (1...5000, 20, "the log has room for N records and loses its oldest (500 without this fault)")
        case .drift: (-100_000...100_000, 200, "the clock is N millionths fast, or slow if negative")
        case .step: (-100_000_000...100_000_000, 3600, "the clock jumps N seconds at each connection")
        case .power: (1...1_000_000, 1, "power is lost when the N-th connection ends: the clock restarts at zero")
        case .keepAlive: (nil, 1, "a third characteristic notifies every 5 s, as on some real bottles")
        }
    }
}

/// A fault plan of the emulated bottle, written as `drop=5,slow=300`. `FaultPlan` has the faults of the link.
package struct BottleFaults: Hashable, Sendable {
    /// The numbers that differ from the default.
    private var numbers: [BottleFault: Int] = [:]

    package init() {}

    /// The number of a fault; 1 for a fault that takes no number and is set.
    package subscript(fault: BottleFault) -> Int {
        get { numbers[fault] ?? fault.defaultNumber }
        set { numbers[fault] = newValue == fault.defaultNumber ? nil : newValue }
    }

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
            guard let name = pieces.first, let fault = BottleFault(rawValue: name) else {
                throw Malformed(description: "unknown fault '\(part)'")
            }
            guard let range = fault.range else {
                guard pieces.count == 1 else { throw Malformed(description: "'\(name)' must not have a number") }
                self[fault] = 1
                continue
            }
            guard pieces.count > 1, let number = Int(pieces[1]), range.contains(number) else {
                throw Malformed(
                    description:
                        """
                        '\(name)' requires a number from \(range.lowerBound) to \(range.upperBound), for example \
                        '\(fault.example)'
                        """
                )
            }
            self[fault] = number
        }
    }

    /// The faults that are set, in the format of `init(_:)`.
    package var text: String {
        let words = BottleFault.allCases.compactMap { fault in
            numbers[fault].map { fault.range == nil ? fault.rawValue : "\(fault.rawValue)=\($0)" }
        }
        return words.joined(separator: ",")
    }
}
