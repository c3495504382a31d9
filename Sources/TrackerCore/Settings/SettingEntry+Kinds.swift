/// Parsers for each kind of setting. Each one states the rule that it enforces.
extension SettingEntry {
    static func flag(_ name: String, _ path: any WritableKeyPath<Settings, Bool> & Sendable) -> SettingEntry {
        required(
            name, path, rule: "It must be yes or no (also on or off, true or false).", value: { .flag($0) },
            parse: Bool.init(answer:))
    }

    static func integer(
        _ name: String, _ path: any WritableKeyPath<Settings, Int> & Sendable, _ range: ClosedRange<Int>,
        _ unit: String = ""
    ) -> SettingEntry {
        let rule =
            """
            It must be a whole number from \(range.lowerBound) to \
            \(range.upperBound)\(unit.isEmpty ? "" : " " + unit).
            """
        var entry = required(name, path, rule: rule, value: { .number(Double($0)) }) { text in
            wholeNumber(text, unit).flatMap { range.contains($0) ? $0 : nil }
        }
        if unit == "ml" { entry.amounts = range }
        return entry
    }

    static func oneOf(
        _ name: String, _ path: any WritableKeyPath<Settings, Int> & Sendable, _ values: [Int], _ unit: String
    ) -> SettingEntry {
        let allowed = values.map(String.init).joined(separator: ", ")
        return required(name, path, rule: "It must be one of \(allowed) \(unit).", value: { .number(Double($0)) }) {
            text in
            wholeNumber(text, unit).flatMap { values.contains($0) ? $0 : nil }
        }
    }

    private static func wholeNumber(_ text: String, _ unit: String) -> Int? {
        unit == "ml" ? Amounts.parse(text) : Int(text)
    }

    /// A setting with a number in a range and a step. `step` 0 allows any number of the range.
    static func decimal(
        _ name: String, _ path: any WritableKeyPath<Settings, Double> & Sendable, _ range: ClosedRange<Double>,
        step: Double = 0, _ unit: String
    ) -> SettingEntry {
        let ends =
            "\(PlainValue.number(range.lowerBound).text) to \(PlainValue.number(range.upperBound).text) \(unit)"
        let steps = step > 0 ? " in steps of \(PlainValue.number(step).text)" : ""
        return required(name, path, rule: "It must be a number from \(ends)\(steps).", value: { .number($0) }) { text in
            guard let value = Double(text), range.contains(value),
                step == 0 || (value / step) == (value / step).rounded()
            else { return nil }
            return value
        }
    }

    static func choice<Choice: RawRepresentable & CaseIterable & Sendable>(
        _ name: String, _ path: any WritableKeyPath<Settings, Choice> & Sendable
    ) -> SettingEntry where Choice.RawValue == String {
        let allowed = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return required(name, path, rule: "It must be one of \(allowed).", value: { .text($0.rawValue) }) { text in
            Choice.allCases.first { $0.rawValue.lowercased() == text.lowercased() }
        }
    }

    /// A setting with a time of day in quarters of an hour.
    static func time(
        _ name: String, _ path: any WritableKeyPath<Settings, TimeOfDay> & Sendable, _ hours: ClosedRange<Int>
    ) -> SettingEntry {
        required(name, path, rule: timeRule(hours), value: { .text($0.description) }) { quarter($0, hours) }
    }

    static func optionalTime(
        _ name: String, _ path: any WritableKeyPath<Settings, TimeOfDay?> & Sendable, _ hours: ClosedRange<Int>
    ) -> SettingEntry {
        optional(name, path, rule: timeRule(hours, orUnset: true), value: { .text($0.description) }) {
            quarter($0, hours)
        }
    }

    /// An optional setting with a full hour. `8` and `08:00` are equal.
    static func optionalHour(
        _ name: String, _ path: any WritableKeyPath<Settings, TimeOfDay?> & Sendable, _ hours: ClosedRange<Int>
    ) -> SettingEntry {
        let rule = "It must be a full hour from \(hours.lowerBound) to \(hours.upperBound), or unset."
        return optional(name, path, rule: rule, value: { .number(Double($0.hour)) }) { text in
            let time = Int(text).flatMap { TimeOfDay(hour: $0, minute: 0) } ?? TimeOfDay(text)
            guard let time, time.minute == 0, hours.contains(time.hour) else { return nil }
            return time
        }
    }

    static func zone(_ name: String, _ path: any WritableKeyPath<Settings, String?> & Sendable) -> SettingEntry {
        let rule = "It must be an IANA time zone such as Europe/Berlin, or \"system\"."
        return optional(name, path, rule: rule, value: { .text($0) }) { (try? Zone($0))?.id }
    }

    static func optionalText(
        _ name: String, _ path: any WritableKeyPath<Settings, String?> & Sendable, rule: String,
        accepts: @escaping @Sendable (String) -> Bool
    ) -> SettingEntry {
        optional(name, path, rule: rule, value: { .text($0) }) { accepts($0) ? $0 : nil }
    }

    static func text(
        _ name: String, _ path: any WritableKeyPath<Settings, String> & Sendable, rule: String,
        accepts: @escaping @Sendable (String) -> Bool
    ) -> SettingEntry {
        required(name, path, rule: rule, value: { .text($0) }) { accepts($0) ? $0 : nil }
    }

    static func required<Value: Sendable>(
        _ name: String, _ path: any WritableKeyPath<Settings, Value> & Sendable, rule: String,
        value: @escaping @Sendable (Value) -> PlainValue, parse: @escaping @Sendable (String) -> Value?
    ) -> SettingEntry {
        SettingEntry(name: name, rule: rule, read: { value($0[keyPath: path]) }) { settings, text in
            guard let value = parse(text) else { return false }
            settings[keyPath: path] = value
            return true
        }
    }

    /// The texts for an unset value.
    static let unsetTexts: Set<String> = ["", "unset", "none", "system", "default"]

    static func optional<Value: Sendable>(
        _ name: String, _ path: any WritableKeyPath<Settings, Value?> & Sendable, rule: String,
        value: @escaping @Sendable (Value) -> PlainValue, parse: @escaping @Sendable (String) -> Value?
    ) -> SettingEntry {
        SettingEntry(name: name, rule: rule, read: { $0[keyPath: path].map(value) ?? .null }) { settings, text in
            if unsetTexts.contains(text.lowercased()) {
                settings[keyPath: path] = nil
                return true
            }
            guard let value = parse(text) else { return false }
            settings[keyPath: path] = value
            return true
        }
    }

    private static func quarter(_ text: String, _ hours: ClosedRange<Int>) -> TimeOfDay? {
        guard let time = TimeOfDay(text), hours.contains(time.hour), time.minute % 15 == 0 else { return nil }
        return time
    }

    private static func timeRule(_ hours: ClosedRange<Int>, orUnset: Bool = false) -> String {
        """
        It must be a time from \(padded(hours.lowerBound, 2)):00 to \(hours.upperBound):45 in steps of 15 \
        minutes\(orUnset ? ", or unset" : "").
        """
    }
}

extension Bool {
    /// Parses a yes-or-no answer in any case, such as `yes`, `y`, `on` or `true`.
    package init?(answer: String) {
        switch answer.lowercased() {
        case "true", "on", "yes", "y", "1": self = true
        case "false", "off", "no", "n", "0": self = false
        default: return nil
        }
    }
}
