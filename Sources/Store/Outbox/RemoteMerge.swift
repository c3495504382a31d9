import Foundation
import GRDB
package import TrackerCore

/// The result of merging rows of the sync server.
package struct MergeOutcome: Hashable, Sendable {
    /// The number of newer rows, which replaced stored ones.
    package var applied = 0
    /// The number of rows that are not newer than the stored ones.
    package var unchanged = 0
    /// The number of invalid rows.
    package var rejected = 0
    /// The first hundred rejected rows with their reasons, for example `session abc: startTime is missing`.
    package var rejections: [String] = []

    package init() {}

    mutating func reject(_ entity: RemoteEntity, _ id: String, _ reason: String) {
        rejected += 1
        if rejections.count < 100 { rejections.append("\(entity.rawValue) \(id): \(reason)") }
    }
}

package enum RemoteEntity: String, Sendable, CaseIterable {
    case session, logEntry, preset

    var table: String { self == .logEntry ? "log_entry" : rawValue }

    /// The synchronised columns with their rules, in addition to `id`, `updatedAt` and `deviceId`.
    var columns: KeyValuePairs<String, ColumnRule> {
        switch self {
        case .session:
            [
                "userId": .name, "startTime": .required(.time), "endTime": .time, "isActive": .flag, "sealed": .flag,
                "ruleN": .integer(1...10), "bottleWater": .choice(BottleWaterMode.allCases.map(\.rawValue)),
                "waterOz": .integer(1...32), "threshold": .integer(1...10), "computedSummary": .text,
            ]
        case .logEntry:
            [
                "sessionId": .name, "timestamp": .required(.time),
                "type": .required(.choice(LogEntry.Kind.allCases.map(\.rawValue))),
                "drinkType": .choice(DrinkType.allCases.map(\.rawValue)), "sizeOz": .positive(100),
                "abv": .number(0...100), "standardDrinkEstimate": .number(StandardDrinks.range), "presetId": .text,
                "amountOz": .positive(100), "source": .name, "deleted": .flag,
            ]
        case .preset:
            [
                "userId": .name, "name": .text, "drinkType": .required(.choice(DrinkType.allCases.map(\.rawValue))),
                "sizeOz": .positive(100), "abv": .number(0...100),
                "standardDrinkEstimate": .required(.number(StandardDrinks.range)), "position": .integer(0...1_000_000),
                "deleted": .flag,
            ]
        }
    }
}

