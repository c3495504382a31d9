import BottleProtocol
import CommandKit
import Foundation
import TOMLKit

/// The service's configuration file: flags override the environment, the environment overrides this.
///
/// ```toml
/// link = "bluez:hci0"                    # as --link
/// bottle = "A4:C1:38:01:02:03"           # as --bottle
/// store = "/var/lib/waterh/waterh.sqlite"
/// zone = "Europe/Berlin"
/// dialect = "calendar"                   # or "strict"
/// keep = false
/// allow-power-cycle = false
/// ```
struct Configuration: Equatable {
    var link: String?
    var bottle: String?
    var store: String?
    var zone: String?
    var dialect: RecordDialect?
    var keep: Bool?
    var allowPowerCycle: Bool?

    /// - Parameter path: `nil`: the usual places, where nothing need be.
    static func load(_ path: String?) throws -> Configuration {
        let file = path ?? Paths.configuration
        guard FileManager.default.fileExists(atPath: file) else {
            if path != nil { Diagnostics.warning("There is no configuration \(file); flags, environment and defaults are used.") }
            return Configuration()
        }
        let text: String
        do {
            text = try String(contentsOfFile: file, encoding: .utf8)
        } catch {
            throw CommandFailure(.badInput, "The configuration \(file) cannot be read: \(error.localizedDescription)", advice: "It is a UTF-8 text in TOML.")
        }
        return try Configuration(text: text, name: file)
    }

    /// Nothing is said.
    init() {}

    init(text: String, name: String) throws {
        let table: TOMLTable
        do {
            table = try TOMLTable(string: text)
        } catch let error as TOMLParseError {
            throw CommandFailure(
                .badInput, "The configuration \(name) is no TOML: line \(error.source.begin.line): \(error.description).",
                advice: "Mend that line and send SIGHUP, or start again.")
        }
        for key in table.keys {
            guard let value = table[key] else { continue }
            switch key {
            case "link": link = try Self.text(value.string, key, name)
            case "bottle": bottle = try Self.text(value.string, key, name)
            case "store": store = try Self.text(value.string, key, name)
            case "zone": zone = try Self.text(value.string, key, name)
            case "dialect":
                guard let known = value.string.flatMap(RecordDialect.init(rawValue:)) else { throw Self.wrong(key, #""calendar" or "strict""#, name) }
                dialect = known
            case "keep": keep = try Self.switched(value.bool, key, name)
            case "allow-power-cycle": allowPowerCycle = try Self.switched(value.bool, key, name)
            default:
                throw CommandFailure(
                    .badInput, "The configuration \(name) has an unknown key '\(key)'.",
                    advice: "Keys: link, bottle, store, zone, dialect, keep, allow-power-cycle. What belongs to a person's day is a setting: waterh-tracker settings.")
            }
        }
    }

    private static func text(_ value: String?, _ key: String, _ name: String) throws -> String {
        guard let value, !value.isEmpty else { throw wrong(key, "a text in quotes", name) }
        return value
    }

    private static func switched(_ value: Bool?, _ key: String, _ name: String) throws -> Bool {
        guard let value else { throw wrong(key, "true or false", name) }
        return value
    }

    private static func wrong(_ key: String, _ wanted: String, _ name: String) -> CommandFailure {
        CommandFailure(.badInput, "In the configuration \(name), '\(key)' is to be \(wanted).", advice: "Mend that line and send SIGHUP, or start again.")
    }
}

extension LinkOptions {
    /// Fills in from the file what neither a flag nor the environment says.
    mutating func fill(_ file: Configuration) {
        link = link ?? Host.variable("WATERH_LINK") ?? file.link
        bottle = bottle ?? Host.variable("WATERH_BOTTLE") ?? file.bottle
        allowPowerCycle = allowPowerCycle || file.allowPowerCycle == true
    }
}

extension StoreOptions {
    /// The same for the store's options.
    mutating func fill(_ file: Configuration) {
        store = store ?? Host.variable("WATERH_STORE") ?? file.store
        zone = zone ?? file.zone
        dialect = dialect ?? file.dialect
    }
}
