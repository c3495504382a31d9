import Foundation
import GRDB
import TrackerCore

package struct MergeOutcome: Hashable, Sendable {
    /// The number of newer rows, which replaced stored ones.
    package var taken = 0
    /// The number of rows that are not newer than the stored ones.
    package var kept = 0
    /// The number of invalid rows.
    package var refused = 0
    /// The first hundred rejected rows, with the reason.
    package var refusals: [RemoteRefusal] = []

    package init() {}

    mutating func refuse(_ entity: RemoteEntity, _ id: String, _ reason: String) {
        refused += 1
        if refusals.count < 100 { refusals.append(RemoteRefusal(entity: entity, id: id, reason: reason)) }
    }
}

package struct RemoteRefusal: Hashable, Sendable {
    package var entity: RemoteEntity
    /// The id of the row; empty if the row has none.
    package var id: String
    /// The reason, as the end of a sentence.
    package var reason: String
}

package enum RemoteEntity: String, Sendable, CaseIterable {
    case session, logEntry, preset

    var table: String {
        switch self {
        case .session: "session"
        case .logEntry: "log_entry"
        case .preset: "preset"
        }
    }

    /// The synchronised columns, in addition to `id`, `updatedAt` and `deviceId`.
    var columns: [String] {
        switch self {
        case .session:
            [
                "userId", "startTime", "endTime", "isActive", "sealed", "ruleN", "bottleWater", "waterOz", "threshold",
                "computedSummary",
            ]
        case .logEntry:
            [
                "sessionId", "timestamp", "type", "drinkType", "sizeOz", "abv", "standardDrinkEstimate", "presetId",
                "amountOz", "source", "deleted",
            ]
        case .preset: ["userId", "name", "drinkType", "sizeOz", "abv", "standardDrinkEstimate", "position", "deleted"]
        }
    }
}

extension TrackerStore {
    /// Merges the server's rows (a JSON list of objects). The last write wins by `updatedAt`, then by device id. A
    /// deletion is a write (tracker spec E8). An invalid row is rejected alone, with its reason.
    /// - Throws: `Refusal` if the text is not a list.
    package func merge(_ entity: RemoteEntity, json: String, _ context: WriteContext) throws -> MergeOutcome {
        guard let elements = try? JSONDecoder().decode([RemoteElement].self, from: Data(json.utf8)) else {
            throw Refusal("syncAnswer", "The server's answer is not a list of \(entity.rawValue) objects.")
        }
        return try write { db in
            var outcome = MergeOutcome()
            var sessions = Set<String>()
            for element in elements {
                guard case .row(let row) = element else {
                    outcome.refuse(entity, "", "not an object of plain values")
                    continue
                }
                var id = ""
                if case .text(let text) = row["id"], RemoteRow.isName(text) { id = text }
                do {
                    // A savepoint per row, so that an invalid one does not affect others.
                    try db.inSavepoint {
                        if try take(row, entity, context.now, db) {
                            outcome.taken += 1
                            if case .text(let session) = row["sessionId"] { sessions.insert(session) }
                            if entity == .logEntry { try countWater(id, context, db) }
                        } else {
                            outcome.kept += 1
                        }
                        return .commit
                    }
                } catch let error as UnfitRow {
                    outcome.refuse(entity, id, error.reason)
                } catch let error as UnreadableRow {
                    outcome.refuse(entity, id, "the store's own row cannot be read: \(error.reason)")
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                    outcome.refuse(entity, id, Self.rule(brokenBy: error, entity))
                }
            }
            // Update the summaries of ended sessions with new entries.
            for id in sessions {
                if let session = try SessionTable.find(id, db) { try summarise(session, context, db) }
            }
            return outcome
        }
    }

    private static func rule(brokenBy error: DatabaseError, _ entity: RemoteEntity) -> String {
        entity == .session && error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE
            ? "another session is active" : "it breaks a rule of the store (\(error.message ?? "constraint"))"
    }

    private func take(_ row: [String: JSONScalar], _ entity: RemoteEntity, _ now: Instant, _ db: Database) throws
        -> Bool
    {
        let remote = try RemoteRow(row, entity, now: now, db)
        guard WriteStamp.wins(remote.stamp, over: remote.storedStamp) else { return false }
        try remote.check(entity, db)
        let id = remote.id
        // Absent keys keep their value, so that an older server need not support every column.
        let columns = entity.columns.filter { row[$0] != nil } + ["updatedAt", "deviceId"]
        let values = columns.map { row[$0]?.databaseValue ?? .null }
        let list = columns.joined(separator: ", ")
        let update = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        try db.run(
            """
            INSERT INTO \(entity.table) (id, \(list)\(entity == .preset && row["position"] == nil ? ", position" :
                "")) VALUES (?\(String(repeating: ", ?", count: columns.count))\(entity == .preset && row["position"]
                == nil ? ", 1000" : "")) ON CONFLICT (id) DO UPDATE SET \(update)
            """, StatementArguments([id.databaseValue] + values))
        return true
    }
}

