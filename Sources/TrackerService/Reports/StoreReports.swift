import Foundation
package import Store
package import TrackerCore

extension JournalRow: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": "r\(id)", "bottle": bottle, "raw": hex(raw), "wall": wall, "amountMl": amountMl, "verdict": verdict,
            "reason": reason, "received": received.description, "reading": reading, "about": about?.description,
        ])
    }
}

extension QuarantinedBytes: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "bottle": bottle, "raw": hex(bytes), "length": length, "reason": reason,
            "received": received.description, "times": times,
        ])
    }
}

/// Hexadecimal text in lower case.
func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// The quarantined records, and the received bytes that are not records.
package struct JournalReport: Hashable, Sendable, Encodable {
    package let records: [JournalRow]
    package let undecodable: [QuarantinedBytes]
    /// The number of quarantined records by reason.
    package let quarantineReasons: [QuarantineCount]
    /// The numbers of byte sequences that are not records: all received ones, and those that were deleted.
    package let undecodableReceived: Int, undecodableDeleted: Int

    /// The number of quarantined records, including unlisted ones.
    package var waiting: Int { quarantineReasons.reduce(0) { $0 + $1.count } }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "records": records, "junk": undecodable,
            "counts": ["records": waiting, "junkReceived": undecodableReceived, "junkNotKept": undecodableDeleted],
        ])
    }
}

package struct ResolveOutcome: Hashable, Sendable, Encodable {
    package let resolved: Int
    /// The values of the response; `changed` is the number of updated records.
    package let changed: Int, waiting: Int, state: TrackerSnapshot
}

/// The JSON leaves out unknown values and the first identity.
extension KnownBottle: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(["name": name, "names": names, "isOwn": isOwn])
        let values: KeyValuePairs<String, (any Encodable)?> = [
            "advertisedName": advertisedName, "model": model, "batteryPercent": batteryPercent,
            "clockDriftSeconds": clockDriftSeconds, "lastPoll": lastPoll?.description,
            "lastCompletePoll": lastCompletePoll?.description,
        ]
        for case (let key, let value?) in values { try encoder.encode([key: value]) }
    }
}

extension FailedPoll: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": id, "at": at?.wholeSeconds, "reason": trace.first ?? "There is no trace of this poll.",
            "story": Array(trace.dropFirst()), "bytes": bytes,
        ])
    }
}

/// The state of a store for maintenance.
package struct MaintenanceReport: Sendable {
    /// The number of rows by table, in the order of the schema.
    package let rows: [(table: String, rows: Int)]
    /// The errors of SQLite's integrity check; empty if there are none.
    package let damage: [String]
    package let journal: JournalCounts
    package let quarantineReasons: [QuarantineCount]
    package let undecodableReceived: Int
    package let undecodableDeleted: Int
    /// Stored settings that are no longer valid.
    package let invalidSettings: [SettingRefusal]
    package let outbox: Outbox
    package let sync: SyncReport
    package let publisherErrors: [PublisherError]
    /// The address and port of the page.
    package let listen: String
    package let bottles: [KnownBottle]
}

/// Settings in the order of the request or the catalogue. The JSON is one object of names and values.
package struct SettingsReport: Hashable, Sendable, Encodable {
    package struct Line: Hashable, Sendable {
        package let name: String
        package let value: PlainValue
    }

    package let lines: [Line]
    /// Stored values that are no longer valid. Their defaults are effective.
    package let invalid: [SettingRefusal]

    init(_ lines: [Line], invalid: [SettingRefusal] = []) {
        self.lines = lines
        self.invalid = invalid
    }

    /// The settings with a placeholder instead of addresses that can contain credentials.
    package var withoutSecretAddresses: SettingsReport {
        SettingsReport(
            lines.map { line in
                let isSecret = SettingScope.canBeSecretAddress(line.name) && line.value != .null
                return isSecret ? Line(name: line.name, value: .text("(set)")) : line
            }, invalid: invalid)
    }

    package func encode(to encoder: any Encoder) throws {
        try Dictionary(lines.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last }).encode(to: encoder)
    }
}

package struct BottleSettingsReport: Hashable, Sendable, Encodable {
    package let bottle: String, settings: SettingsReport
    /// The names of the bottle's own settings. The others are the store's.
    package let own: [String]
}

package struct SetupReport: Hashable, Sendable, Encodable {
    /// Whether setup was completed for the first time, and the resulting settings.
    package let isFirst: Bool, settings: SettingsReport
    /// The presets; `nil` for a caller without access to Waterline.
    package let presets: [DrinkPreset]?
    /// The result of the request for notification permission, as text of the interface.
    package let notifications: String
}

extension TokenRecord: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": id, "label": label, "scope": scope, "createdAt": createdAt.description,
            "lastUsedAt": lastUsedAt?.description, "expiresAt": expiresAt.description, "isRevoked": revokedAt != nil,
        ])
    }
}

/// The tokens, oldest first.
package struct TokenList: Hashable, Sendable, Encodable {
    package let tokens: [TokenRecord]
}

