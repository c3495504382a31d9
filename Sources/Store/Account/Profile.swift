import GRDB
import TrackerCore

extension TrackerStore {
    package func profile() throws -> Profile? { try read { try ProfileTable.find($0) } }

    /// The profile. The first call creates the user.
    package func profile(_ context: WriteContext) throws -> Profile {
        if let known = try profile() { return known }
        return try write { try ProfileTable.findOrMake($0, context) }
    }

    /// Whether the store has been used: setup is finished, or there is a setting, bottle, drink or session. Before
    /// that, no reminders.
    package func hasBegun() throws -> Bool {
        try read { db in
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM setting) OR EXISTS (SELECT 1 FROM day) OR EXISTS (SELECT 1 FROM
                    drink) OR EXISTS (SELECT 1 FROM bottle) OR EXISTS (SELECT 1 FROM session) OR EXISTS (SELECT 1 FROM
                    profile WHERE onboardedAt IS NOT NULL)
                    """) ?? false
        }
    }

    /// Marks setup as finished and adds the five default presets, once. Deleted presets stay deleted.
    /// - Returns: whether this was the first time.
    package func finishOnboarding(_ context: WriteContext) throws -> Bool {
        try write { db in
            let profile = try ProfileTable.findOrMake(db, context)
            guard profile.onboardedAt == nil else { return false }
            try db.run("UPDATE profile SET onboardedAt = ?", [context.now.milliseconds])
            for preset in DrinkPreset.defaults(userID: profile.userID, makeID: context.makeID) {
                try PresetTable.insert(preset, profile, context, db)
            }
            return true
        }
    }
}

package struct Profile: Hashable, Sendable {
    package var userID: String
    /// Resolves conflicts with equal `updatedAt` (tracker spec E8).
    package var deviceID: String
    package var createdAt: Instant
    /// The end of setup; `nil` before it.
    package var onboardedAt: Instant?
}

extension Profile {
    init(row: Row) throws {
        self.init(
            userID: try row.checked("id"), deviceID: try row.checked("deviceId"),
            createdAt: try row.instant("createdAt"),
            onboardedAt: try row.instantIfAny("onboardedAt"))
    }
}

enum ProfileTable {
    static func find(_ db: Database) throws -> Profile? {
        try Row.fetchOne(try db.cachedStatement(sql: "SELECT * FROM profile")).map(Profile.init(row:))
    }

    static func findOrMake(_ db: Database, _ context: WriteContext) throws -> Profile {
        if let known = try find(db) { return known }
        let profile = Profile(userID: context.makeID(), deviceID: context.makeID(), createdAt: context.now)
        try db.run(
            "INSERT INTO profile (id, deviceId, createdAt) VALUES (?, ?, ?)",
            [profile.userID, profile.deviceID, profile.createdAt.milliseconds])
        try OutboxWriter.put(.user(profile.userID), op: .createUser, at: context.now, db)
        return profile
    }
}
