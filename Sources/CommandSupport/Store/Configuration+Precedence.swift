import Foundation

// The precedence of options, environment and file for link, bottle and time zone. For the store, see `StoreLocation`.
extension Configuration {
    package static let defaultLink = "bluez"

    package func link(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        flag ?? Machine.variable("WATERH_LINK", in: environment) ?? link ?? Self.defaultLink
    }

    /// The bottle by precedence: option, `WATERH_BOTTLE`, configuration file; `nil` if none is set.
    package func bottle(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        flag ?? Machine.variable("WATERH_BOTTLE", in: environment) ?? bottle
    }

    /// The time zone by precedence: option, `WATERH_ZONE`, configuration file; `nil` if none is set.
    package func zone(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        flag ?? Machine.variable("WATERH_ZONE", in: environment) ?? zone
    }

    /// The encryption key of an ESPHome device, `WATERH_ESPHOME_KEY`. Other users could read an option.
    package static func proxyKey(environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        Machine.variable("WATERH_ESPHOME_KEY", in: environment)
    }
}
