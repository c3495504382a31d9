extension Settings {
    /// Sets one setting from its text. Throws for an unknown name, an invalid value or inconsistent hours, without a
    /// change. `presets`: the valid ids for `waterline.defaultPreset`, if known.
    package mutating func set(_ name: String, to text: String, presets: Set<String>? = nil) throws(SettingRefusal) {
        try set([(name, text)], presets: presets)
    }

    /// Sets several settings: all or none.
    package mutating func set(_ changes: [(name: String, text: String)], presets: Set<String>? = nil)
        throws(SettingRefusal)
    {
        var changed = self
        for (name, text) in changes {
            guard let entry = Self.entry(name) else { throw Self.unknown(name, text) }
            let value = String(Substring(text).trimmingSpaces())
            guard entry.write(&changed, value) else { throw entry.refusal(value, entry.rule, self) }
        }
        if let id = changed.defaultPreset, id != defaultPreset, let presets, !presets.contains(id) {
            throw SettingRefusal(
                name: "waterline.defaultPreset", value: id, rule: "It must be the id of one of your presets, or unset.",
                currentValue: defaultPreset ?? "")
        }
        if let violatedRule = changed.violatedScheduleRule, let (name, text) = changes.first {
            throw Self.entry(name)?.refusal(text, violatedRule, self) ?? Self.unknown(name, text)
        }
        self = changed
    }

    /// Returns the canonical name of a setting that a bottle can override. Throws for any other setting.
    /// - Parameter value: the text for the error.
    package static func bottleSetting(_ name: String, value: String = "") throws(SettingRefusal) -> String {
        guard let entry = entry(name) else { throw unknown(name, value) }
        guard entry.name.hasPrefix(BottleSettings.prefix) else {
            throw SettingRefusal(
                name: entry.name, value: value,
                rule: "It belongs to a person's day or to the service: one bottle cannot have its own.",
                currentValue: "as it is for all bottles")
        }
        return entry.name
    }

    package static let aliasName = BottleSettings.prefix + "alias"

    package func value(of name: String) -> PlainValue? { Self.entry(name)?.shown(self) }

    /// The non-default settings by name, as the store saves them.
    package var stored: [String: String] {
        let defaults = Settings()
        var texts: [String: String] = [:]
        for entry in Self.catalogue where entry.read(self) != entry.read(defaults) {
            texts[entry.name] = entry.read(self).text
        }
        return texts
    }

    /// Reads settings from a store. An invalid value is reported, and the default applies.
    package static func restored(from texts: [String: String]) -> (settings: Settings, invalid: [SettingRefusal]) {
        var settings = Settings()
        var invalid: [SettingRefusal] = []
        for entry in catalogue {
            guard let text = texts[entry.name] else { continue }
            if !entry.write(&settings, text) {
                invalid.append(entry.refusal(text, entry.rule, settings))
            }
        }
        if let broken = settings.violatedScheduleRule {
            let defaults = Settings()
            settings.boundaryHour = defaults.boundaryHour
            (settings.wake, settings.sleep) = (defaults.wake, defaults.sleep)
            (settings.intervalWake, settings.intervalSleep) = (nil, nil)
            (settings.adaptiveStart, settings.adaptiveEnd) = (nil, nil)
            invalid.append(
                SettingRefusal(
                    name: "schedule.wake", value: "the stored hours", rule: broken, currentValue: "at the defaults"))
        }
        return (settings, invalid)
    }

    /// The rule that the hours violate, or `nil`: boundary hour <= wake < sleep on one date, also for overrides.
    var violatedScheduleRule: String? {
        let starts = [wake, intervalHours.wake, adaptiveHours.start]
        let ends = [sleep, intervalHours.sleep, adaptiveHours.end]
        guard starts.allSatisfy({ $0 >= TimeOfDay(hour: boundaryHour) }) else {
            return "The day must begin (day.boundaryHour) no later than the first waking hour."
        }
        guard zip(starts, ends).allSatisfy({ $0 < $1 }) else {
            return "Waking must come before sleeping on the same date."
        }
        return nil
    }

    /// Finds a setting by its exact name, then ignoring letter case.
    private static func entry(_ name: String) -> SettingEntry? {
        catalogue.first { $0.name == name } ?? catalogue.first { $0.name.lowercased() == name.lowercased() }
    }

    private static func unknown(_ name: String, _ text: String) -> SettingRefusal {
        SettingRefusal(name: name, value: text, rule: "There is no setting of this name.", currentValue: nil)
    }
}
