import Foundation
import Store
import TrackerCore

/// A record as the bottle sent it, and what was made of it.
package struct RecordReport: Hashable, Sendable, Encodable {
    package let record: JournalRow

    package init(_ record: JournalRow) { self.record = record }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": "r\(record.id)", "bottle": record.bottle, "raw": Self.hex(record.raw), "wall": record.wall,
            "amountMl": record.amountMl, "verdict": record.verdict, "reason": record.reason,
            "received": record.received.description, "reading": record.reading, "about": record.about?.description,
        ])
    }

    static func hex(_ bytes: [UInt8]) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

/// Bytes that are no record.
package struct JunkReport: Hashable, Sendable, Encodable {
    package let junk: QuarantinedBytes

    package init(_ junk: QuarantinedBytes) { self.junk = junk }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "bottle": junk.bottle, "raw": RecordReport.hex(junk.bytes), "length": junk.length, "reason": junk.reason,
            "received": junk.received.description, "times": junk.times,
        ])
    }
}

/// What the bottle delivered and nobody counts.
package struct JournalReport: Hashable, Sendable, Encodable {
    /// Records that are kept and not counted.
    package let records: [RecordReport]
    package let junk: [JunkReport]
    /// How many records wait, by the reason that they wait for.
    package let doubts: [Doubt]
    /// Pieces of bytes that are no record, and how many of them are no longer kept.
    package let junkReceived: Int
    /// Further bytes, of which only the number is kept.
    package let junkNotKept: Int

    package struct Doubt: Hashable, Sendable {
        package let reason: String
        package let count: Int
    }

    /// Records that wait, also those that are not listed here.
    package var waiting: Int { doubts.reduce(0) { $0 + $1.count } }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "records": records, "junk": junk,
            "counts": ["records": waiting, "junkReceived": junkReceived, "junkNotKept": junkNotKept],
        ])
    }
}

/// What reading and dating the journal again answers.
package struct ResolveOutcome: Hashable, Sendable, Encodable {
    package let resolved: Int
    /// Records that stand otherwise now.
    package let changed: Int, waiting: Int, state: TrackerSnapshot
}

/// What the store knows of one bottle.
package struct BottleReport: Hashable, Sendable, Encodable {
    /// The identity it was first seen under, for ever the same; not part of the JSON.
    package let origin: String
    /// What it goes by: its alias, or its identity.
    package let name: String
    /// Every name that it goes by or went by, `name` among them.
    package let names: [String]
    /// It answered a poll, or a person said so; `false` of one whose records came from a recording.
    package let isOwn: Bool
    /// The name that it showed on the air.
    package let advertisedName: String?, model: String?
    /// Charge of its battery, 0–100, as it said last.
    package let batteryPercent: Int?
    /// Bottle's clock minus this computer's, seconds.
    package let clockDriftSeconds: Int?
    /// UTC: the end of the last poll, and of the last one that read the whole log.
    package let lastPoll: String?
    /// End of the last poll that read the whole log, in ISO 8601.
    package let lastCompletePoll: String?

    private enum CodingKeys: String, CodingKey {
        case name, names, isOwn, advertisedName, model, batteryPercent, clockDriftSeconds, lastPoll, lastCompletePoll
    }

    init(_ bottle: KnownBottle) {
        origin = bottle.origin
        (name, names, isOwn) = (bottle.name, bottle.names, bottle.isOwn)
        (advertisedName, model, batteryPercent) = (bottle.advertisedName, bottle.model, bottle.batteryPercent)
        clockDriftSeconds = bottle.clockDriftSeconds
        lastPoll = Self.words(bottle.lastPollMilliseconds)
        lastCompletePoll = Self.words(bottle.lastCompletePollMilliseconds)
    }

    private static func words(_ milliseconds: Int64?) -> String? {
        milliseconds.map { "\(Instant(milliseconds: $0))" }
    }
}

