import TrackerCore

/// Some settings, or all, in the catalogue's order or the one that was asked in. As JSON one object: names and values.
public struct SettingsReport: Hashable, Sendable, Encodable {
    /// A setting's name and what is in force.
    public struct Line: Hashable, Sendable {
        /// The setting's name.
        public let name: String
        /// What it is.
        public let value: SettingValue
    }

    /// In the order in which they were asked for.
    public let lines: [Line]
    /// Values that stand in the store and no longer fit their rule: the default is in force.
    public let refused: [SettingRefusal]

    init(_ lines: [Line], refused: [SettingRefusal] = []) {
        self.lines = lines
        self.refused = refused
    }

    public func encode(to encoder: any Encoder) throws {
        try Dictionary(lines.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last }).encode(to: encoder)
    }
}

/// The settings by which one bottle is read.
public struct BottleSettingsReport: Hashable, Sendable, Encodable {
    /// The bottle, as it was named.
    public let bottle: String
    /// Names and what is in force for that bottle.
    public let settings: SettingsReport
    /// Names of those that are the bottle's own; the others are the store's.
    public let own: [String]
}

/// What the welcome answers.
public struct SetupReport: Hashable, Sendable, Encodable {
    /// Nobody was welcomed before.
    public let isFirst: Bool
    /// All settings, as they are now.
    public let settings: SettingsReport
    /// All presets, as they are now.
    public let presets: [PresetReport]
    /// How the question after notifications went, in the surface's words.
    public let notifications: String
}
