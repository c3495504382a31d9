package import BottleProtocol
import Foundation
import Store
import Synchronization
import TOMLKit
package import TrackerCore

/// The configuration file of the service and of every command that uses the store. Options and environment variables
/// take precedence.
///
/// ```toml
/// link = "bluez:hci0"
/// bottle = "A4:C1:38:01:02:03"
/// [mqtt]
/// url = "mqtt://broker"
/// ```
package struct Configuration: Equatable, Sendable {
    package var link: String?
    package var bottle: String?
    /// The only bottles that are polled; empty for all.
    package var bottles: [String] = []
    package var store: String?
    /// The IANA id of the time zone of days.
    package var zone: String?
    package var dialect: RecordDialect?
    /// Whether polls acknowledge nothing, so that the log stays in the bottle.
    package var keep: Bool?
    /// Whether the user confirms that the computer's clock is right, although no time server confirms it.
    package var trustClock: Bool?
    /// Whether a poll may switch the adapter off and on.
    package var allowPowerCycle: Bool?
    package var listen: String?
    /// Whether Waterline is shown on other machines.
    package var shareWaterline: Bool?
    package var units: AmountUnits?
    /// The instance of `waterh-gateway@.service` that uses this file; `nil` for every other configuration.
    package var instance: String?
    /// The settings in the tables `[mqtt]`, `[ntfy]` and `[webhook]`, as texts.
    package var settings: [String: String] = [:]
    /// The table `[postgres]`, as texts: the database that receives the drinks.
    package var postgres: [String: String] = [:]
    /// The address of this service for phones.
    package var publicURL: String?
    /// Whether the file exists and this user cannot read it.
    package private(set) var isUnreadable = false

    package static let keys = [
        "link", "bottle", "bottles", "store", "zone", "dialect", "keep", "trust-clock", "allow-power-cycle", "listen",
        "share-waterline", "units", "public-url", "mqtt", "ntfy", "postgres", "webhook",
    ]

    private static let postgresKeys = ["url", "url-file", "password", "password-file"]

    /// Removed keys of earlier versions, as `key` or `group.key`. They are ignored.
    static let removedKeys: Set = ["fleet", "gotify", "names", "proxy", "webhook.template-file"]

    /// The maximum size of the file in bytes.
    private static let limitBytes = 1 << 20

    /// Reads the given file, else the file at the default path if it exists. An unreadable file at the default path
    /// belongs to a service: the defaults apply, and `isUnreadable` is set.
    package static func load(_ path: String?) throws -> Configuration {
        let file = path ?? Paths.configuration
        var status = stat()
        guard stat(file, &status) == 0 else {
            guard path == nil, Paths.instance == nil else {
                throw CommandFailure(
                    .wrongUse, "cannot open the configuration \(file): \(String(cString: strerror(errno)))",
                    advice: "Name an existing file, or omit --config to use the default paths.")
            }
            return Configuration()
        }
        guard path != nil || Paths.instance != nil || access(file, R_OK) == 0 else {
            var defaults = Configuration()
            defaults.isUnreadable = true
            return defaults
        }
        let bytes: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
            defer { try? handle.close() }
            bytes = try handle.read(upToCount: limitBytes + 1) ?? Data()
        } catch {
            throw CommandFailure(
                .badInput, "cannot read the configuration \(file): \(FileErrorText.text(error))",
                advice: "A configuration is a UTF-8 text file in TOML.")
        }
        guard bytes.count <= limitBytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                .badInput, "invalid configuration \(file): not a text file, or larger than 1 MiB",
                advice: "A configuration is a UTF-8 text file in TOML.")
        }
        var configuration = try Configuration(text: text, name: file)
        configuration.instance = Paths.instance(ofConfiguration: file)
        return configuration
    }

    /// Whether unit names, D-Bus names and MQTT topics can contain the text.
    static func isInstance(_ text: String) -> Bool { text.wholeMatch(of: /[A-Za-z][A-Za-z0-9_-]{0,31}/) != nil }

    package init() {}

    /// - Parameter name: the name of the text in errors.
    package init(text: String, name: String) throws {
        let table = try Self.table(text, name)
        if let split = try SplitConfiguration(table, file: name) { throw split.failure(file: name) }
        try apply(table, name)
    }

    static func table(_ text: String, _ name: String) throws -> TOMLTable {
        if let line = TOMLGuard.brokenHeader(text) {
            throw CommandFailure(
                .badInput, "invalid TOML in \(name): line \(line): a table header has no name", advice: fixAdvice)
        }
        if let line = TOMLGuard.endlessKey(text) {
            throw CommandFailure(
                .badInput, "invalid TOML in \(name): line \(line): the key has too many dots", advice: fixAdvice)
        }
        do {
            return try TOMLTable(string: text)
        } catch let error as TOMLParseError {
            throw CommandFailure(
                .badInput, "invalid TOML in \(name): line \(error.source.begin.line): \(error.description)",
                advice: fixAdvice)
        }
    }

    private mutating func apply(_ table: TOMLTable, _ name: String) throws {
        for key in table.keys {
            guard let value = table[key], !Self.isRemoved(key, name) else { continue }
            func require<Checked>(_ checked: Checked?, _ expected: String) throws -> Checked {
                guard let checked else { throw Self.invalid(key, expected, name) }
                return checked
            }
            func text(_ value: any TOMLValueConvertible) throws -> String {
                try require(value.string.flatMap { $0.isEmpty ? nil : $0 }, "a text in quotes")
            }
            func flag() throws -> Bool { try require(value.bool, "true or false") }
            switch key {
            case "link": link = try text(value)
            case "bottle": bottle = try text(value)
            case "bottles": bottles = try require(value.array, "a list of texts in quotes").map(text)
            case "store": store = try text(value)
            case "zone":
                zone = try text(value)
                _ = try require(zone.flatMap { try? Zone($0) }, #"an IANA time zone, such as "Europe/Berlin""#)
            case "dialect":
                dialect = try require(value.string.flatMap(RecordDialect.init(rawValue:)), #""calendar" or "strict""#)
            case "units": units = try require(value.string.flatMap(AmountUnits.init(rawValue:)), #""ml", "l" or "oz""#)
            case "keep": keep = try flag()
            case "trust-clock": trustClock = try flag()
            case "allow-power-cycle": allowPowerCycle = try flag()
            case "listen":
                let address = try text(value)
                let isValid = address == "off" || address.hasPrefix("unix:/") || Self.accepts("http.listen", address)
                listen = try require(
                    isValid ? address : nil, #"an address with a port, such as "127.0.0.1:8077", or "off""#)
            case "share-waterline": shareWaterline = try flag()
            case "public-url":
                let url = try text(value)
                publicURL = try require(
                    Self.accepts("http.publicUrl", url) ? url : nil, "an address that starts with http:// or https://")
            case "mqtt", "ntfy", "webhook":
                settings.merge(try Self.settings(require(value.table, "a table, [\(key)]"), below: key, name)) { $1 }
            case "postgres":
                let table = try require(value.table, "a table, [postgres]")
                for key in table.keys {
                    guard Self.postgresKeys.contains(key) else {
                        throw CommandFailure(
                            .badInput, "unknown key '\(key)' of [postgres] in \(name)",
                            advice: "Known keys: \(Self.postgresKeys.joined(separator: ", ")).")
                    }
                    postgres[key] = try require(table[key]?.string, "texts in quotes")
                }
            default:
                throw CommandFailure(
                    .badInput, "unknown key '\(key)' in \(name)",
                    advice: """
                        Known keys: \(Self.keys.joined(separator: ", ")). Other options are settings: waterh-tracker \
                        settings get
                        """)
            }
        }
    }

    /// Whether the text is a valid value of the setting.
    private static func accepts(_ setting: String, _ text: String) -> Bool {
        var settings = Settings()
        return (try? settings.set(setting, to: text)) != nil
    }

    /// Returns the settings in a table of the file: `ca-file` in `[mqtt]` is the setting `mqtt.caFile`.
    private static func settings(_ table: TOMLTable, below group: String, _ name: String) throws -> [String: String] {
        var (texts, testSettings) = ([String: String](), Settings())
        for key in table.keys {
            guard let value = table[key], !isRemoved("\(group).\(key)", name) else { continue }
            let parts = key.split(separator: "-")
            let setting =
                "\(group)." + (parts.first ?? "")
                + parts.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
            guard let text = value.string ?? value.bool.map({ "\($0)" }) else {
                throw invalid("\(group).\(key)", "a text in quotes, true or false", name)
            }
            do {
                try testSettings.set(setting, to: text)
            } catch {
                throw CommandFailure(
                    .badInput,
                    """
                    '\(key)' of [\(group)] in \(name) cannot be \
                    \(error.currentValue == nil ? "set" : "\"\(error.value.prefix(64))\""): \(error.rule)
                    """,
                    advice: fixAdvice)
            }
            texts[setting] = text
        }
        return texts
    }

    private static let warnings = Mutex<Set<String>>([])

    /// Returns whether only earlier versions had this key, and prints a warning once per key.
    static func isRemoved(_ key: String, _ name: String) -> Bool {
        guard removedKeys.contains(key) else { return false }
        let warning = "unknown key '\(key)' in \(name): removed in 0.10"
        if warnings.withLock({ $0.insert(warning).inserted }) { Diagnostics.warning(warning) }
        return true
    }

    private static func invalid(_ key: String, _ expected: String, _ name: String) -> CommandFailure {
        CommandFailure(.badInput, "invalid \(key) in \(name): expected \(expected)", advice: fixAdvice)
    }

    static let fixAdvice = "Fix the line, then restart the service."
}
