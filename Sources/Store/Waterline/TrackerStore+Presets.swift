import GRDB
import TrackerCore

extension TrackerStore {
    /// The presets, in the order they were made.
    package func presets() throws -> [DrinkPreset] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM preset WHERE deleted = 0 ORDER BY position, id").readable(
                PresetTable.preset)
        }
    }

    /// A preset by its id, or by its name whatever the case.
    package func preset(named name: String) throws -> DrinkPreset? {
        let all = try presets()
        // A store of an earlier version, or of two devices, may hold names that differ in that only: the one that is
        // written so is meant.
        return all.first { $0.id == name } ?? all.first { $0.name.utf8.elementsEqual(name.utf8) } ?? all.first {
            $0.name == name
        }
            ?? all.first { $0.name.lowercased() == name.lowercased() }
    }

    /// Adds a preset.
    /// - Throws: `Refusal` for an empty or taken name, a size, strength or estimate out of range.
    package func addPreset(
        name: String, drinkType: DrinkType, sizeOz: Double?, abv: Double?, estimate: Double, _ context: WriteContext
    ) throws -> DrinkPreset {
        try write { db in
            let profile = try ProfileTable.findOrMake(db, context)
            try PresetTable.check(name: name, sizeOz: sizeOz, abv: abv, estimate: estimate, except: nil, db)
            let preset = DrinkPreset(
                id: context.makeID(), userID: profile.userID, name: name, drinkType: drinkType, sizeOz: sizeOz,
                abv: abv,
                standardDrinkEstimate: estimate)
            try PresetTable.insert(preset, profile, context, db)
            return preset
        }
    }

    /// Replaces a preset's values. Entries logged with it keep theirs.
    package func savePreset(_ preset: DrinkPreset, _ context: WriteContext) throws {
        try write { db in
            let profile = try ProfileTable.findOrMake(db, context)
            try PresetTable.check(
                name: preset.name, sizeOz: preset.sizeOz, abv: preset.abv, estimate: preset.standardDrinkEstimate,
                except: preset.id, db)
            try db.execute(
                sql: """
                    UPDATE preset SET name = ?, drinkType = ?, sizeOz = ?, abv = ?, standardDrinkEstimate = ?, \
                    updatedAt = max(?, updatedAt + 1),
                        deviceId = ? WHERE id = ? AND deleted = 0
                    """,
                arguments: [
                    preset.name, preset.drinkType.rawValue, preset.sizeOz, preset.abv, preset.standardDrinkEstimate,
                    context.now.milliseconds, profile.deviceID, preset.id,
                ])
            guard db.changesCount == 1 else { throw PresetTable.unknown(preset.id) }
            try OutboxWriter.put(.preset(preset.id), op: .upsertDrinkPreset, at: context.now, db)
        }
    }

    /// Deletes a preset; a default that named it is unset.
    package func deletePreset(_ id: String, _ context: WriteContext) throws {
        try write { db in
            let profile = try ProfileTable.findOrMake(db, context)
            try db.execute(
                sql:
                    """
                    UPDATE preset SET deleted = 1, updatedAt = max(?, updatedAt + 1), deviceId = ? WHERE id = ? \
                    AND deleted = 0
                    """,
                arguments: [context.now.milliseconds, profile.deviceID, id])
            guard db.changesCount == 1 else { throw PresetTable.unknown(id) }
            try db.execute(
                sql: "DELETE FROM setting WHERE name = 'waterline.defaultPreset' AND value = ?", arguments: [id])
            try OutboxWriter.put(.preset(id), op: .upsertDrinkPreset, at: context.now, db)
        }
    }
}