/// A poll that went wrong, as who looks after the bottle is told of it.
package struct KeptPollReport: Hashable, Sendable, Encodable {
    /// By which its capture is asked for.
    package var id: String
    /// When it was kept, seconds since 1970; `nil` where nobody knows.
    package var at: Int64?
    /// Why it is kept, a sentence.
    package var reason: String
    /// What happened beside, a line each.
    package var story: [String]
    package var bytes: Int

    init(_ poll: KeptPoll) {
        (id, at, bytes) = (poll.id, poll.at?.wholeSeconds, poll.bytes)
        (reason, story) = (poll.story.first ?? "Nothing was written down of it.", Array(poll.story.dropFirst()))
    }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": id, "at": at, "reason": reason, "story": story, "bytes": bytes,
        ])
    }
}

/// How a store itself is, for whoever looks after it.
package struct UpkeepReport: Sendable {
    /// Rows by table, in the order of the schema.
    package let rows: [(table: String, rows: Int)]
    /// What SQLite finds damaged, a sentence each; empty: nothing.
    package let damage: [String]
    /// How many records of each kind the journal holds.
    package let journal: JournalCounts
    /// Why records wait for a date, and how many wait for that.
    package let doubts: [JournalReport.Doubt]
    /// Pieces of bytes that are no record.
    package let junkReceived: Int
    /// How many of them are no longer kept.
    package let junkNotKept: Int
    /// Stored settings that no rule takes any more.
    package let refused: [SettingRefusal]
    package let outbox: Outbox
    /// What stands between the store and that server.
    package let sync: SyncReport
    /// Places that are told of the day and could not be, as it was when a service tried last.
    package let troubles: [OutletTrouble]
    /// Address and port of the page, by the settings.
    package let listen: String
    package let bottles: [KnownBottle]
}

/// Some settings, or all, in the catalogue's order or the one that was asked in. As JSON one object: names and values.
package struct SettingsReport: Hashable, Sendable, Encodable {
    /// A setting's name and what is in force.
    package struct Line: Hashable, Sendable {
        package let name: String
        package let value: SettingValue
    }

    /// In the order in which they were asked for.
    package let lines: [Line]
    /// Values that stand in the store and no longer fit their rule: the default is in force.
    package let refused: [SettingRefusal]

    init(_ lines: [Line], refused: [SettingRefusal] = []) {
        self.lines = lines
        self.refused = refused
    }

    package func encode(to encoder: any Encoder) throws {
        try Dictionary(lines.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last }).encode(to: encoder)
    }
}

/// The settings by which one bottle is read.
package struct BottleSettingsReport: Hashable, Sendable, Encodable {
    package let bottle: String, settings: SettingsReport
    /// Names of those that are the bottle's own; the others are the store's.
    package let own: [String]
}

/// What the welcome answers.
package struct SetupReport: Hashable, Sendable, Encodable {
    /// Nobody was welcomed before.
    package let isFirst: Bool, settings: SettingsReport
    package let presets: [PresetReport]
    /// How the question after notifications went, in the surface's words.
    package let notifications: String
}

/// A token given out, without the token itself.
package struct TokenReport: Hashable, Sendable, Encodable {
    package let record: TokenRecord

    package init(_ record: TokenRecord) { self.record = record }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": record.id, "label": record.label, "scope": record.scope, "createdAt": record.createdAt.description,
            "lastUsedAt": record.lastUsedAt?.description, "expiresAt": record.expiresAt.description,
            "isRevoked": record.revokedAt != nil,
        ])
    }
}

/// All tokens ever given out, oldest first.
package struct TokenList: Hashable, Sendable, Encodable {
    package let tokens: [TokenReport]
}

/// A token, once.
package struct NewToken: Hashable, Sendable, Encodable {
    /// By which it can be taken back.
    package let id: String, label: String, scope: Scope
    /// The token itself: it is shown this once.
    package let token: String
}

/// How many tokens were revoked.
package struct Revocation: Hashable, Sendable, Encodable {
    package let revoked: Int
}

