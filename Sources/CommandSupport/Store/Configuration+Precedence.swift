// The precedence of options, environment and file for link, bottle and time zone. For the store, see `StoreLocation`.
extension Configuration {
    package func link(flag: String?) -> String { flag ?? Machine.variable("WATERH_LINK") ?? link ?? "bluez" }

    /// The bottle by precedence: option, `WATERH_BOTTLE`, configuration file; `nil` if none is set.
    package func bottle(flag: String?) -> String? { flag ?? Machine.variable("WATERH_BOTTLE") ?? bottle }

    /// The time zone by precedence: option, `WATERH_ZONE`, configuration file; `nil` if none is set.
    package func zone(flag: String?) -> String? { flag ?? Machine.variable("WATERH_ZONE") ?? zone }

    /// The encryption key of an ESPHome device, `WATERH_ESPHOME_KEY`. Other users could read an option.
    package static func proxyKey() -> String? { Machine.variable("WATERH_ESPHOME_KEY") }
}
