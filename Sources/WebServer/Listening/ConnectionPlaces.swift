import Foundation

/// How many connections there is room for: each is an open file, and a process that has no more of those can do nothing
/// any more. The runtime's own threads end it then (libdispatch traps where it cannot look at /proc).
enum ConnectionPlaces {
    /// Files for everything but connections: stores with their logs, the bus, brokers, sockets of bottles.
    static let reserved = 128
    /// So many there are always.
    static let least = 8

    /// - Parameters:
    ///   - most: so many are wanted.
    ///   - files: how many files the process may have open. Half of what is left beside the reserve is one address's:
    ///     there may be a second one.
    static func room(for most: Int, files: Int) -> Int { max(least, min(most, (files - reserved) / 2)) }

    /// How many files this process may have open.
    static var files: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}
