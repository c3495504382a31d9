import Store
import TrackerCore

extension TrackerDesk {
    /// All settings.
    package func settings() throws -> SettingsReport {
        let (settings, refused) = try store.settingsAndRefused()
        return SettingsReport(Settings.catalogue.map { Self.line($0.name, settings) }, refused: refused)
    }

    /// The settings in force, for a surface that puts amounts into words or asks before it changes one.
    package func settingsInForce() throws -> Settings { try store.settings() }

    /// One setting.
    package func setting(_ name: String) throws -> SettingsReport {
        let (settings, refused) = try store.settingsAndRefused()
        guard settings.value(of: name) != nil else {
            throw Refusal(
                "noSuchSetting", Settings.removal(of: name) ?? "There is no setting \"\(name)\".", category: .notFound,
                values: ["name": name])
        }
        return SettingsReport([Self.line(name, settings)], refused: refused)
    }

    /// Changes settings: all that are named or, where a rule refuses one, none. An empty text takes an optional setting
    /// back; a preset may be named, its id is what the setting keeps.
    /// - Returns: the settings named, as they are now.
    package func set(_ changes: [(name: String, text: String)]) throws -> SettingsReport {
        try Self.checkOnce(changes.map(\.name))
        return try change {
            let settings = try store.changeSettings(
                try changes.map { (name: $0.name, text: try meantText($0)) }, context)
            return SettingsReport(changes.map { Self.line($0.name, settings) })
        }
    }

    /// How one bottle is found, read and understood: its own settings, over those of the store.
    package func settings(ofBottle bottle: String) throws -> BottleSettingsReport {
        Self.report(bottle, try store.settings(ofBottle: bottle))
    }

    /// Gives one bottle settings of its own: all that are named or, where a rule refuses one, none.
    /// - Parameter changes: `nil` takes a bottle's own setting back: it follows the store's again.
    package func set(_ changes: [(name: String, text: String?)], ofBottle bottle: String) throws -> BottleSettingsReport
    {
        try Self.checkOnce(changes.map(\.name))
        return try change { Self.report(bottle, try store.changeSettings(changes, ofBottle: bottle)) }
    }

    /// Names are taken whatever their case, so one setting may come in two spellings, which no surface sees: which of
    /// the values is meant nobody knows.
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

    /// The goal and schedule form (tracker law A11): commits what was touched, all or nothing.
    /// - Returns: the settings that were touched, as they are now.
    package func save(_ form: GoalForm) throws -> SettingsReport { try set(try form.changes(of: store.settings())) }

    /// Whether nobody was welcomed yet.
    package func isFirstVisit() throws -> Bool { try store.profile()?.onboardedAt == nil }

    /// What the welcome asks for.
    package static let setupNames = [
        "waterline.waterEveryNDrinks", "waterline.timeReminders", "waterline.intervalMinutes",
        "waterline.warningThreshold", "waterline.units",
        "hydration.goalMl",
    ]

    /// The welcome, once: settings, and the presets that everybody begins with.
    /// - Parameter notifications: how the question after notifications went, in the surface's words.
    package func setUp(_ changes: [(name: String, text: String)], notifications: String) throws -> SetupReport {
        try change {
            let isFirst = try isFirstVisit()
            let settings = try store.changeSettings(changes, isFirstChoice: isFirst, context)
            _ = try store.finishOnboarding(context)
            return SetupReport(
                isFirst: isFirst, settings: SettingsReport(Self.setupNames.map { Self.line($0, settings) }),
                presets: try presets().presets,
                notifications: notifications)
        }
    }

    // MARK: - Parts

    private static func line(_ name: String, _ settings: Settings) -> SettingsReport.Line {
        SettingsReport.Line(name: name, value: settings.value(of: name) ?? .unset)
    }

    private func meantText(_ change: (name: String, text: String)) throws -> String {
        guard change.name.lowercased() == "waterline.defaultpreset", let preset = try store.preset(named: change.text)
        else { return change.text }
        return preset.id
    }
}
