import TrackerCore

/// Some settings, or all, in the catalogue's order or the one that was asked in. As JSON one object: names and values.
package struct SettingsReport: Hashable, Sendable, Encodable {
    /// A setting's name and what is in force.
    package struct Line: Hashable, Sendable {
        /// The setting's name.
        package let name: String
        /// What it is.
        package let value: SettingValue
    }

    /// In the order in which they were asked for.
    package let lines: [Line]
    /// Values that stand in the store and no longer fit their rule: the default is in force.
    package let refused: [SettingRefusal]

    init(_ lines: [Line], refused: [SettingRefusal] = []) {
        self.lines = lines
        self.refused = refused
    }

    package func encode(to encoder: any Encoder) throws {
        try Dictionary(lines.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last }).encode(to: encoder)
    }
}

/// The settings by which one bottle is read.
package struct BottleSettingsReport: Hashable, Sendable, Encodable {
    /// The bottle, as it was named.
    package let bottle: String
    /// Names and what is in force for that bottle.
    package let settings: SettingsReport
    /// Names of those that are the bottle's own; the others are the store's.
    package let own: [String]
}

/// What the welcome answers.
package struct SetupReport: Hashable, Sendable, Encodable {
    /// Nobody was welcomed before.
    package let isFirst: Bool
    /// All settings, as they are now.
    package let settings: SettingsReport
    /// All presets, as they are now.
    package let presets: [PresetReport]
    /// How the question after notifications went, in the surface's words.
    package let notifications: String
}
