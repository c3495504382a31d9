/// What a device can do as a Bluetooth proxy.
struct ProxyFeatures: OptionSet, Hashable {
    let rawValue: Int
    /// It hands on what it hears.
    static let hears = Self(rawValue: 1 << 0)
    /// It connects.
    static let connects = Self(rawValue: 1 << 1)
    /// It connects in the way that leaves the subscription's descriptor to us.
    static let leavesCaching = Self(rawValue: 1 << 2)
    /// It forgets what it remembers of a peer when told to.
    static let forgets = Self(rawValue: 1 << 4)
    /// It hands on advertisements as they were heard.
    static let hearsRaw = Self(rawValue: 1 << 5)

    init(rawValue: Int) { self.rawValue = rawValue }

    /// - Parameters:
    ///   - flags: 0 where the device is older than they are.
    ///   - legacyVersion: what such a device tells instead.
    init(flags: Int, legacyVersion: Int) {
        let older: [Self] = [.hears, .connects, .leavesCaching, [], .forgets]
        self = flags != 0 ? Self(rawValue: flags) : Self(older.prefix(max(0, min(legacyVersion, older.count))))
    }
}
