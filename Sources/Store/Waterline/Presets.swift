import GRDB
package import TrackerCore

extension TrackerStore {
    package func presets() throws -> [DrinkPreset] {
        try all("SELECT * FROM preset WHERE deleted = 0 ORDER BY position, id")
    }

    /// Finds a preset by id, or by name without regard to case.
    package func preset(named name: String) throws -> DrinkPreset? {
        let all = try presets()
        // Earlier versions, or two devices, can store names that differ in case only. The exact match takes precedence.
        return all.first { $0.id == name } ?? all.first { $0.name.utf8.elementsEqual(name.utf8) }
            ?? all.first { $0.name == name } ?? all.first { $0.name.lowercased() == name.lowercased() }
    }

    /// Adds a preset.
    /// - Throws: `Refusal` for an empty or used name, or a size, strength or estimate out of range.
    package func addPreset(
        name: String, drinkType: DrinkType, sizeOz: Double?, abv: Double?, estimate: Double, _ context: WriteContext
    ) throws -> DrinkPreset {
        try write { db in
            let profile = try ProfileTable.findOrCreate(db, context)
            try PresetTable.check(name: name, sizeOz: sizeOz, abv: abv, estimate: estimate, except: nil, db)
            let preset = DrinkPreset(
                id: context.makeID(), userID: profile.userID, name: name, drinkType: drinkType, sizeOz: sizeOz,
                abv: abv, standardDrinkEstimate: estimate)
            try PresetTable.insert(preset, profile, context, db)
            return preset
        }
    }

    /// Changes a preset. Existing entries keep their values.
    package func savePreset(_ preset: DrinkPreset, _ context: WriteContext) throws {
        try write { db in
            let profile = try ProfileTable.findOrCreate(db, context)
            try PresetTable.check(
                name: preset.name, sizeOz: preset.sizeOz, abv: preset.abv, estimate: preset.standardDrinkEstimate,
                except: preset.id, db)
            try db.run(
                """
                UPDATE preset SET name = ?, drinkType = ?, sizeOz = ?, abv = ?, standardDrinkEstimate = ?,
                updatedAt = max(?, updatedAt + 1), deviceId = ? WHERE id = ? AND deleted = 0
                """,
                [
                    preset.name, preset.drinkType.rawValue, preset.sizeOz, preset.abv, preset.standardDrinkEstimate,
                    context.now, profile.deviceID, preset.id,
                ])
            guard db.changesCount == 1 else { throw PresetTable.unknown(preset.id) }
            try OutboxWriter.enqueue(.preset, preset.id, at: context.now, db)
        }
    }

    /// Deletes a preset, and unsets a default that names it.
    package func deletePreset(_ id: String, _ context: WriteContext) throws {
        try write { db in
            let profile = try ProfileTable.findOrCreate(db, context)
            try db.run(
                """
                UPDATE preset SET deleted = 1, updatedAt = max(?, updatedAt + 1), deviceId = ? WHERE id = ? AND
                deleted = 0
                """, [context.now, profile.deviceID, id])
            guard db.changesCount == 1 else { throw PresetTable.unknown(id) }
            try db.run("DELETE FROM setting WHERE name = 'waterline.defaultPreset' AND value = ?", [id])
            try OutboxWriter.enqueue(.preset, id, at: context.now, db)
        }
    }
}

extension DrinkPreset: FetchableRecord {}

enum PresetTable {
    static func insert(_ preset: DrinkPreset, _ profile: Profile, _ context: WriteContext, _ db: Database) throws {
        try db.run(
            """
            INSERT INTO preset (id, userId, name, drinkType, sizeOz, abv, standardDrinkEstimate, position,
            updatedAt, deviceId) VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(position), 0) + 1 FROM preset), ?, ?)
            """,
            [
                preset.id, preset.userID, preset.name, preset.drinkType.rawValue, preset.sizeOz, preset.abv,
                preset.standardDrinkEstimate, context.now, profile.deviceID,
            ])
        try OutboxWriter.enqueue(.preset, preset.id, at: context.now, db)
    }

    static func unknown(_ id: String) -> Refusal {
        Refusal("noSuchPreset", "There is no preset \"\(id)\".", category: .notFound, values: ["given": id])
    }

    static func check(
        name: String, sizeOz: Double?, abv: Double?, estimate: Double, except id: String?, _ db: Database
    ) throws {
        // Older versions accepted other names. Such a preset can still be changed in its other values.
        guard
            try PrintableText.isName(name, limit: 64)
                || name == db.first("SELECT name FROM preset WHERE id = ?", [id])
        else {
            throw Refusal("presetName", "A preset's name must have 1 to 64 printable characters.")
        }
        // Compares names as `preset(named:)` does. SQL's lower() handles only ASCII.
        let others: [String] = try db.all("SELECT name FROM preset WHERE deleted = 0 AND id <> ?", [id ?? ""])
        guard !others.contains(where: { $0.lowercased() == name.lowercased() }) else {
            throw Refusal("presetNameTaken", "There already is a preset named \"\(name)\".")
        }
        if let sizeOz, !(sizeOz > 0 && sizeOz <= 100) {
            throw Refusal("presetSize", "A preset's size must be more than 0 and at most 100 oz.")
        }
        if let abv, !(0...100).contains(abv) {
            throw Refusal("presetStrength", "A preset's strength must be 0 to 100 percent by volume.")
        }
        // Check the estimate last, because it can follow from the other two values.
        guard StandardDrinks.range.contains(estimate) else { throw WaterlineSession.Refusal.estimate }
    }

    static func names(inSession id: String, _ db: Database) throws -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: try db.pairs(
                "SELECT id, name FROM preset WHERE id IN (SELECT presetId FROM log_entry WHERE sessionId = ?)", [id]))
    }
}
