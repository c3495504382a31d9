import Foundation
package import Store
package import TrackerCore

/// The path of the store, determined in the same way for all commands.
///
/// The first of: the option, `WATERH_STORE`, the configuration, the user's existing store, the existing store of a
/// system service, and the path of a new store for the user.
package struct StoreLocation: Equatable, Sendable {
    package enum Origin: Sendable { case option, environment, configuration, own, service }

    package var path: String
    package var origin: Origin
    /// The path of a system service's store, if it exists in addition to the user's store.
    package var serviceStore: String?
    package var units: AmountUnits?

    package init(path: String, origin: Origin = .option, serviceStore: String? = nil, units: AmountUnits? = nil) {
        (self.path, self.origin, self.serviceStore, self.units) = (path, origin, serviceStore, units)
    }

    /// Finds the store: by `--store`, the environment, the configuration, or a default path.
    /// - Parameters:
    ///   - flag: the value of `--store`.
    ///   - own, service: the default paths.
    ///   - hasSystemService: whether this machine has a system service, whose store might be unreadable for this user.
    /// - Throws: `CommandFailure` if the path is in a configuration that this user cannot read.
    package static func find(
        _ flag: String?, _ configuration: Configuration,
        environment: [String: String] = ProcessInfo.processInfo.environment, own: String = Paths.store,
        service: String = Paths.serviceStore, hasSystemService: Bool = StoreLocation.hasService
    ) throws -> StoreLocation {
        func location(_ path: String, _ origin: Origin, serviceStore: String? = nil) -> StoreLocation {
            StoreLocation(path: path, origin: origin, serviceStore: serviceStore, units: configuration.units)
        }
        if let flag {
            Diagnostics.repeatStore(flag)
            return location(flag, .option)
        }
        if let path = Machine.variable("WATERH_STORE", in: environment) { return location(path, .environment) }
        if let path = configuration.store ?? configuration.instance.map(Paths.serviceStore(ofInstance:)) {
            return location(path, .configuration)
        }
        let hasService = isUsedByService(service, hasSystemService)
        if FileManager.default.fileExists(atPath: own) {
            return location(own, .own, serviceStore: hasService && service != own ? service : nil)
        }
        if hasService { return location(service, .service) }
        guard !configuration.isUnreadable || !hasSystemService else {
            throw CommandFailure(
                .failed, "cannot read the configuration \(Paths.configuration): it belongs to a service",
                advice: "Name the store with --store, or read the configuration as the service's user (sudo -u waterh)."
            )
        }
        return location(own, .own)
    }

    package func open(hostZone: String? = nil, for access: TrackerStore.Access) throws -> TrackerStore {
        do {
            let store = try TrackerStore(path: path, hostZone: hostZone, for: access)
            store.defaultUnits = units
            if access == .writing { Self.report(removedSettings: store.removedSettings) }
            // Make the default directory private. The modes of other directories are not changed.
            if access == .writing, origin == .own { _ = chmod((path as NSString).deletingLastPathComponent, 0o700) }
            return store
        } catch let error as StoreError {
            throw isClosed(for: access) ? accessFailure(for: access) : CommandFailure(error)
        }
    }

    /// Prints the names of the settings that the conversion of a store of 0.9 skipped.
    package static func report(removedSettings names: [String]) {
        guard !names.isEmpty else { return }
        Diagnostics.line("Skipped settings removed in 0.10: \(names.joined(separator: ", ")).")
    }

    // MARK: - A service's store

    /// Whether this machine has a system service, by its unit or its runtime directory.
    package static var hasService: Bool {
        let units = [
            "/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
        ].map { $0 + "/waterh-gateway.service" }
        return (units + ["/run/waterh"]).contains { access($0, F_OK) == 0 }
    }

    /// Whether a service uses the store at this path. If the file is missing, the result is `true` if this user owns
    /// its directory and is not root, such as the user `waterh`.
    /// - Parameter hasSystemService: whether this machine has a system service.
    private static func isUsedByService(_ path: String, _ hasSystemService: Bool) -> Bool {
        var status = stat()
        if stat(path, &status) == 0 || errno == EACCES { return hasSystemService || access(path, R_OK) == 0 }
        let folder = (path as NSString).deletingLastPathComponent
        return geteuid() != 0 && stat(folder, &status) == 0 && status.st_uid == geteuid()
    }

    /// Whether the store belongs to a service and this user has no access.
    private func isClosed(for access: TrackerStore.Access) -> Bool {
        (origin == .service || origin == .configuration) && isDenied(for: access)
    }

    /// Whether the file's permissions deny this user the access.
    package func isDenied(for access: TrackerStore.Access) -> Bool {
        let wanted = access == .reading ? R_OK : R_OK | W_OK
        return Glibc.access(path, wanted) != 0 && errno == EACCES
    }

    private func accessFailure(for access: TrackerStore.Access) -> CommandFailure {
        let owner = Self.owner(of: path) ?? "waterh"
        return CommandFailure(
            .failed,
            "cannot \(access == .reading ? "read" : "write") \(path): it belongs to a service",
            advice:
                """
                Run the command as the service's user: sudo -u \(owner) waterh-tracker … Or use your own store: \
                --store FILE, or WATERH_STORE.
                """)
    }

    /// The owner of the file, or of the nearest directory above it that this user can access.
    private static func owner(of path: String) -> String? {
        var ancestor = path
        var status = stat()
        while stat(ancestor, &status) != 0 {
            guard ancestor != "/", !ancestor.isEmpty else { return nil }
            ancestor = (ancestor as NSString).deletingLastPathComponent
        }
        return getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) }
    }

    /// Returns the reason why a readable store cannot be written, with advice; `nil` if it can. Writes nothing.
    /// - Parameter path: an existing store.
    package static func writeProblem(_ path: String) -> (text: String, advice: String)? {
        // The directory must be writable too, because SQLite writes its WAL there.
        var folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        while access(folder, F_OK) != 0, folder != "/" { folder = (folder as NSString).deletingLastPathComponent }
        guard access(path, W_OK) == 0 || access(path, F_OK) != 0, access(folder, W_OK) == 0 else {
            return (
                "\(path) is not writable",
                """
                Check whether its disk is mounted read-only, and the owner and permissions of the file and of \
                \(folder).
                """
            )
        }
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0, UInt64(disk.f_bavail) * UInt64(disk.f_frsize) < 256 << 10 else { return nil }
        return ("the disk with \(path) is full", "Free some space. The stored data is intact.")
    }
}
