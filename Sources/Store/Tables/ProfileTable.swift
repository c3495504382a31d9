import GRDB
import TrackerCore

/// The one local user of a store, and the device that this store is (tracker law E8).
package struct Profile: Hashable, Sendable {
    /// The user's id, made once.
    package var userID: String
    /// Settles conflicts of equal `updatedAt`.
    package var deviceID: String
    /// When the store was made.
    package var createdAt: Instant
    /// When the welcome was read to its end; `nil` before.
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
        try db.execute(
            sql: "INSERT INTO profile (id, deviceId, createdAt) VALUES (?, ?, ?)",
            arguments: [profile.userID, profile.deviceID, profile.createdAt.milliseconds])
        try OutboxWriter.put(.user(profile.userID), op: .createUser, at: context.now, db)
        return profile
    }
}
