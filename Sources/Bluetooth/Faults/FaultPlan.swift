/// The faults to inject into a link, as the `--faults` option takes them: `disconnect@12,lose=0.05,late@3:5s`.
///
/// `NAME@N` applies once, to the N-th PDU of the fault's kind since the link was made (from 1). `NAME=P` applies to
/// each PDU with probability P. `:TIME` (`500ms`, `2s`) follows faults that need a duration.
package struct FaultPlan: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        case disconnect, lose, `repeat`, delay, swap, late, silent, deaf

        package var meaning: String {
            switch self {
            case .disconnect: "Disconnect instead of sending the N-th PDU in either direction"
            case .lose: "Lose the N-th notification or indication"
            case .repeat: "Send the N-th notification twice"
            case .delay: "Delay the N-th notification and all later PDUs by TIME (default 1s)"
            case .swap: "Send the N-th notification after the next PDU"
            case .late: "Delay the N-th response and all later PDUs by TIME (default 5s)"
            case .silent: "Lose the N-th response"
            case .deaf: "Lose the N-th write without response"
            }
        }

        var defaultTime: Duration {
            switch self {
            case .delay: .seconds(1)
            case .late: .seconds(5)
            // The time for which a swapped PDU waits for the next one.
            case .swap: .milliseconds(200)
            case .disconnect, .lose, .repeat, .silent, .deaf: .zero
            }
        }

        var takesTime: Bool { self == .delay || self == .late }
    }

    package enum Trigger: Hashable, Sendable {
        case at(Int)
        /// Applies to each PDU with this probability (0–1).
        case chance(Double)
    }

    package struct Fault: Hashable, Sendable {
        package var kind: Kind
        package var trigger: Trigger
        /// The delay of `delay` and `late`.
        package var time: Duration

        /// Without a time, the fault uses the default of its kind.
        package init(_ kind: Kind, _ trigger: Trigger, time: Duration? = nil) {
            self.kind = kind
            self.trigger = trigger
            self.time = time ?? kind.defaultTime
        }
    }

    package var faults: [Fault]
    /// The largest MTU that the link negotiates; `nil` for no limit.
    package var mtu: Int?

    package init(_ faults: [Fault] = [], mtu: Int? = nil) {
        self.faults = faults
        self.mtu = mtu
    }

    /// The faults that only links with ATT PDUs can inject. Over bluetoothd, the MTU cannot be limited.
    package var faultsThatNeedPDUs: [String] { mtu.map { ["mtu=\($0)"] } ?? [] }

    package static var syntax: [(entry: String, meaning: String)] {
        Kind.allCases.map { kind in
            let time = kind.takesTime ? "[:TIME]" : ""
            return ("\(kind.rawValue)@N\(time) or \(kind.rawValue)=P\(time)", kind.meaning)
        } + [("mtu=N", "Limit the ATT MTU to N (23–517)")]
    }
}

extension FaultPlan {
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let entry: String
        package let reason: String
        package var description: String { "invalid fault '\(entry)': \(reason)" }
    }

    /// Whether the entry starts with the name of a link fault; its value can be invalid. Programs can add faults.
    package static func isLinkFault(_ entry: some StringProtocol) -> Bool {
        let name = entry.prefix { $0 != "@" && $0 != "=" && $0 != ":" }
        return name == "mtu" || Kind(rawValue: String(name)) != nil
    }

    package init(_ text: String) throws(Malformed) {
        self.init()
        for entry in text.split(separator: ",") { try add(String(entry)) }
    }

    private mutating func add(_ entry: String) throws(Malformed) {
        func malformed(_ reason: String) -> Malformed { Malformed(entry: entry, reason: reason) }
        guard let sign = entry.firstIndex(where: { $0 == "@" || $0 == "=" }) else {
            throw malformed("expected a position or a probability, as in lose@3 or lose=0.1")
        }
        let name = String(entry[..<sign])
        let parts = entry[entry.index(after: sign)...].split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let number = String(parts.first ?? "")
        if name == "mtu" {
            guard entry[sign] == "=", parts.count == 1, let mtu = Int(number), 23...517 ~= mtu else {
                throw malformed("expected an MTU of 23–517, as in mtu=23")
            }
            self.mtu = mtu
            return
        }
        guard let kind = Kind(rawValue: name) else {
            throw malformed("expected one of mtu, " + Kind.allCases.map(\.rawValue).joined(separator: ", "))
        }
        let trigger: Trigger
        if entry[sign] == "@" {
            guard let count = Int(number), count >= 1 else { throw malformed("expected a number from 1 after @") }
            trigger = .at(count)
        } else {
            guard let chance = Double(number), 0...1 ~= chance else {
                throw malformed("expected a probability of 0–1 after =")
            }
            trigger = .chance(chance)
        }
        var time: Duration?
        if parts.count == 2 {
            guard kind.takesTime else { throw malformed("\(name) has no time") }
            guard let parsed = Self.duration(parts[1]) else {
                throw malformed("expected a time of at most one hour, as in 500ms or 2s")
            }
            time = parsed
        }
        faults.append(Fault(kind, trigger, time: time))
    }

    package var text: String {
        var entries = faults.map { fault in
            let trigger =
                switch fault.trigger {
                case .at(let count): "@\(count)"
                case .chance(let chance): "=\(chance)"
                }
            guard fault.kind.takesTime else { return fault.kind.rawValue + trigger }
            let milliseconds =
                fault.time.components.seconds * 1000 + fault.time.components.attoseconds / 1_000_000_000_000_000
            return fault.kind.rawValue + trigger + ":\(milliseconds)ms"
        }
        if let mtu { entries.append("mtu=\(mtu)") }
        return entries.joined(separator: ",")
    }

    private static func duration(_ text: Substring) -> Duration? {
        if text.hasSuffix("ms"), let value = Int(text.dropLast(2)), 0...3_600_000 ~= value {
            return .milliseconds(value)
        }
        if text.hasSuffix("s"), let value = Double(text.dropLast()), 0...3600 ~= value { return .seconds(value) }
        return nil
    }
}
