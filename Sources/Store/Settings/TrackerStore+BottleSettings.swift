import GRDB
import TrackerCore

/// Settings of one bottle: its own, over those of the store.
extension TrackerStore {
    /// The settings by which this bottle is read, and the names of those that are its own.
    /// - Throws: `Refusal` where no bottle goes by that name.
    package func settings(ofBottle bottle: String) throws -> (settings: Settings, own: Set<String>) {
        try read { db in
            let id = try known(bottle, db)
            let own = try SettingTable.texts(ofBottle: id, db)
            return (try Self.settings(own, db).settings, Set(own.keys))
        }
    }

    /// How this bottle is read, where it has settings of its own; `nil`: as the store's settings say, as also where
    /// nobody goes by that name.
    package func ownSettings(ofBottle bottle: String) throws -> BottleSettings? {
        try read { db in
            guard let id = try BottleTable.known(bottle, db) else { return nil }
            let own = try SettingTable.texts(ofBottle: id, db)
            return own.isEmpty ? nil : try Self.settings(own, db).settings.bottle
        }
    }

    /// Gives a bottle settings of its own: all of them or, where a rule refuses one, none. A new alias renames it.
    /// - Parameter changes: names that begin with `bottle.`; `nil` for a text takes the bottle's own back, so that it
    ///   follows the store's again.
    /// - Throws: `SettingRefusal`, which names the rule and the value that stays; `Refusal` where no bottle goes by
    ///   that name.
    @discardableResult
    package func changeSettings(_ changes: [(name: String, text: String?)], ofBottle bottle: String) throws -> (
        settings: Settings, own: Set<String>
    ) {
        try write { db in
            let id = try known(bottle, db)
            var settings = try Self.settings(try SettingTable.texts(ofBottle: id, db), db).settings
            for change in changes {
                let name = try Settings.bottleSetting(change.name, given: change.text ?? "")
                if name == Settings.aliasName {
                    guard let alias = change.text, !alias.isEmpty else {
                        throw SettingRefusal(
                            name: name, given: "",
                            rule: "A bottle that was given a name keeps it until it gets another.", kept: bottle)
                    }
                    try settings.set(name, to: alias)
                    try BottleTable.rename(bottle, to: settings.bottle.alias ?? alias, db)
                    continue
                }
                if let text = change.text {
                    try settings.set(name, to: text)
                    try SettingTable.save(settings.value(of: name)?.text ?? text, as: name, ofBottle: id, db)
                } else {
                    try SettingTable.save(nil, as: name, ofBottle: id, db)
                }
            }
            let own = try SettingTable.texts(ofBottle: id, db)
            return (try Self.settings(own, db).settings, Set(own.keys))
        }
    }

    private func known(_ bottle: String, _ db: Database) throws -> Int64 {
        guard let id = try BottleTable.known(bottle, db) else {
            throw Refusal(
                "unknownBottle", "No bottle is known as \"\(bottle)\".", category: .notFound, values: ["given": bottle])
        }
        return id
    }

    private static func settings(_ own: [String: String], _ db: Database) throws -> (
        settings: Settings, refused: [SettingRefusal]
    ) {
        Settings.restored(from: try SettingTable.texts(db).merging(own) { $1 })
    }
}
