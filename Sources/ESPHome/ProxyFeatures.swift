/// The feature flags of a Bluetooth proxy. Devices before ESPHome 2023.6 report none.
struct ProxyFeatures: OptionSet, Hashable {
    let rawValue: Int
    /// Passive scanning: the proxy forwards advertisements.
    static let passiveScan = Self(rawValue: 1 << 0)
    static let activeConnections = Self(rawValue: 1 << 1)
    /// The proxy can connect without its GATT cache. To subscribe, the client then also writes the Client
    /// Characteristic Configuration descriptor.
    static let connectsWithoutCache = Self(rawValue: 1 << 2)
    /// The proxy forwards raw advertising data.
    static let rawAdvertisements = Self(rawValue: 1 << 5)
}