/// A token with its secret, which no other report contains.
package struct NewToken: Hashable, Sendable, Encodable {
    /// The values of the response; `id` identifies the token for revocation.
    package let id: String, label: String, scope: Scope
    package let token: String
}

package struct Revocation: Hashable, Sendable, Encodable {
    package let revoked: Int
}

/// The permissions of a token. Each scope includes the ones before it.
package enum Scope: String, Sendable, CaseIterable, Comparable, Encodable {
    /// See the widgets and use their buttons. A token with this scope can be in the URL of an embedded widget.
    case widget
    case read
    /// Log, change and delete drinks; run a session.
    case log
    /// Change settings of the day, presets and the bottle.
    case control
    /// Manage tokens, change addresses of other systems, and purge.
    case admin

    package static func < (left: Scope, right: Scope) -> Bool { left.rank < right.rank }

    package var permissions: String {
        switch self {
        case .widget: "show the widgets and use their buttons"
        case .read: "read"
        case .log: "read, and log, change and delete drinks and sessions"
        case .control: "log, and change settings, presets and the bottle"
        case .admin: "do everything, also grant access and delete all data"
        }
    }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension PublisherError: Encodable {
    package var title: String {
        switch publisher {
        case "mqtt": "MQTT"
        case "postgres": "PostgreSQL"
        case "webhook": "Webhook"
        default: publisher
        }
    }

    /// The error, its start and duration, and the number of waiting messages, as sentences.
    /// - Parameter at: formats an instant for the user.
    package func text(now: Instant, at: (Instant) -> String) -> String {
        var sentences = [message.hasSuffix(".") ? message : message + "."]
        if let since { sentences.append("Since \(at(since)) (\(RelativeAge.text(from: since, to: now))).") }
        if waiting > 0 {
            let noun = ["mqtt", "postgres"].contains(publisher) ? "drink" : "notification"
            sentences.append("\(counted(waiting, noun)) \(waiting == 1 ? "waits" : "wait").")
        }
        return sentences.joined(separator: " ")
    }

    /// Instants are whole seconds since 1970; unknown values are null.
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(["outlet": publisher, "trouble": message, "since": since?.wholeSeconds, "waiting": waiting])
    }
}

package struct ImportReport: Hashable, Sendable, Encodable {
    package let added: Int
    package let known: Int
    /// The number of samples with 0 ml, which are not drinks.
    package let empty: Int
    /// Notes about skipped or replaced content, one sentence each; `nil` if there are none.
    package let remarks: [String]?
    package let state: TrackerSnapshot
}

package struct ExportReport: Hashable, Sendable, Encodable {
    package let drinks: Int
}

/// The number of rows in a store or backup.
package struct ContentsReport: Hashable, Sendable, Encodable {
    package let drinks: Int, sessions: Int, presets: Int, settings: Int
    /// The backup file with the replaced content; `nil` if there was none, or outside a restore.
    package var replaced: String?
}

package struct PurgeReport: Hashable, Sendable, Encodable {
    package let purged: Bool
}

/// The result of importing one inbox file.
package struct InboxReport: Hashable, Sendable, Encodable {
    /// The file name without its directory, the number of imported drinks, and the number of drinks that were already
    /// stored.
    package let name: String, added: Int, known: Int
    /// The reason why the file was rejected.
    package let trouble: String?
    /// Notes about skipped or replaced content, one sentence each; `nil` if there are none.
    package let remarks: [String]?

    init(name: String, added: Int = 0, known: Int = 0, trouble: String? = nil, remarks: [String]? = nil) {
        (self.name, self.added, self.known, self.trouble) = (name, added, known, trouble)
        self.remarks = remarks
    }

    /// The result as one sentence for the log and the user.
    package var summary: String {
        trouble.map { "\(name) was not imported: \($0)" }
            ?? (["\(name): \(added) drink\(added == 1 ? "" : "s") added, \(known) known already."] + (remarks ?? []))
            .joined(separator: " ")
    }
}

/// A page of the drinks that a phone has not yet written to its health records.
package struct PhoneDrinks: Hashable, Sendable, Encodable {
    package let drinks: [PhoneDrink]
    /// Whether there are more drinks. The phone gets them after it has reported these as written.
    package let hasMore: Bool
}

package struct PhoneDrink: Hashable, Sendable, Encodable {
    /// The key that the phone reports after writing.
    package let key: String
    /// The start in ISO 8601 with the offset of the drink's time zone, and the amount in millilitres.
    package let start: String, ml: Int

    init(_ drink: Drink) {
        // Apple's Shortcuts app cannot parse fractions of a second.
        let second = Instant(milliseconds: drink.at.wholeSeconds * 1000)
        (key, start, ml) = (drink.key, HealthFiles.dateText(second, (try? Zone(drink.zone)) ?? .utc), drink.ml)
    }
}

package struct PhoneReceipt: Hashable, Sendable, Encodable {
    /// The number of drinks that the phone confirmed for the first time.
    package let noted: Int
}
