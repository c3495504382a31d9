import GRDB
import TrackerCore

extension TrackerStore {
    /// The user, if there is one yet.
    package func profile() throws -> Profile? { try read { try ProfileTable.find($0) } }

    /// The user, made on first use.
    package func profile(_ context: WriteContext) throws -> Profile {
        if let known = try profile() { return known }
        return try write { try ProfileTable.findOrMake($0, context) }
    }

    /// Whether anybody has begun here: was welcomed, chose a setting, has a bottle, drank something, or had a session.
    /// Nobody before that is behind a goal that nobody has set.
    package func hasBegun() throws -> Bool {
        try read { db in
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM setting) OR EXISTS (SELECT 1 FROM day) OR EXISTS (SELECT 1 FROM \
                    drink) OR EXISTS (SELECT 1 FROM bottle)
                        OR EXISTS (SELECT 1 FROM session) OR EXISTS (SELECT 1 FROM profile WHERE onboardedAt IS NOT \
                    NULL)
                    """) ?? false
        }
    }

    /// Marks the welcome as read and makes the five default presets, once: deleted ones stay deleted.
    /// - Returns: whether this was the first time.
    package func finishOnboarding(_ context: WriteContext) throws -> Bool {
        try write { db in
            let profile = try ProfileTable.findOrMake(db, context)
            guard profile.onboardedAt == nil else { return false }
            try db.execute(sql: "UPDATE profile SET onboardedAt = ?", arguments: [context.now.milliseconds])
            for preset in DrinkPreset.defaults(userID: profile.userID, makeID: context.makeID) {
                try PresetTable.insert(preset, profile, context, db)
            }
            return true
        }
    }
}
