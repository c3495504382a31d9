/// What goes wrong on a link, and when: words that a command line takes, `disconnect@12,lose=0.05,late@3:5s`.
///
/// `WORD@N` strikes once, at the N-th of its kind since the link was made (from 1); `WORD=P` strikes each with chance
/// P. `:TIME` (`500ms`, `2s`) where the word needs one.
package struct FaultPlan: Hashable, Sendable {
    /// A kind of fault.
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        case disconnect, lose, `repeat`, delay, swap, late, silent, deaf

        /// One line for people.
        package var meaning: String {
            switch self {
            case .disconnect: "the connection ends instead of carrying the N-th PDU, of either direction"
            case .lose: "the N-th notification or indication is lost"
            case .repeat: "the N-th notification arrives twice"
            case .delay: "the N-th notification, and all that follows it, arrives TIME late (1s)"
            case .swap: "the N-th notification is overtaken by the next PDU"
            case .late: "the N-th answer, and all that follows it, arrives TIME late (5s)"
            case .silent: "the N-th answer never arrives"
            case .deaf: "the N-th write without response is lost"
            }
        }

        var defaultTime: Duration {
            switch self {
            case .delay: .seconds(1)
            case .late: .seconds(5)
            // How long an overtaken PDU waits for one to overtake it.
            case .swap: .milliseconds(200)
            case .disconnect, .lose, .repeat, .silent, .deaf: .zero
            }
        }

        var takesTime: Bool { self == .delay || self == .late }
    }

    /// When a fault is entered.
    package enum Moment: Hashable, Sendable {
        /// At the N-th of its kind, from 1.
        case at(Int)
        /// Each, with this chance from 0 to 1.
        case chance(Double)
    }

    /// One fault of a plan, and when it is entered.
    package struct Fault: Hashable, Sendable {
        /// What goes wrong.
        package var kind: Kind
        /// When it strikes: once at a place, or each time by chance.
        package var moment: Moment
        /// How late, for `delay` and `late`.
        package var time: Duration

        /// Without a time the fault has its kind's own.
        package init(_ kind: Kind, _ moment: Moment, time: Duration? = nil) {
            self.kind = kind
            self.moment = moment
            self.time = time ?? kind.defaultTime
        }
    }

    /// All faults, in the order of the text.
    package var faults: [Fault]
    /// No MTU above this is agreed on; `nil`: as the two ends like.
    package var mtu: Int?

    package init(_ faults: [Fault] = [], mtu: Int? = nil) {
        self.faults = faults
        self.mtu = mtu
    }

    /// Its words that only a link can enter that carries the PDUs itself: a stack (bluetoothd) agrees on the MTU out of
    /// sight.
    package var wordsForPDUs: [String] { mtu.map { ["mtu=\($0)"] } ?? [] }

    /// Every word with its one line.
    package static var vocabulary: [(word: String, meaning: String)] {
        Kind.allCases.map { kind in
            let time = kind.takesTime ? "[:TIME]" : ""
            return ("\(kind.rawValue)@N\(time) or \(kind.rawValue)=P\(time)", kind.meaning)
        } + [("mtu=N", "no ATT MTU above N (23 to 517) is agreed on")]
    }
}

extension FaultPlan {
    /// A plan that nothing can be made of.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        /// The word that was not understood.
        package let word: String
        /// What is wrong with it, as the rest of a sentence.
        package let reason: String
        /// The word and what is wrong with it.
        package var description: String { "'\(word)' is no fault: \(reason)" }
    }

    /// Whether a word is one of these, right or wrong: other parts of a program may have words of their own.
    package static func knows(_ word: some StringProtocol) -> Bool {
        let name = word.prefix { $0 != "@" && $0 != "=" && $0 != ":" }
        return name == "mtu" || Kind(rawValue: String(name)) != nil
    }

    /// Words with commas between them.
    package init(_ text: String) throws(Malformed) {
        self.init()
        for word in text.split(separator: ",") { try add(String(word)) }
    }

    private mutating func add(_ word: String) throws(Malformed) {
        func malformed(_ reason: String) -> Malformed { Malformed(word: word, reason: reason) }
        guard let sign = word.firstIndex(where: { $0 == "@" || $0 == "=" }) else {
            throw malformed("say when, as in lose@3 (the third) or lose=0.1 (each tenth)")
        }
        let name = String(word[..<sign])
        let parts = word[word.index(after: sign)...].split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let number = String(parts.first ?? "")
        if name == "mtu" {
            guard word[sign] == "=", parts.count == 1, let mtu = Int(number), 23...517 ~= mtu else {
                throw malformed("an MTU is a number from 23 to 517, as in mtu=23")
            }
            self.mtu = mtu
            return
        }
        guard let kind = Kind(rawValue: name) else {
            throw malformed("the words are mtu, " + Kind.allCases.map(\.rawValue).joined(separator: ", "))
        }
        let moment: Moment
        if word[sign] == "@" {
            guard let count = Int(number), count >= 1 else { throw malformed("after @ comes a count from 1") }
            moment = .at(count)
        } else {
            guard let chance = Double(number), 0...1 ~= chance else {
                throw malformed("after = comes a chance from 0 to 1")
            }
            moment = .chance(chance)
        }
        var time: Duration?
        if parts.count == 2 {
            guard kind.takesTime else { throw malformed("\(name) takes no time") }
            guard let parsed = Self.duration(parts[1]) else {
                throw malformed("a time is written 500ms or 2s, up to an hour")
            }
            time = parsed
        }
        faults.append(Fault(kind, moment, time: time))
    }

    /// The words that it is made of: `init(_:)` reads them.
    package var text: String {
        var words = faults.map { fault in
            let moment =
                switch fault.moment {
                case .at(let count): "@\(count)"
                case .chance(let chance): "=\(chance)"
                }
            guard fault.kind.takesTime else { return fault.kind.rawValue + moment }
            let milliseconds =
                fault.time.components.seconds * 1000 + fault.time.components.attoseconds / 1_000_000_000_000_000
            return fault.kind.rawValue + moment + ":\(milliseconds)ms"
        }
        if let mtu { words.append("mtu=\(mtu)") }
        return words.joined(separator: ",")
    }

    private static func duration(_ text: Substring) -> Duration? {
        if text.hasSuffix("ms"), let value = Int(text.dropLast(2)), 0...3_600_000 ~= value {
            return .milliseconds(value)
        }
        if text.hasSuffix("s"), let value = Double(text.dropLast()), 0...3600 ~= value { return .seconds(value) }
        return nil
    }
}
