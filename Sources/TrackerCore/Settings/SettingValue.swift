/// A setting's value as scripts see it.
package enum SettingValue: Hashable, Sendable, Encodable {
    case unset
    case flag(Bool)
    case integer(Int)
    case number(Double)
    case text(String)
    case list([Int])

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .unset: try container.encodeNil()
        case .flag(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        }
    }

    /// The text that `Settings.set` takes back: `2`, `0.5`, `true`, `07:00`, `100,250,500`; empty for unset.
    package var text: String {
        switch self {
        case .unset: ""
        case .flag(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .number(let value): value == value.rounded() ? String(Int(value)) : String(value)
        case .text(let value): value
        case .list(let values): values.map(String.init).joined(separator: ",")
        }
    }
}

/// Why a value was not taken. The setting keeps what it had.
package struct SettingRefusal: Problem, Hashable {
    /// The setting's name.
    package var name: String
    /// What it should have become.
    package var given: String
    /// The rule that was broken, in words.
    package var rule: String
    /// What the setting still is, as text.
    package var kept: String?

    package init(name: String, given: String, rule: String, kept: String?) {
        self.name = name
        self.given = given
        self.rule = rule
        self.kept = kept
    }

    /// `noSuchSetting`, or `settingRule`.
    package var code: String { kept == nil ? "noSuchSetting" : "settingRule" }
    /// There is no such setting, or its rule said no.
    package var category: ProblemCategory { kept == nil ? .notFound : .refused }
    /// Name, what was given, the rule, and what it stays.
    package var values: [String: String] {
        ["name": name, "given": given, "rule": rule].merging(kept.map { ["kept": $0] } ?? [:]) { $1 }
    }
    /// What the rule is, and what the setting stays.
    package var sentence: String {
        guard let kept else { return Settings.removal(of: name) ?? "\(name): \(rule)" }
        return "\(name) cannot be \"\(given)\": \(rule) It stays \(kept.isEmpty ? "unset" : kept)."
    }
}

/// One line of the settings table.
package struct SettingEntry: Sendable {
    /// `hydration.goalMl`.
    package let name: String
    /// What may stand there, in words that end a sentence: `It must be a whole number from 500 to 5000 ml.`
    package let rule: String
    let read: @Sendable (Settings) -> SettingValue
    /// Stores the text's value and tells whether it could.
    let write: @Sendable (inout Settings, String) -> Bool
    /// Set, but never shown.
    package private(set) var isSecret = false
    /// The range of an amount, in millilitres: who reads in other units is told it in those, too.
    var amounts: ClosedRange<Int>?

    init(
        name: String, rule: String, read: @escaping @Sendable (Settings) -> SettingValue,
        write: @escaping @Sendable (inout Settings, String) -> Bool
    ) {
        self.name = name
        self.rule = rule
        self.read = read
        self.write = write
    }

    /// The same, as one whose value no surface shows.
    var secret: SettingEntry {
        var copy = self
        copy.isSecret = true
        return copy
    }

    /// The value as it may be shown.
    func shown(_ settings: Settings) -> SettingValue {
        let value = read(settings)
        return isSecret && value != .unset ? .text("(set)") : value
    }

    private func inUnits(_ rule: String, _ units: AmountUnits) -> String {
        guard let amounts, units != .ml, rule.hasSuffix(".") else { return rule }
        return "\(rule.dropLast()) (\(units.text(amounts.lowerBound)) to \(units.text(amounts.upperBound)))."
    }

    func refusal(_ given: String, _ rule: String, _ settings: Settings) -> SettingRefusal {
        // What stands before the @ of an address may be a password; of a phone's server the whole address is one, and
        // so is every piece of it.
        let isTelling =
            isSecret
            || (name.hasSuffix(".url")
                && (given.contains("@") || ["ntfy.", "webhook."].contains(where: name.hasPrefix)))
        return SettingRefusal(
            name: name, given: isTelling ? "(hidden)" : given, rule: inUnits(rule, settings.amountUnits),
            kept: shown(settings).text)
    }
}
