/// A rejected change of a setting, which keeps its value.
package struct SettingRefusal: Problem, Hashable {
    package var name: String
    package var value: String
    /// The rule as a sentence.
    package var rule: String
    /// The current value, as text; `nil` for an unknown setting.
    package var currentValue: String?

    package init(name: String, value: String, rule: String, currentValue: String?) {
        self.name = name
        self.value = value
        self.rule = rule
        self.currentValue = currentValue
    }

    package var code: String { currentValue == nil ? "noSuchSetting" : "settingRule" }
    package var category: ProblemCategory { currentValue == nil ? .notFound : .refused }
    package var values: [String: String] {
        ["name": name, "given": value, "rule": rule].merging(currentValue.map { ["kept": $0] } ?? [:]) { $1 }
    }
    package var sentence: String {
        guard let currentValue else { return Settings.removal(of: name) ?? "unknown setting '\(name)'" }
        let start = "It must be "
        let expected = rule.hasPrefix(start) ? "expected \(rule.dropFirst(start.count))" : rule
        return "invalid \(name) '\(value)': \(expected) It stays \(currentValue.isEmpty ? "unset" : currentValue)."
    }
}

/// A setting: its name, its rule, and the access to its value.
package struct SettingEntry: Sendable {
    package let name: String
    /// The rule as a sentence: `It must be a whole number from 500 to 5000 ml.`
    package let rule: String
    let read: @Sendable (Settings) -> PlainValue
    let write: @Sendable (inout Settings, String) -> Bool
    package private(set) var isSecret = false
    /// The range of an amount in millilitres, also displayed in other units.
    var amounts: ClosedRange<Int>?

    init(
        name: String, rule: String, read: @escaping @Sendable (Settings) -> PlainValue,
        write: @escaping @Sendable (inout Settings, String) -> Bool
    ) {
        self.name = name
        self.rule = rule
        self.read = read
        self.write = write
    }

    var secret: SettingEntry {
        var copy = self
        copy.isSecret = true
        return copy
    }

    func shown(_ settings: Settings) -> PlainValue {
        let value = read(settings)
        return isSecret && value != .null ? .text("(set)") : value
    }

    private func withUnits(_ rule: String, _ units: AmountUnits) -> String {
        guard let amounts, units != .ml, rule.hasSuffix(".") else { return rule }
        return "\(rule.dropLast()) (\(units.text(amounts.lowerBound)) to \(units.text(amounts.upperBound)))."
    }

    func refusal(_ value: String, _ rule: String, _ settings: Settings) -> SettingRefusal {
        // The part before the @ of an address can be a password. The whole address of a phone's server is secret.
        let mightBeSecret =
            isSecret
            || (name.hasSuffix(".url")
                && (value.contains("@") || ["ntfy.", "webhook."].contains(where: name.hasPrefix)))
        return SettingRefusal(
            name: name, value: mightBeSecret ? "(hidden)" : value, rule: withUnits(rule, settings.amountUnits),
            currentValue: shown(settings).text)
    }
}
