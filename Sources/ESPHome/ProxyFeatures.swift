/// The feature flags of a Bluetooth proxy.
struct ProxyFeatures: OptionSet, Hashable {
    let rawValue: Int
    /// Passive scanning: the proxy forwards advertisements.
    static let passiveScan = Self(rawValue: 1 << 0)
    static let activeConnections = Self(rawValue: 1 << 1)
    /// The proxy can connect without its GATT cache. To subscribe, the client then also writes the Client
    /// Characteristic Configuration descriptor.
    static let connectsWithoutCache = Self(rawValue: 1 << 2)
    /// The proxy removes its cache of a peer on request.
    static let clearsCache = Self(rawValue: 1 << 4)
    /// The proxy forwards raw advertising data.
    static let rawAdvertisements = Self(rawValue: 1 << 5)

    init(rawValue: Int) { self.rawValue = rawValue }

    /// - Parameters:
    ///   - flags: the feature flags; 0 from devices that are too old.
    ///   - legacyVersion: the version number that old devices report instead.
    init(flags: Int, legacyVersion: Int) {
        let older: [Self] = [.passiveScan, .activeConnections, .connectsWithoutCache, [], .clearsCache]
        self = flags != 0 ? Self(rawValue: flags) : Self(older.prefix(max(0, min(legacyVersion, older.count))))
    }
}
