import Foundation
import GRDB
import TrackerCore

/// What is to be told to `sync.url`, written in the transaction of the change it reports (tracker law E8).
///
/// A newer change of the same thing replaces the waiting one and keeps its place, so that nothing overtakes what it
/// rests on. Without `sync.url` the outbox stays empty.
enum OutboxWriter {
    /// Something that is synchronised.
    enum Entity {
        case user(String)
        case session(String)
        case log(String)
        case preset(String)

        var name: String {
            switch self {
            case .user: "user"
            case .session: "session"
            case .log: "logEntry"
            case .preset: "preset"
            }
        }

        var id: String {
            switch self {
            case .user(let id), .session(let id), .log(let id), .preset(let id): id
            }
        }
    }

    /// Queues the present state of an entity, if anybody is to be told.
    static func put(
        _ entity: Entity, op operation: OutboxItem.Operation, at updatedAt: Instant, _ db: Database
    ) throws {
        guard try isWanted(db), let payload = try payload(entity, updatedAt, db) else { return }
        // As `TrackerCore.Outbox.enqueue` says: a newer upsert takes the place of the entity's last one.
        try db.execute(
            sql: """
                UPDATE outbox SET payload = :payload, updatedAt = :at, attempts = 0, notBefore = 0, parked = NULL
                WHERE seq = (SELECT max(seq) FROM outbox WHERE entity = :entity AND id = :id)
                    AND op = :op AND op <> 'deleteLogEntry'
                """,
            arguments: [
                "payload": payload, "at": updatedAt.milliseconds, "entity": entity.name, "id": entity.id,
                "op": operation.rawValue,
            ])
        guard db.changesCount == 0 else { return }
        try db.execute(
            sql: "INSERT INTO outbox (entity, id, op, payload, updatedAt) VALUES (?, ?, ?, ?, ?)",
            arguments: [entity.name, entity.id, operation.rawValue, payload, updatedAt.milliseconds])
    }

    /// Queues everything there is: what a server that is new to us has to be told.
    static func putAll(at now: Instant, _ db: Database) throws {
        for id in try String.fetchAll(db, sql: "SELECT id FROM profile") {
            try put(.user(id), op: .createUser, at: now, db)
        }
        for id in try String.fetchAll(db, sql: "SELECT id FROM preset ORDER BY position, id") {
            try put(.preset(id), op: .upsertDrinkPreset, at: now, db)
        }
        for id in try String.fetchAll(db, sql: "SELECT id FROM session ORDER BY startTime, id") {
            try put(.session(id), op: .upsertSession, at: now, db)
        }
        for row in try Row.fetchAll(db, sql: "SELECT id, deleted FROM log_entry ORDER BY seq") {
            try put(.log(row.checked("id")), op: row.checked("deleted") ? .deleteLogEntry : .addLogEntry, at: now, db)
        }
    }

    /// The settings that belong to the founding documents' user (tracker law E2): they travel with it, under those
    /// names. The address and its credential stay here.
    static func travelling(_ settings: Settings) -> [String: SettingValue] {
        let names = [
            "waterEveryNDrinks": "waterline.waterEveryNDrinks", "timeRemindersEnabled": "waterline.timeReminders",
            "timeReminderIntervalMinutes": "waterline.intervalMinutes",
            "warningThreshold": "waterline.warningThreshold",
            "defaultWaterAmountOz": "waterline.defaultWaterOz", "units": "waterline.units",
            "discreetNotifications": "waterline.discreet",
        ]
        return names.compactMapValues(settings.value(of:))
    }

    private static func isWanted(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM setting WHERE name = 'sync.url')")) ?? false
    }

    /// The row as a JSON object with the columns' names; `deleted` says that it is a tombstone.
    private static func payload(_ entity: Entity, _ updatedAt: Instant, _ db: Database) throws -> String? {
        let table =
            switch entity {
            case .user: "profile"
            case .session: "session"
            case .log: "log_entry"
            case .preset: "preset"
            }
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM \(table) WHERE id = ?", arguments: [entity.id]) else {
            return nil
        }
        var object: [String: PayloadValue] = [:]
        for (column, value) in row where !["seq", "reminders", "onboardedAt"].contains(column) {
            object[column] = .column(JSONScalar(value))
        }
        if case .user = entity {
            object["updatedAt"] = .column(.integer(updatedAt.milliseconds))
            object["settings"] = .settings(travelling(try SettingTable.settings(db)))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(object), as: UTF8.self)
    }
}

/// One value of a payload.
private enum PayloadValue: Encodable {
    case column(JSONScalar)
    case settings([String: SettingValue])

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .column(let value): try value.encode(to: encoder)
        case .settings(let values): try values.encode(to: encoder)
        }
    }
}

/// A column's value in JSON. Flags stay 0 and 1, as they are stored.
enum JSONScalar: Codable {
    case null
    case integer(Int64)
    case number(Double)
    case text(String)

    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .number(value)
        case .string(let value): self = .text(value)
        case .blob(let value): self = .text(value.base64EncodedString())
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .integer(value ? 1 : 0)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let value): value.databaseValue
        case .number(let value): value.databaseValue
        case .text(let value): value.databaseValue
        }
    }
}
