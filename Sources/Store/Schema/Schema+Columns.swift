import Cryptography
import GRDB

extension Schema {
    /// The columns of every table, as the migrations leave them: of a damaged schema nothing can be read, and a column
    /// that is missing would end the program.
    static let columns = """
        bottle: id origin name advertisedName model batteryPercent clockDriftSeconds lastPoll lastCompletePoll isOwn \
        agreedAt agreedOffset light
        bottle_name: name bottle isAlias
        bottle_record: id bottle raw wall amountMl isDrink verdict reason received reading about yearBoot yearStart
        bottle_setting: bottle name value
        change: id at what before
        claim: id claimant claimedAt decision place
        clock_mark: id bottle wall boot uptime isSynchronized lastRecord isWitnessed wasNear zoneOffset
        connection_state: only problem message since
        counter: name value
        day: localDay goalMl
        drink: id key instant zone localDay ml source bottle deleted updatedAt instead born place
        drink_change: seq key
        drink_sequence: only last putBack
        engine_day: dayKey remindersSent lastNotified goalNotified lastDueAnchor state
        excluded_log: id sessionId
        fleet_again: key seq
        fleet_told: key peer
        health_given: key instant ml
        inbox_file: name mark
        leaving: place id topic since
        leaving_tried: place id seconds
        log_entry: seq id sessionId timestamp type drinkType sizeOz abv standardDrinkEstimate presetId amountOz source \
        deleted updatedAt deviceId
        migration: name
        notification: id kind dbusId sentAt sinks place decision missed
        outbox: seq entity id op payload updatedAt attempts notBefore parked
        outlet: name id isOpen position lifetimeMl home trouble place troubleSince peer
        outlet_topic: outlet topic
        pocket_address: seq sentTo
        pocket_leaving: address place token tried
        pocket_message: seq outlet id place announcement since state remote isShown key
        pocket_trouble: outlet words since settings
        preset: id userId name drinkType sizeOz abv standardDrinkEstimate position deleted updatedAt deviceId
        profile: id deviceId createdAt onboardedAt
        push_key: only private
        push_subscription: id endpoint p256dh auth label since token
        quarantine: id bottle bytes length reason received times
        request: seq key fingerprint at status body
        session: id userId startTime endTime isActive sealed ruleN bottleWater waterOz threshold reminders \
        computedSummary updatedAt deviceId
        setting: name value
        sync_refusal: entity id reason
        sync_state: only passedAt trouble refused
        token: id hash label createdAt revokedAt scope
        told_through: outlet place
        written_file: name
        """.split(separator: "\n").map(String.init)

    /// The SHA-256 of all tables' texts, as the migrations leave them. Where a store's is the same, its columns are
    /// too, and need not be asked for table by table, which costs as much as opening the store. Any other text is
    /// looked at more closely. A new migration changes it.
    static let usualTexts = "ac04aee16f358b2f04ab0fe5d80ffd515e744643bd9b7f13b98cd00cb67dcb41"

    static func texts(_ db: Database) throws -> String {
        let texts = try String.fetchOne(
            db,
            sql: """
                SELECT group_concat(name || ': ' || sql, char(10))
                FROM (SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL ORDER BY name)
                """)
        return SHA256.hex((texts ?? "").utf8)
    }

    /// Makes sure that every table has its columns. Tables that nobody of ours made are left alone.
    /// - Throws: `StoreError` of kind `damaged`.
    static func checkColumns(_ db: Database, path: String) throws {
        guard try texts(db) != usualTexts else { return }
        let found = Set(
            try String.fetchAll(
                db,
                sql: """
                    SELECT m.name || ': ' || (SELECT group_concat(name, ' ') FROM (SELECT name FROM \
                    pragma_table_info(m.name) ORDER BY cid))
                    FROM sqlite_schema m WHERE m.type = 'table'
                    """))
        guard let missing = columns.first(where: { !found.contains($0) }) else { return }
        throw StoreError(
            .damaged, "The store's tables are not as this program makes them (\(missing.prefix { $0 != ":" }))",
            at: path, code: "schemaIsWrong")
    }
}
