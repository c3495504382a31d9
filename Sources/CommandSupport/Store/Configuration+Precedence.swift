import Foundation

// Who says by which link and in which zone, where several could: the same order for every command. Which store:
// `StorePlace`.
extension Configuration {
    /// The link where nobody names one: bluetoothd's.
    package static let usualLink = "bluez"

    /// By which link bottles are met: the flag, `WATERH_LINK`, the file, and else bluetoothd's.
    package func link(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        flag ?? Self.said("WATERH_LINK", environment) ?? link ?? Self.usualLink
    }

    /// Which bottle is meant: the flag, `WATERH_BOTTLE`, the file; `nil` where nobody says.
    package func bottle(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        flag ?? Self.said("WATERH_BOTTLE", environment) ?? bottle
    }

    /// The zone that is named anywhere but in the settings: the flag, `WATERH_ZONE`, the file; `nil` where nobody says.
    package func zone(flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        flag ?? Self.said("WATERH_ZONE", environment) ?? zone
    }

    /// The encryption key of the ESPHome device that a link leads to: `WATERH_ESPHOME_KEY`. No flag, which others on
    /// the machine could read.
    package static func proxyKey(environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        said("WATERH_ESPHOME_KEY", environment)
    }

    /// An empty variable says nothing.
    private static func said(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
