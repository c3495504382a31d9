package import Store
package import TrackerCore

extension TrackerAPI {
    /// All settings, without those of Waterline if the caller has no access to it.
    package func settings() throws -> SettingsReport {
        let (settings, invalid) = try store.validatedSettings()
        return SettingsReport(shown(Settings.catalogue.map(\.name), settings), invalid: invalid)
    }

    package func setting(_ name: String) throws -> SettingsReport {
        let (settings, invalid) = try store.validatedSettings()
        guard settings.value(of: name) != nil else {
            throw Refusal(
                "noSuchSetting", Settings.removal(of: name) ?? "There is no setting \"\(name)\".", category: .notFound,
                values: ["name": name])
        }
        return SettingsReport([Self.line(name, settings)], invalid: invalid)
    }

    /// Changes settings: all, or none if a rule rejects one. An empty text unsets an optional setting. The setting
    /// `waterline.defaultPreset` accepts the name of a preset, and stores its id.
    /// - Returns: the changed settings.
    package func set(_ changes: [(name: String, text: String)]) throws -> SettingsReport {
        try Self.checkOnce(changes.map(\.name))
        return try change {
            let settings = try store.changeSettings(
                try changes.map { (name: $0.name, text: try storedText($0)) }, context)
            return SettingsReport(changes.map { Self.line($0.name, settings) })
        }
    }

    /// The effective settings of a bottle: its own, else those of the store.
    package func settings(ofBottle bottle: String) throws -> BottleSettingsReport {
        Self.report(bottle, try store.settings(ofBottle: bottle))
    }

    /// Changes a bottle's own settings: all, or none if a rule rejects one.
    /// - Parameter changes: `nil` unsets the bottle's own value.
    package func set(_ changes: [(name: String, text: String?)], ofBottle bottle: String) throws -> BottleSettingsReport
    {
        try Self.checkOnce(changes.map(\.name))
        return try change { Self.report(bottle, try store.changeSettings(changes, ofBottle: bottle)) }
    }

    /// Rejects a setting that is given twice, for example in different letter case.
    private static func checkOnce(_ names: [String]) throws {
        var spellings: [String: String] = [:]
        guard
            let name = names.first(where: { name in
                defer { spellings[name.lowercased()] = name }
                return spellings[name.lowercased()].map { $0 != name } ?? false
            })
        else { return }
        throw Refusal(
            "repeatedField", "\"\(name.prefix(64))\" is set more than once: nothing was changed.", category: .invalid,
            values: ["key": name])
    }

    private static func report(_ bottle: String, _ found: (settings: Settings, own: Set<String>))
        -> BottleSettingsReport
    {
        let names = Settings.catalogue.map(\.name).filter {
            $0.hasPrefix(BottleSettings.prefix) && $0 != Settings.aliasName
        }
        return BottleSettingsReport(
            bottle: bottle, settings: SettingsReport(names.map { line($0, found.settings) }),
            own: names.filter(found.own.contains))
    }

    package func isFirstVisit() throws -> Bool { try store.profile()?.onboardedAt == nil }

    package static let setupNames = [
        "waterline.waterEveryNDrinks", "waterline.timeReminders", "waterline.intervalMinutes",
        "waterline.warningThreshold", "waterline.units", "hydration.goalMl",
    ]

    /// Completes the first-time setup once: stores settings and adds the default presets.
    /// - Parameter notifications: the result of the request for notification permission, as text of the interface.
    package func setUp(_ changes: [(name: String, text: String)], notifications: String) throws -> SetupReport {
        try change {
            let isFirst = try isFirstVisit()
            let settings = try store.changeSettings(changes, isFirstChoice: isFirst, context)
            _ = try store.finishOnboarding(context)
            return SetupReport(
                isFirst: isFirst, settings: SettingsReport(shown(Self.setupNames, settings)),
                presets: mayReadWaterline ? try presets().presets : nil, notifications: notifications)
        }
    }

    private func shown(_ names: [String], _ settings: Settings) -> [SettingsReport.Line] {
        names.filter { mayReadWaterline || !SettingScope.isAboutWaterline($0) }.map { Self.line($0, settings) }
    }

