import Foundation
import GRDB
package import TrackerCore

extension TrackerStore {
    /// The outbox, including rejected changes.
    package func outbox() throws -> Outbox { try read(OutboxTable.outbox) }

    /// Records the result of sending an item. A newer change of the same entity stays.
    /// - Returns: `false` if the item is gone: another server or none is set, or another program has sent it.
    @discardableResult
    package func finishSending(_ item: OutboxItem, _ outcome: SendOutcome, at now: Instant) throws -> Bool {
        try write { db in
            let row = try Row.fetchOne(db, sql: "SELECT * FROM outbox WHERE seq = ?", arguments: [item.id])
            guard let row, let stored = try OutboxTable.item(row) else { return false }
            var outbox = Outbox([stored])
            outbox.finish(item, outcome, at: now)
            guard let rest = outbox.items.first else {
                try db.run("DELETE FROM outbox WHERE seq = ?", [item.id])
                return true
            }
            try db.run(
                "UPDATE outbox SET attempts = ?, notBefore = ?, rejection = ? WHERE seq = ?",
                [rest.attempts, rest.notBefore ?? Instant(milliseconds: 0), rest.rejection, rest.id])
            return true
        }
    }

    /// Stores the result of a synchronisation.
    /// - Parameter problem: the error that ended it early. The rejected rows of the last complete one stay.
    package func finishSyncPass(_ merged: MergeOutcome, problem: String?) throws {
        try write { db in
            try db.run("INSERT OR IGNORE INTO sync_state (only, refused) VALUES (1, 0)")
            try db.run("UPDATE sync_state SET trouble = ?", [problem])
            guard problem == nil else { return }
            let shown = Array(merged.rejections.sorted().prefix(SyncStateTable.shownLimit))
            try db.run("UPDATE sync_state SET refused = ?, refusals = ?", [merged.rejected, try shown.json])
        }
    }

    package func syncReport() throws -> (status: SyncStatus, report: SyncReport) {
        try read(SyncStateTable.status)
    }
}

enum OutboxTable {
    static func outbox(_ db: Database) throws -> Outbox {
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM outbox ORDER BY seq")
        return Outbox(try rows.compactMap(item))
    }

    /// Decodes a row of the outbox.
    /// - Returns: `nil` for an unknown operation.
    static func item(_ row: Row) throws -> OutboxItem? {
        guard let operation = OutboxItem.Operation(rawValue: try row.decode(forColumn: "op")) else { return nil }
        let notBefore: Instant = try row.decode(forColumn: "notBefore")
        return OutboxItem(
            id: try row.decode(forColumn: "seq"),
            entity: .init(kind: try row.decode(forColumn: "entity"), id: try row.decode(forColumn: "id")),
            operation: operation, payload: try row.decode(forColumn: "payload"),
            updatedAt: try row.decode(forColumn: "updatedAt"), attempts: try row.decode(forColumn: "attempts"),
            notBefore: notBefore.milliseconds > 0 ? notBefore : nil, rejection: try row.decode(forColumn: "rejection"))
    }

    /// Sends rejected and delayed items again.
    static func retryAll(_ db: Database) throws {
        try db.execute(sql: "UPDATE outbox SET rejection = NULL, attempts = 0, notBefore = 0")
    }
}

enum SyncStateTable {
    /// The maximum number of rejected rows in the state. All are counted.
    static let shownLimit = 5

    static func status(_ db: Database) throws -> (SyncStatus, SyncReport) {
        var report = SyncReport(waiting: try waiting(db))
        let status = try report.waiting == 0 ? .idle : OutboxTable.outbox(db).status
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT trouble, refused, refusals FROM sync_state"))
        guard let row else { return (status, report) }
        (report.problem, report.rejected) = (try row.decode(atIndex: 0), try row.decode(atIndex: 1))
        report.rejections = [String](json: try row.decode(atIndex: 2)) ?? []
        return (status == .idle && report.problem != nil ? .offline : status, report)
    }

    /// Deletes the sync status, which belongs to the previous server.
    static func delete(_ db: Database) throws { try db.execute(sql: "DELETE FROM sync_state") }

    static func waiting(_ db: Database) throws -> Int {
        try db.first("SELECT count(*) FROM outbox") ?? 0
    }
}

/// Queues changes for the server at `sync.url`, in the transaction of the change (tracker spec E8).
///
/// A newer change of an entity replaces the waiting one and keeps its position, because later changes depend on it.
/// Without `sync.url` nothing is queued.
enum OutboxWriter {
    /// The kind of an entity, by the server's name.
    enum Kind: String {
        case user, preset, session, logEntry

