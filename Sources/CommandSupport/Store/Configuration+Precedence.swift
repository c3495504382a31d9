import Foundation

// The precedence of link, bottle and time zone, equal for all commands. For the store see `StorePlace`.
extension Configuration {
    /// The default link: bluetoothd.
    package static let usualLink = "bluez"

    package func link(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        flag ?? Self.said("WATERH_LINK", environment) ?? link ?? Self.usualLink
    }

    /// The option, `WATERH_BOTTLE`, the file; `nil` if none is set.
    package func bottle(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        flag ?? Self.said("WATERH_BOTTLE", environment) ?? bottle
    }

    /// The option, `WATERH_ZONE`, the file; `nil` if none is set. Settings come after these.
    package func zone(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        flag ?? Self.said("WATERH_ZONE", environment) ?? zone
    }

    /// The encryption key of an ESPHome device: `WATERH_ESPHOME_KEY`. Not an option, which other users could read.
    package static func proxyKey(environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        said("WATERH_ESPHOME_KEY", environment)
    }

    /// An empty variable counts as unset.
    private static func said(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