    private static func line(_ name: String, _ settings: Settings) -> SettingsReport.Line {
        SettingsReport.Line(name: name, value: settings.value(of: name) ?? .null)
    }

    private func storedText(_ change: (name: String, text: String)) throws -> String {
        guard change.name.lowercased() == "waterline.defaultpreset", let preset = try store.preset(named: change.text)
        else { return change.text }
        return preset.id
    }

    package func presets() throws -> PresetList {
        PresetList(presets: try store.presets())
    }

    /// Adds a preset. The default type is cocktail. The default estimate of standard drinks is computed from size and
    /// strength, else 1.0.
    package func addPreset(_ name: String, _ values: PresetValues) throws -> DrinkPreset {
        try change {
            try store.addPreset(
                name: name, drinkType: values.type ?? .cocktail, sizeOz: values.sizeOz, abv: values.abv,
                estimate: values.estimate ?? PresetValues.estimate(values.sizeOz, values.abv) ?? 1, context)
        }
    }

    /// Changes a preset. A new size or strength also changes its estimate of standard drinks. Existing log entries do
    /// not change.
    package func editPreset(_ name: String, _ values: PresetValues) throws -> DrinkPreset {
        try change {
            var changed = try preset(name)
            changed.name = values.name ?? changed.name
            changed.drinkType = values.type ?? changed.drinkType
            changed.sizeOz = values.sizeOz ?? (values.without.contains(.size) ? nil : changed.sizeOz)
            changed.abv = values.abv ?? (values.without.contains(.strength) ? nil : changed.abv)
            let computed =
                values.sizeOz == nil && values.abv == nil ? nil : PresetValues.estimate(changed.sizeOz, changed.abv)
            if let estimate = values.estimate ?? computed {
                guard estimate.isFinite else { throw WaterlineSession.Refusal.estimate }
                changed.standardDrinkEstimate = StandardDrinks.rounded(estimate)
            }
            try store.savePreset(changed, context)
            return changed
        }
    }

    /// Deletes a preset. Setup does not add it again.
    package func deletePreset(_ name: String) throws -> DrinkPreset {
        try change {
            let found = try preset(name)
            try store.deletePreset(found.id, context)
            return found
        }
    }

    func preset(_ name: String) throws -> DrinkPreset {
        guard let preset = try store.preset(named: name) else {
            throw Refusal(
                "noSuchPreset", "There is no preset \"\(name)\".", category: .notFound, values: ["given": name])
        }
        return preset
    }

    /// All tokens, without their secret.
    package func tokens() throws -> TokenList { TokenList(tokens: try store.tokens()) }

    /// Returns the record of a valid token, and stores the time of its use; `nil` for an unknown or expired one.
    package func authenticate(_ token: String) throws -> TokenRecord? { try store.authenticate(token, at: now) }

    /// Adds a token again after a purge has deleted it.
    package func restore(token: String, _ record: TokenRecord) throws {
        _ = try store.addToken(token, label: record.label, scope: record.scope, context)
    }

    /// Creates a token of 256 random bits. Only this result contains it; the store keeps a hash.
    /// - Parameter label: 1 to 64 printable characters.
    package func makeToken(label: String, scope: Scope) throws -> NewToken {
        try Self.checkLabel(label)
        return try change {
            let token = "wt_" + Self.secret()
            let record = try store.addToken(token, label: label, scope: scope.rawValue, context)
            return NewToken(id: record.id, label: label, scope: scope, token: token)
        }
    }

    /// Rejects a label that terminals and pages cannot display.
    package static func checkLabel(_ label: String) throws {
        guard PrintableText.isName(label, limit: 64) else {
            throw WrongInput("label", "A label must have 1 to 64 printable characters.")
        }
    }

    /// A secret of 256 random bits, as text.
    package static func secret() -> String {
        var random = SystemRandomNumberGenerator()
        return hex((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    /// Revokes the token with this prefix of its id; `nil` revokes all ("sign out").
    package func revokeTokens(_ beginning: String?) throws -> Revocation {
        try change {
            Revocation(revoked: try store.revokeTokens(beginning, context))
        }
    }
}