        var table: String {
            switch self {
            case .user: "profile"
            case .logEntry: "log_entry"
            case .preset, .session: rawValue
            }
        }
    }

    static func enqueue(_ kind: Kind, _ id: String, at updatedAt: Instant, _ db: Database) throws {
        guard try db.has("FROM setting WHERE name = 'sync.url'"),
            let row = try Row.fetchOne(db, sql: "SELECT * FROM \(kind.table) WHERE id = ?", arguments: [id])
        else { return }
        let operation: OutboxItem.Operation =
            switch kind {
            case .user: .createUser
            case .preset: .upsertDrinkPreset
            case .session: .upsertSession
            case .logEntry: try row.decode(Bool.self, forColumn: "deleted") ? .deleteLogEntry : .addLogEntry
            }
        let payload = try payload(kind, row, updatedAt, db)
        // A newer upsert replaces the entity's last one.
        try db.run(
            """
            UPDATE outbox SET payload = :payload, updatedAt = :at, attempts = 0, notBefore = 0, rejection = NULL
            WHERE seq = (SELECT max(seq) FROM outbox WHERE entity = :entity AND id = :id)
                AND op = :op AND op <> 'deleteLogEntry'
            """,
            ["payload": payload, "at": updatedAt, "entity": kind.rawValue, "id": id, "op": operation.rawValue])
        guard db.changesCount == 0 else { return }
        try db.run(
            "INSERT INTO outbox (entity, id, op, payload, updatedAt) VALUES (?, ?, ?, ?, ?)",
            [kind.rawValue, id, operation.rawValue, payload, updatedAt])
    }

    /// Queues every synchronised row, for a new server.
    static func enqueueAll(at now: Instant, _ db: Database) throws {
        let orders: [(Kind, String)] = [
            (.user, "id"), (.preset, "position, id"), (.session, "startTime, id"), (.logEntry, "seq"),
        ]
        for (kind, order) in orders {
            for id in try String.fetchAll(db, sql: "SELECT id FROM \(kind.table) ORDER BY \(order)") {
                try enqueue(kind, id, at: now, db)
            }
        }
    }

    /// The settings that are synchronised (tracker spec E2), by the server's names.
    static func synchronised(_ settings: Settings) -> [String: PlainValue] {
        let names = [
            "waterEveryNDrinks": "waterline.waterEveryNDrinks", "timeRemindersEnabled": "waterline.timeReminders",
            "timeReminderIntervalMinutes": "waterline.intervalMinutes",
            "warningThreshold": "waterline.warningThreshold",
            "defaultWaterAmountOz": "waterline.defaultWaterOz", "units": "waterline.units",
            "discreetNotifications": "waterline.discreet",
        ]
        return names.compactMapValues(settings.value(of:))
    }

    /// The row as a JSON object with the names of the columns; `deleted` marks a tombstone.
    private static func payload(_ kind: Kind, _ row: Row, _ updatedAt: Instant, _ db: Database) throws -> String {
        var object: [String: PayloadValue] = [:]
        for (column, value) in row where !["seq", "reminders", "onboardedAt"].contains(column) {
            object[column] = .column(JSONScalar(value))
        }
        if kind == .user {
            object["updatedAt"] = .column(JSONScalar(updatedAt.databaseValue))
            object["settings"] = .settings(synchronised(try SettingTable.settings(db)))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(object), as: UTF8.self)
    }
}

private enum PayloadValue: Encodable {
    case column(JSONScalar)
    case settings([String: PlainValue])

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .column(let value): try value.encode(to: encoder)
        case .settings(let values): try values.encode(to: encoder)
        }
    }
}

/// A column's value in JSON. Flags are 0 and 1, as they are stored.
struct JSONScalar: Codable {
    let value: DatabaseValue

    init(_ value: DatabaseValue) { self.value = value }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch value.storage {
        case .null: try container.encodeNil()
        case .int64(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .blob(let value): try container.encode(value.base64EncodedString())
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let flag = try? container.decode(Bool.self) {
            value = (flag ? 1 : 0).databaseValue
        } else if let integer = try? container.decode(Int64.self) {
            value = integer.databaseValue
        } else if let number = try? container.decode(Double.self) {
            value = number.databaseValue
        } else {
            value = try container.decode(String.self).databaseValue
        }
    }
}