/// A row in the JSON of the server.
enum RemoteElement: Decodable {
    case row([String: JSONScalar])
    /// The element is not an object of plain values.
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let row = try? container.decode([String: JSONScalar].self) { self = .row(row) } else { self = .other }
    }
}

/// The reason for a rejected row: the end of the sentence "session abc: …".
struct UnfitRow: Error {
    var reason: String
    init(_ reason: String) { self.reason = reason }
}

/// A server's row merged with the stored one. Every column is validated before the write.
struct RemoteRow {
    let id: String
    let stamp: WriteStamp
    private let stored: Row?
    private let arriving: [String: JSONScalar]
    private let now: Instant

    /// The maximum lead of another device's clock, in seconds.
    static let aheadSeconds = RecordResolver.aheadSeconds

    init(_ row: [String: JSONScalar], _ entity: RemoteEntity, now: Instant, _ db: Database) throws {
        arriving = row
        self.now = now
        guard case .text(let id) = row["id"], Self.isName(id) else {
            throw UnfitRow("its id must be a text of 1 to 200 printable characters")
        }
        self.id = id
        stored = try Row.fetchOne(db, sql: "SELECT * FROM \(entity.table) WHERE id = ?", arguments: [id])
        guard case .text(let device) = row["deviceId"], Self.isName(device) else {
            throw UnfitRow("its deviceId must be a text of 1 to 200 printable characters")
        }
        var isDeleted = false
        switch row["deleted"] {
        case nil: break
        case .integer(0): break
        case .integer(1): isDeleted = true
        default: throw UnfitRow("deleted must be true or false")
        }
        guard case .integer(let updatedAt) = row["updatedAt"] else {
            throw UnfitRow("updatedAt must be milliseconds since 1970")
        }
        stamp = WriteStamp(updatedAt: Instant(milliseconds: updatedAt), device: device, isDeleted: isDeleted)
        _ = try time("updatedAt", stamp.updatedAt)
    }

    /// The stamp of the stored row; `nil` for a new row.
    var storedStamp: WriteStamp? {
        stored.map {
            WriteStamp(
                updatedAt: Instant(milliseconds: $0["updatedAt"]), device: $0["deviceId"],
                isDeleted: ($0["deleted"] as Bool?) ?? false)
        }
    }

    // MARK: - Checks

    func check(_ entity: RemoteEntity, _ db: Database) throws {
        switch entity {
        case .session: try checkSession()
        case .logEntry: try checkLog(db)
        case .preset: try checkPreset()
        }
    }

    private func checkSession() throws {
        try name("userId")
        let start = try instant("startTime")
        let end = try optionalInstant("endTime")
        let isActive = try flag("isActive")
        guard isActive == (end == nil) else { throw UnfitRow("isActive and endTime contradict each other") }
        if let end, end < start { throw UnfitRow("it ends before it starts") }
        if try flag("sealed"), isActive { throw UnfitRow("it is sealed and active at once") }
        try integer("ruleN", 1...10)
        try integer("waterOz", 1...32)
        try integer("threshold", 1...10)
        try choice("bottleWater", BottleWaterMode.allCases.map(\.rawValue))
        guard let text = try optionalText("computedSummary") else { return }
        guard text.utf8.count <= 4096, (try? JSONDecoder().decode(SessionSummary.self, from: Data(text.utf8))) != nil
        else {
            throw UnfitRow("computedSummary cannot be read")
        }
    }

