import Foundation

// The precedence of link, bottle and time zone, equal for all commands. For the store see `StorePlace`.
extension Configuration {
    /// The default link: bluetoothd.
    package static let usualLink = "bluez"

    package func link(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        flag ?? Self.variable("WATERH_LINK", environment) ?? link ?? Self.usualLink
    }

    /// The bottle by precedence: option, `WATERH_BOTTLE`, configuration file; `nil` if none is set.
    package func bottle(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        flag ?? Self.variable("WATERH_BOTTLE", environment) ?? bottle
    }

    /// The time zone: option, `WATERH_ZONE`, configuration file. `nil` if none is set (then settings apply).
    package func zone(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        flag ?? Self.variable("WATERH_ZONE", environment) ?? zone
    }

    /// The encryption key of an ESPHome device, `WATERH_ESPHOME_KEY`. Not an option, because other users could read it.
    package static func proxyKey(environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        variable("WATERH_ESPHOME_KEY", environment)
    }

    /// The value of a variable. An empty variable counts as unset.
    private static func variable(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
