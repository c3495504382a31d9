import Foundation
import GRDB
import TrackerCore

/// Numbers with names, kept in the store.
enum Counter {
    static func value(_ name: String, _ db: Database) throws -> Int {
        try Int.fetchOne(try db.cachedStatement(sql: "SELECT value FROM counter WHERE name = ?"), arguments: [name])
            ?? 0
    }

    static func set(_ name: String, _ value: Int, _ db: Database) throws {
        try db.executeOften(
            sql: """
                INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value
                """, arguments: [name, value])
    }

    static func add(_ name: String, _ more: Int, _ db: Database) throws {
        try db.executeOften(
            sql: """
                INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + \
                excluded.value
                """, arguments: [name, more])
    }
}
