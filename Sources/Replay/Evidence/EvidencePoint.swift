import Glibc

/// A point of the protocol that its readers dispute: how each of them reads it, and how well what was seen fits each
/// reading.
///
/// Each observation has a probability under each reading. Their logarithms add up: ten bits more for one reading than
/// for the next best are odds of a thousand to one. What all readings expect alike weighs nothing, so that a capture
/// that cannot tell says so, however long it is.
public struct EvidencePoint: Sendable {
    /// One way to read it.
    public struct Reading: Sendable, Hashable {
        /// For scripts.
        public let name: String
        /// For people.
        public let sentence: String
    }

    /// What follows from all that was seen. The number is the reading's place among `readings`.
    public enum Verdict: Sendable, Hashable {
        /// A thousand to one against every other reading.
        case shown(Int)
        /// Ten to one.
        case likelier(Int)
        /// Less than that.
        case cannotTell
    }

    /// For scripts.
    public let id: String
    /// The heading of the protocol law that says how it is read today.
    public let law: String
    /// What is disputed, as a question.
    public let question: String
    /// At least two, each of which excludes the others.
    public let readings: [Reading]
    /// Why a capture may be unable to tell.
    public let missing: String
    /// Bits of each reading, the best has 0.
    public var bits: [Double] {
        let best = logs.max() ?? 0
        return logs.map { $0 - best }
    }
    /// How many observations were weighed; those that no reading minds among them.
    public private(set) var observations = 0
    /// How many of them told the readings apart.
    public private(set) var telling = 0
    /// Bytes that told the most, each with its packet.
    public private(set) var examples: [String] = []

    private var logs: [Double]
    private var strengths: [Double] = []
    private static let mostExamples = 4
    /// Nothing is impossible: captures are damaged, and firmwares differ.
    private static let least = 1e-6

    init(_ id: String, law: String, _ question: String, missing: String, _ readings: [(name: String, sentence: String)])
    {
        (self.id, self.law, self.question, self.missing) = (id, law, question, missing)
        self.readings = readings.map { Reading(name: $0.name, sentence: $0.sentence) }
        logs = readings.map { _ in 0 }
    }

    /// Weighs an observation by its probability under each reading, in their order.
    mutating func weigh(_ probabilities: [Double], _ example: @autoclosure () -> String) {
        observations += 1
        let bits = probabilities.map { log2(max($0, Self.least)) }
        for (index, weight) in bits.enumerated() where index < logs.count { logs[index] += weight }
        let strength = (bits.max() ?? 0) - (bits.min() ?? 0)
        guard strength > 0.5 else { return }
        telling += 1
        guard strengths.count < Self.mostExamples || strength > strengths[strengths.count - 1] else { return }
        let place = strengths.firstIndex { $0 < strength } ?? strengths.count
        strengths.insert(strength, at: place)
        examples.insert(example(), at: place)
        if strengths.count > Self.mostExamples {
            strengths.removeLast()
            examples.removeLast()
        }
    }

    /// What the observations up to now say.
    public var verdict: Verdict {
        let ranked = logs.indices.sorted { logs[$0] > logs[$1] }
        guard ranked.count > 1 else { return .cannotTell }
        let margin = logs[ranked[0]] - logs[ranked[1]]
        if margin >= log2(1000) { return .shown(ranked[0]) }
        return margin >= log2(10) ? .likelier(ranked[0]) : .cannotTell
    }
}