/// What a token is good for. Each includes the ones before it.
package enum Scope: String, Sendable, CaseIterable, Comparable, Encodable {
    /// See the widgets and log with their buttons: for a token in the address of an embedded widget.
    case widget
    case read
    /// Log, change and delete drinks; run a session.
    case log
    /// Settings of the day, presets, the bottle.
    case control
    /// Let others in, say with whom the service speaks, and purge.
    case admin

    package static func < (left: Scope, right: Scope) -> Bool { left.rank < right.rank }

    /// What who has it may do, in words.
    package var words: String {
        switch self {
        case .widget: "see the widgets and use their buttons"
        case .read: "look"
        case .log: "look, and log, change and delete drinks and sessions"
        case .control: "log, and change settings, presets and the bottle"
        case .admin: "do everything: let others in, and delete everything, too"
        }
    }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension OutletTrouble: Encodable {
    /// Who is not reached, as people write it.
    package var title: String {
        switch outlet {
        case "mqtt": "MQTT"
        case "webhook": "Webhook"
        default: outlet
        }
    }

    /// Why, since when, for how long, and what waits, in sentences.
    /// - Parameter at: how an instant is shown.
    package func text(now: Instant, at: (Instant) -> String) -> String {
        var sentences = [words.hasSuffix(".") ? words : words + "."]
        if let since { sentences.append("So since \(at(since)) (\(RelativeAge.text(from: since, to: now))).") }
        if waiting > 0 {
            sentences.append(
                "\(counted(waiting, outlet == "mqtt" ? "drink" : "notification")) \(waiting == 1 ? "waits" : "wait").")
        }
        return sentences.joined(separator: " ")
    }

    /// Instants as whole seconds since 1970, as everywhere; what nobody noted is null.
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "outlet": outlet, "trouble": words, "since": since?.wholeSeconds, "waiting": waiting,
        ])
    }
}

/// What an import answers.
package struct ImportReport: Hashable, Sendable, Encodable {
    package let added: Int
    /// Known already.
    package let known: Int
    /// Samples of 0 ml, which are no drinks.
    package let empty: Int
    /// What of the file was skipped or replaced, a sentence each; `nil`: nothing.
    package let remarks: [String]?
    package let state: TrackerSnapshot
}

/// What an export wrote.
package struct ExportReport: Hashable, Sendable, Encodable {
    package let drinks: Int
}

/// What a store, or a backup of it, holds in numbers.
package struct ContentsReport: Hashable, Sendable, Encodable {
    package let drinks: Int, sessions: Int, presets: Int, settings: Int
    /// The file in which a restore has kept what it replaced, a backup itself; `nil`: there was nothing, or it was
    /// none.
    package var replaced: String?
}

/// Everything is gone.
package struct PurgeReport: Hashable, Sendable, Encodable {
    /// Always `true`.
    package let purged: Bool
}

/// What became of a file that a phone laid down.
package struct InboxReport: Hashable, Sendable, Encodable {
    /// Of the file, without its folder.
    package let name: String, added: Int, known: Int
    /// Why nothing was taken from it.
    package let trouble: String?
    /// What of the file was skipped or replaced, a sentence each; `nil`: nothing.
    package let remarks: [String]?

    init(name: String, added: Int = 0, known: Int = 0, trouble: String? = nil, remarks: [String]? = nil) {
        (self.name, self.added, self.known, self.trouble) = (name, added, known, trouble)
        self.remarks = remarks
    }

    /// For a log, and for a person.
    package var words: String {
        trouble.map { "\(name) was not taken in: \($0)" }
            ?? (["\(name): \(added) drink\(added == 1 ? "" : "s") added, \(known) known already."] + (remarks ?? []))
            .joined(separator: " ")
    }
}

/// What a phone has not yet.
package struct PhoneDrinks: Hashable, Sendable, Encodable {
    package let drinks: [PhoneDrink]
    /// There are more: ask again when these are noted.
    package let hasMore: Bool
}

/// A drink as a phone writes it down.
package struct PhoneDrink: Hashable, Sendable, Encodable {
    /// With which it says that it has.
    package let key: String
    /// With the offset that held there then.
    package let start: String, ml: Int

    init(_ drink: Drink) {
        // A phone's own actions read no fractions.
        let second = Instant(milliseconds: drink.at.wholeSeconds * 1000)
        (key, start, ml) = (drink.key, HealthFiles.dateText(second, (try? Zone(drink.zone)) ?? .utc), drink.ml)
    }
}

/// What a phone said that it has.
package struct PhoneReceipt: Hashable, Sendable, Encodable {
    /// How many drinks it said so of for the first time.
    package let noted: Int
}