    private func checkLog(_ db: Database) throws {
        guard !id.contains("|") else { throw UnfitRow("its id has a |, which names waters derived from sips") }
        let session = try name("sessionId")
        guard let found = try SessionTable.find(session, db) else { throw UnfitRow("there is no session \(session)") }
        if let before: String = stored?["sessionId"], before != session {
            throw UnfitRow("it is an entry of another session")
        }
        let timestamp = try instant("timestamp")
        guard timestamp >= found.startTime, timestamp <= found.endTime ?? .supported.upperBound else {
            throw UnfitRow("its time lies outside its session")
        }
        guard try choice("type", LogEntry.Kind.allCases.map(\.rawValue)) != nil else {
            throw UnfitRow("type is missing")
        }
        try choice("drinkType", DrinkType.allCases.map(\.rawValue))
        try number("sizeOz", above: 0, through: 100)
        try number("abv", from: 0, through: 100)
        try number(
            "standardDrinkEstimate", from: StandardDrinks.range.lowerBound, through: StandardDrinks.range.upperBound)
        try number("amountOz", above: 0, through: 100)
        if let preset = try optionalText("presetId"), !Self.isName(preset) { throw UnfitRow("presetId is not valid") }
        guard try name("source") != LogSource.bottle.rawValue else {
            throw UnfitRow("waters derived from sips are not synchronised")
        }
    }

    private func checkPreset() throws {
        try name("userId")
        let label = try optionalText("name") ?? ""
        // Counts characters, as older versions did. They accepted more code points than `PresetTable.check`.
        guard (1...64).contains(label.count), PrintableText.hasNoControls(label) else {
            throw UnfitRow("its name must have 1 to 64 printable characters")
        }
        guard try choice("drinkType", DrinkType.allCases.map(\.rawValue)) != nil else {
            throw UnfitRow("drinkType is missing")
        }
        try number("sizeOz", above: 0, through: 100)
        try number("abv", from: 0, through: 100)
        let (low, high) = (StandardDrinks.range.lowerBound, StandardDrinks.range.upperBound)
        guard try number("standardDrinkEstimate", from: low, through: high) != nil else {
            throw UnfitRow("standardDrinkEstimate is missing")
        }
        try integer("position", 0...1_000_000)
    }

    // MARK: - Columns

    /// The new value of a column. If the key is absent, the stored value.
    private func value(_ column: String) -> DatabaseValue {
        if let scalar = arriving[column] { return scalar.databaseValue }
        guard let stored, stored.hasColumn(column) else { return .null }
        return stored[column]
    }

    private func instant(_ column: String) throws -> Instant {
        guard let found = try optionalInstant(column) else { throw UnfitRow("\(column) is missing") }
        return found
    }

    private func optionalInstant(_ column: String) throws -> Instant? {
        let found = value(column)
        if found.isNull { return nil }
        guard case .int64(let milliseconds) = found.storage else {
            throw UnfitRow("\(column) must be milliseconds since 1970")
        }
        return try time(column, Instant(milliseconds: milliseconds))
    }

    private func time(_ column: String, _ instant: Instant) throws -> Instant {
        guard instant.isSupported, now.seconds(to: instant) <= Self.aheadSeconds else {
            throw UnfitRow("\(column) is \(instant), which cannot be")
        }
        return instant
    }

    @discardableResult
    private func name(_ column: String) throws -> String {
        guard let text = try optionalText(column), Self.isName(text) else {
            throw UnfitRow("\(column) must be a text of 1 to 200 printable characters")
        }
        return text
    }

    private func optionalText(_ column: String) throws -> String? {
        let found = value(column)
        if found.isNull { return nil }
        guard case .string(let text) = found.storage else { throw UnfitRow("\(column) must be a text") }
        return text
    }

    private func flag(_ column: String) throws -> Bool {
        switch value(column).storage {
        case .null, .int64(0): return false
        case .int64(1): return true
        default: throw UnfitRow("\(column) must be true or false")
        }
    }

    private func integer(_ column: String, _ range: ClosedRange<Int64>) throws {
        switch value(column).storage {
        case .null: return
        case .int64(let value) where range.contains(value): return
        default: throw UnfitRow("\(column) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    @discardableResult
    private func number(_ column: String, from low: Double = 0, above: Double? = nil, through high: Double) throws
        -> Double?
    {
        let found: Double
        switch value(column).storage {
        case .null: return nil
        case .int64(let value): found = Double(value)
        case .double(let value): found = value
        default: throw UnfitRow("\(column) must be a number")
        }
        guard found.isFinite, found <= high, above.map({ found > $0 }) ?? (found >= low) else {
            throw UnfitRow(
                "\(column) must be a number from \(Amounts.decimal(above ?? low)) to \(Amounts.decimal(high))")
        }
        return found
    }

    @discardableResult
    private func choice(_ column: String, _ values: [String]) throws -> String? {
        guard let text = try optionalText(column) else { return nil }
        guard values.contains(text) else {
            throw UnfitRow("\(column) must be one of \(values.joined(separator: ", "))")
        }
        return text
    }

    static func isName(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && PrintableText.hasNoControls(text)
    }
}
