import GRDB
package import TrackerCore

extension TrackerStore {
    package func profile() throws -> Profile? { try read(ProfileTable.find) }

    /// The profile. The first call creates the user.
    package func profile(_ context: WriteContext) throws -> Profile {
        if let known = try profile() { return known }
        return try write { try ProfileTable.findOrCreate($0, context) }
    }

    /// Whether the store has been used: setup is finished, or there is a setting, bottle, drink or session. Before
    /// that, no reminders.
    package func hasBeenUsed() throws -> Bool {
        try read { db in
            try ["setting", "day", "drink", "bottle", "session", "profile WHERE onboardedAt IS NOT NULL"].contains {
                try db.has("FROM \($0)")
            }
        }
    }

    /// Marks setup as finished and adds the five default presets, once. Deleted presets stay deleted.
    /// - Returns: whether this was the first time.
    package func finishOnboarding(_ context: WriteContext) throws -> Bool {
        try write { db in
            let profile = try ProfileTable.findOrCreate(db, context)
            guard profile.onboardedAt == nil else { return false }
            try db.run("UPDATE profile SET onboardedAt = ?", [context.now])
            for preset in DrinkPreset.defaults(userID: profile.userID, makeID: context.makeID) {
                try PresetTable.insert(preset, profile, context, db)
            }
            return true
        }
    }
}

/// The user of the store, and the device id for synchronisation.
package struct Profile: Hashable, Sendable {
    package var userID: String
    /// Resolves conflicts with equal `updatedAt` (tracker spec E8).
    package var deviceID: String
    package var createdAt: Instant
    /// The end of setup; `nil` before it.
    package var onboardedAt: Instant?
}

extension Profile: Decodable, FetchableRecord {
    private enum CodingKeys: String, CodingKey {
        case userID = "id"
        case deviceID, createdAt, onboardedAt
    }
}

enum ProfileTable {
    static func find(_ db: Database) throws -> Profile? { try db.first("SELECT * FROM profile") }

    static func findOrCreate(_ db: Database, _ context: WriteContext) throws -> Profile {
        if let known = try find(db) { return known }
        let profile = Profile(userID: context.makeID(), deviceID: context.makeID(), createdAt: context.now)
        try db.run(
            "INSERT INTO profile (id, deviceId, createdAt) VALUES (?, ?, ?)",
            [profile.userID, profile.deviceID, profile.createdAt])
        try OutboxWriter.enqueue(.user, profile.userID, at: context.now, db)
        return profile
    }
}