/// The values that a column of the server can have. NULL is valid except for `name` and `required`.
indirect enum ColumnRule {
    case required(ColumnRule)
    /// A text of 1 to 200 printable characters.
    case name
    case text
    case flag
    /// Milliseconds since 1970, at most `RemoteRow.maxLeadSeconds` after now.
    case time
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    /// A number above 0, up to a limit.
    case positive(Double)
    case choice([String])

    /// Checks a value from the server against this rule.
    /// - Throws: `InvalidRow` for an invalid value.
    func check(_ column: String, _ value: DatabaseValue, now: Instant) throws {
        switch (self, value.storage) {
        case (.required(let rule), _):
            if value.isNull { throw InvalidRow("\(column) is missing") }
            try rule.check(column, value, now: now)
        case (.name, .string(let text)) where RemoteRow.isName(text): break
        case (.name, _): throw InvalidRow("\(column) must be a text of 1 to 200 printable characters")
        case (_, .null), (.text, .string), (.flag, .int64(0...1)): break
        case (.text, _): throw InvalidRow("\(column) must be a text")
        case (.flag, _): throw InvalidRow("\(column) must be true or false")
        case (.time, .int64(let milliseconds)):
            let instant = Instant(milliseconds: milliseconds)
            guard instant.isSupported, now.seconds(to: instant) <= RemoteRow.maxLeadSeconds else {
                throw InvalidRow("\(column) is out of range: \(instant)")
            }
        case (.time, _): throw InvalidRow("\(column) must be milliseconds since 1970")
        case (.integer(let range), .int64(let number)) where range.contains(number): break
        case (.integer(let range), _):
            throw InvalidRow("\(column) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        case (.number(let range), _): try Self.check(column, value, range)
        case (.positive(let limit), _): try Self.check(column, value, 0...limit, isPositive: true)
        case (.choice(let values), .string(let text)) where values.contains(text): break
        case (.choice(let values), .string):
            throw InvalidRow("\(column) must be one of \(values.joined(separator: ", "))")
        case (.choice, _): throw InvalidRow("\(column) must be a text")
        }
    }

    private static func check(
        _ column: String, _ value: DatabaseValue, _ range: ClosedRange<Double>, isPositive: Bool = false
    ) throws {
        let number: Double
        switch value.storage {
        case .int64(let value): number = Double(value)
        case .double(let value): number = value
        default: throw InvalidRow("\(column) must be a number")
        }
        guard range.contains(number), !isPositive || number > 0 else {
            throw InvalidRow(
                """
                \(column) must be a number from \(Amounts.decimal(range.lowerBound)) to \
                \(Amounts.decimal(range.upperBound))
                """)
        }
    }
}

extension TrackerStore {
    /// Merges the server's rows (a JSON list of objects). The last write wins by `updatedAt`, then by device id. A
    /// deletion is a write (tracker spec E8). An invalid row is rejected with a reason, and the others are merged.
    /// - Throws: `Refusal` if the text is not a list.
    package func merge(_ entity: RemoteEntity, json: String, _ context: WriteContext) throws -> MergeOutcome {
        guard let elements = try? JSONDecoder().decode([RemoteElement].self, from: Data(json.utf8)) else {
            throw Refusal("syncAnswer", "The server's response is not a list of \(entity.rawValue) objects.")
        }
        return try write { db in
            var outcome = MergeOutcome()
            var sessions = Set<String>()
            for element in elements {
                guard let row = element.columns else {
                    outcome.reject(entity, "", "not an object of plain values")
                    continue
                }
                let id = String.fromDatabaseValue(row["id"] ?? .null).flatMap { RemoteRow.isName($0) ? $0 : nil } ?? ""
                do {
                    // A savepoint per row, so that an invalid one does not affect others.
                    try db.inSavepoint {
                        if try mergeRow(row, entity, context.now, db) {
                            outcome.applied += 1
                            if let session = String.fromDatabaseValue(row["sessionId"] ?? .null) {
                                sessions.insert(session)
                            }
                            if entity == .logEntry { try recordSessionWater(id, context, db) }
                        } else {
                            outcome.unchanged += 1
                        }
                        return .commit
                    }
                } catch let error as InvalidRow {
                    outcome.reject(entity, id, error.reason)
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                    outcome.reject(entity, id, Self.reason(for: error, entity))
                }
            }
            // Update the summaries of ended sessions with new entries.
            for id in sessions {
                if let session = try SessionTable.find(id, db) { try summarise(session, context, db) }
            }
            return outcome
        }
    }

    private static func reason(for error: DatabaseError, _ entity: RemoteEntity) -> String {
        entity == .session && error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE
            ? "another session is active" : "it violates a constraint of the store (\(error.message ?? "constraint"))"
    }

    private func mergeRow(_ row: [String: DatabaseValue], _ entity: RemoteEntity, _ now: Instant, _ db: Database) throws
        -> Bool
    {
        let remote = try RemoteRow(row, entity, now: now, db)
        guard WriteStamp.wins(remote.stamp, over: try remote.storedStamp()) else { return false }
        try remote.check(entity, db)
        let id = remote.id
        // Absent keys keep their value, so that an older server need not support every column.
        let columns = entity.columns.map(\.key).filter { row[$0] != nil } + ["updatedAt", "deviceId"]
        let values = columns.map { row[$0] ?? .null }
        // A preset without a position is the last one.
        let isLast = entity == .preset && row["position"] == nil
        try db.run(
            """
            INSERT INTO \(entity.table) (id, \(columns.joined(separator: ", "))\(isLast ? ", position" : ""))
            VALUES (?\(String(repeating: ", ?", count: columns.count))\(isLast ? ", 1000" : ""))
            ON CONFLICT (id) DO UPDATE SET \(columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """, StatementArguments([id.databaseValue] + values))
        return true
    }
}

/// A row in the JSON of the server.
struct RemoteElement: Decodable {
    /// The values by column; `nil` if the element is not an object of plain values.
    let columns: [String: DatabaseValue]?

    init(from decoder: any Decoder) throws {
        columns = (try? decoder.singleValueContainer().decode([String: JSONScalar].self))?.mapValues(\.value)
    }
}

/// The reason for a rejected row: the end of the sentence "session abc: …".
struct InvalidRow: Error {
    var reason: String
    init(_ reason: String) { self.reason = reason }
}

/// A server's row merged with the stored one. Every column is validated before the write.
struct RemoteRow {
    let id: String
    let stamp: WriteStamp
    private let stored: Row?
    private let values: [String: DatabaseValue]
    private let now: Instant

    /// The maximum lead of another device's clock, in seconds.
    static let maxLeadSeconds = RecordResolver.maxLeadSeconds

    init(_ row: [String: DatabaseValue], _ entity: RemoteEntity, now: Instant, _ db: Database) throws {
        values = row
        self.now = now
        guard let id = String.fromDatabaseValue(row["id"] ?? .null), Self.isName(id) else {
            throw InvalidRow("its id must be a text of 1 to 200 printable characters")
        }
        self.id = id
        stored = try Row.fetchOne(db, sql: "SELECT * FROM \(entity.table) WHERE id = ?", arguments: [id])
        guard let device = String.fromDatabaseValue(row["deviceId"] ?? .null), Self.isName(device) else {
            throw InvalidRow("its deviceId must be a text of 1 to 200 printable characters")
        }
        if let deleted = row["deleted"] { try ColumnRule.required(.flag).check("deleted", deleted, now: now) }
        let updatedAt = row["updatedAt"] ?? .null
        try ColumnRule.time.check("updatedAt", updatedAt, now: now)
        guard let written = Instant.fromDatabaseValue(updatedAt) else {
            throw InvalidRow("updatedAt must be milliseconds since 1970")
        }
        stamp = WriteStamp(updatedAt: written, device: device, isDeleted: row["deleted"] == 1.databaseValue)
    }

    /// The stamp of the stored row; `nil` for a new row.
    func storedStamp() throws -> WriteStamp? {
        try stored.map {
            WriteStamp(
                updatedAt: try $0.decode(forColumn: "updatedAt"), device: try $0.decode(forColumn: "deviceId"),
                isDeleted: ($0["deleted"] as DatabaseValue?).flatMap(Bool.fromDatabaseValue) ?? false)
        }
    }

    // MARK: - Checks

    func check(_ entity: RemoteEntity, _ db: Database) throws {
        if entity == .logEntry, id.contains("|") {
            throw InvalidRow("its id contains |, which is reserved for waters derived from sips")
        }
        for (column, rule) in entity.columns { try rule.check(column, value(column), now: now) }
        switch entity {
        case .session: try checkSession()
        case .logEntry: try checkLog(db)
        case .preset: try checkPreset()
        }
    }

    private func checkSession() throws {
        let (start, end) = (Instant.fromDatabaseValue(value("startTime")), Instant.fromDatabaseValue(value("endTime")))
        let isActive = Bool.fromDatabaseValue(value("isActive")) ?? false
        guard isActive == (end == nil) else { throw InvalidRow("isActive and endTime contradict each other") }
        if let start, let end, end < start { throw InvalidRow("endTime is before startTime") }
        if Bool.fromDatabaseValue(value("sealed")) ?? false, isActive {
            throw InvalidRow("sealed and isActive contradict each other")
        }
        guard let text = text("computedSummary") else { return }
        guard text.utf8.count <= 4096, SessionSummary(json: text) != nil else {
            throw InvalidRow("computedSummary must be a JSON summary of at most 4096 bytes")
        }
    }

    private func checkLog(_ db: Database) throws {
        let session = text("sessionId") ?? ""
        guard let found = try SessionTable.find(session, db) else { throw InvalidRow("there is no session \(session)") }
        if let before: String = stored?["sessionId"], before != session {
            throw InvalidRow("sessionId must not change: the entry belongs to session \(before)")
        }
        guard let time = Instant.fromDatabaseValue(value("timestamp")), time >= found.startTime,
            time <= found.endTime ?? Instant.supported.upperBound
        else { throw InvalidRow("its time is outside its session") }
        if let preset = text("presetId"), !Self.isName(preset) {
            throw InvalidRow("presetId must be a text of 1 to 200 printable characters")
        }
        guard text("source") != DrinkSource.bottle.rawValue else {
            throw InvalidRow("waters derived from sips are not synchronised")
        }
    }

    private func checkPreset() throws {
        let label = text("name") ?? ""
        // Counts characters, as older versions did. They accepted more code points than `PresetTable.check`.
        guard (1...64).contains(label.count), PrintableText.hasNoControls(label) else {
            throw InvalidRow("its name must have 1 to 64 printable characters")
        }
    }

    /// The new value of a column. If the key is absent, the stored value.
    private func value(_ column: String) -> DatabaseValue {
        if let value = values[column] { return value }
        guard let stored, stored.hasColumn(column) else { return .null }
        return stored[column]
    }

    private func text(_ column: String) -> String? { String.fromDatabaseValue(value(column)) }

    static func isName(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && PrintableText.hasNoControls(text)
    }
}
