import Store
import TrackerCore

extension TrackerDesk {
    /// All settings.
    public func settings() throws -> SettingsReport {
        let (settings, refused) = try store.settingsAndRefused()
        return SettingsReport(Settings.catalogue.map { Self.line($0.name, settings) }, refused: refused)
    }

    /// The settings in force, for a surface that puts amounts into words or asks before it changes one.
    public func settingsInForce() throws -> Settings { try store.settings() }

    /// One setting.
    public func setting(_ name: String) throws -> SettingsReport {
        let (settings, refused) = try store.settingsAndRefused()
        guard settings.value(of: name) != nil else {
            throw Refusal("noSuchSetting", "There is no setting \"\(name)\".", category: .notFound, values: ["name": name])
        }
        return SettingsReport([Self.line(name, settings)], refused: refused)
    }

    /// Changes settings: all that are named or, where a rule refuses one, none. An empty text takes an optional setting back; a preset may be
    /// named, its id is what the setting keeps.
    /// - Returns: the settings named, as they are now.
    public func set(_ changes: [(name: String, text: String)]) throws -> SettingsReport {
        try change {
            let settings = try store.changeSettings(try changes.map { (name: $0.name, text: try meantText($0)) }, context)
            return SettingsReport(changes.map { Self.line($0.name, settings) })
        }
    }

    /// How one bottle is found, read and understood: its own settings, over those of the store.
    public func settings(ofBottle bottle: String) throws -> BottleSettingsReport {
        Self.report(bottle, try store.settings(ofBottle: bottle))
    }

    /// Gives one bottle settings of its own: all that are named or, where a rule refuses one, none.
    /// - Parameter changes: `nil` takes a bottle's own setting back: it follows the store's again.
    public func set(_ changes: [(name: String, text: String?)], ofBottle bottle: String) throws -> BottleSettingsReport {
        try change { Self.report(bottle, try store.changeSettings(changes, ofBottle: bottle)) }
    }

    /// The goal that a person's store begins with: nothing happens where one was ever chosen.
    public func begin(withGoal ml: Int) throws {
        guard try !store.hasChosenGoal() else { return }
        let goal = [(name: "hydration.goalMl", text: "\(ml)")]
        _ = try change { try store.changeSettings(goal, isFirstChoice: true, context) }
    }

    private static func report(_ bottle: String, _ found: (settings: Settings, own: Set<String>)) -> BottleSettingsReport {
        let names = Settings.catalogue.map(\.name).filter { $0.hasPrefix(BottleSettings.prefix) && $0 != Settings.aliasName }
        return BottleSettingsReport(bottle: bottle, settings: SettingsReport(names.map { line($0, found.settings) }), own: names.filter(found.own.contains))
    }

    /// The goal and schedule form (tracker law A11): commits what was touched, all or nothing.
    /// - Returns: the settings that were touched, as they are now.
    public func save(_ form: GoalForm) throws -> SettingsReport { try set(try form.changes(of: store.settings())) }

    /// Whether nobody was welcomed yet.
    public func isFirstVisit() throws -> Bool { try store.profile()?.onboardedAt == nil }

    /// What the welcome asks for.
    public static let setupNames = [
        "waterline.waterEveryNDrinks", "waterline.timeReminders", "waterline.intervalMinutes", "waterline.warningThreshold", "waterline.units",
        "hydration.goalMl",
    ]

    /// The welcome, once: settings, and the presets that everybody begins with.
    /// - Parameter notifications: how the question after notifications went, in the surface's words.
    public func setUp(_ changes: [(name: String, text: String)], notifications: String) throws -> SetupReport {
        try change {
            let isFirst = try isFirstVisit()
            let settings = try store.changeSettings(changes, isFirstChoice: isFirst, context)
            _ = try store.finishOnboarding(context)
            return SetupReport(
                isFirst: isFirst, settings: SettingsReport(Self.setupNames.map { Self.line($0, settings) }), presets: try presets().presets,
                notifications: notifications)
        }
    }

    // MARK: - Parts

    private static func line(_ name: String, _ settings: Settings) -> SettingsReport.Line {
        SettingsReport.Line(name: name, value: settings.value(of: name) ?? .unset)
    }

    private func meantText(_ change: (name: String, text: String)) throws -> String {
        guard change.name.lowercased() == "waterline.defaultpreset", let preset = try store.preset(named: change.text) else { return change.text }
        return preset.id
    }
}
