/// What a day says of one disputed point.
public struct DayFinding: Hashable, Sendable {
    /// What the day says of a point; "cannot tell" is an answer, too.
    public enum Verdict: String, CaseIterable, Hashable, Sendable {
        case confirmed, contradicted
        case cannotTell = "cannot tell"
    }

    /// Which point it is.
    public var point: DayPoint
    /// Whether it is so.
    public var verdict: Verdict
    /// What was seen: a sentence.
    public var words: String
    /// The bytes that say so, each with the time and place where it was seen.
    public var evidence: [String]

    init(_ point: DayPoint, _ verdict: Verdict, _ words: String, _ evidence: [String] = []) {
        (self.point, self.verdict, self.words, self.evidence) = (
            point, verdict, words, Array(evidence.prefix(Self.lines))
        )
    }

    /// As much evidence as a page bears.
    private static let lines = 8
}
