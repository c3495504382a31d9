/// Spans of time as a scenario writes them: `1d2h`, `90s`, `8h30m0.5s`, `-51d`. Units are d, h, m, s, ms and us, the
/// largest first as a rule, each with a number before it.
public enum ScenarioTime {
    /// No scenario lasts longer, and no clock is set further.
    public static let limit = Duration.seconds(4000 * 86_400)

    private static let units: [(name: String, span: Duration)] = [
        ("us", .microseconds(1)), ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)),
        ("h", .seconds(3600)), ("d", .seconds(86_400)),
    ]

    /// `nil` where this is none, or one beyond `limit`.
    public static func span(_ text: String) -> Duration? {
        var rest = Substring(text)
        let isNegative = rest.first == "-"
        if isNegative || rest.first == "+" { rest = rest.dropFirst() }
        guard !rest.isEmpty, rest.utf8.count <= 64 else { return nil }
        var sum = Duration.zero
        while !rest.isEmpty {
            let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(number.count)
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(name.count)
            guard let span = units.first(where: { $0.name == name })?.span, let part = part(number, span) else {
                return nil
            }
            sum += part
            guard sum <= limit else { return nil }
        }
        return isNegative ? .zero - sum : sum
    }

    /// A number with at most three digits behind the point, of a unit.
    private static func part(_ number: Substring, _ unit: Duration) -> Duration? {
        let halves = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = halves.first.flatMap({ Int64($0) }), whole >= 0,
            whole <= limit.microseconds / unit.microseconds
        else { return nil }
        guard halves.count == 2 else { return .microseconds(whole * unit.microseconds) }
        guard (1...3).contains(halves[1].count),
            let thousandths = Int64(halves[1] + String(repeating: "0", count: 3 - halves[1].count))
        else { return nil }
        return .microseconds(whole * unit.microseconds + thousandths * unit.microseconds / 1000)
    }

    /// As `span` reads it.
    public static func text(_ span: Duration) -> String {
        let isNegative = span < .zero
        var micros = (isNegative ? .zero - span : span).microseconds
        guard micros > 0 else { return "0s" }
        var text = isNegative ? "-" : ""
        for (name, unit) in [("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000)] as [(String, Int64)]
        where micros >= unit {
            text += "\(micros / unit)\(name)"
            micros %= unit
        }
        for (name, unit) in [("s", 1_000_000), ("ms", 1000), ("us", 1)] as [(String, Int64)] where micros >= unit {
            text += "\(micros / unit)\(name)"
            micros %= unit
        }
        return text
    }
}

extension Duration {
    var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
