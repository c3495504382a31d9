import Foundation

/// Default paths (CLI spec C8; XDG base directories).
package enum Paths {
    /// The store: `$XDG_STATE_HOME/waterh/waterh.sqlite`, by default below `~/.local/state`.
    package static var store: String { base("XDG_STATE_HOME", "\(home)/.local/state") + "/waterh/waterh.sqlite" }

    /// The store of a system service.
    package static let serviceStore = "/var/lib/waterh/waterh.sqlite"

    /// The store of an instance of `waterh-gateway@.service` whose configuration does not name one.
    package static func serviceStore(ofInstance name: String) -> String { "/var/lib/waterh/\(name).sqlite" }

    /// The configuration: that of the instance `$WATERH_INSTANCE`, else `$XDG_CONFIG_HOME/waterh/waterh.toml` if it
    /// exists, else `/etc/waterh/waterh.toml` if it exists, else the path below `$XDG_CONFIG_HOME`.
    package static var configuration: String {
        if let instance { return configuration(ofInstance: instance) }
        let own = base("XDG_CONFIG_HOME", "\(home)/.config") + "/waterh/waterh.toml"
        let system = systemConfiguration + "/waterh.toml"
        return !FileManager.default.fileExists(atPath: own) && FileManager.default.fileExists(atPath: system)
            ? system : own
    }

    /// The instance of `waterh-gateway@.service` that this process runs or queries: `$WATERH_INSTANCE`.
    package static var instance: String? { Machine.variable("WATERH_INSTANCE") }

    /// The configuration of an instance, `/etc/waterh/NAME.toml`.
    package static func configuration(ofInstance name: String) -> String { "\(systemConfiguration)/\(name).toml" }

    /// The instance that uses a configuration; `nil` for `waterh.toml` and for files in other directories.
    package static func instance(ofConfiguration path: String) -> String? {
        let url = URL(fileURLWithPath: path).standardizedFileURL
        guard url.pathExtension == "toml", url.deletingLastPathComponent().path == systemConfiguration else {
            return nil
        }
        let name = url.deletingPathExtension().lastPathComponent
        return name == "waterh" ? nil : name
    }

    /// The instances that have a configuration on this machine.
    package static var instances: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: systemConfiguration)) ?? []
        return files.compactMap { instance(ofConfiguration: "\(systemConfiguration)/\($0)") }
    }

    /// systemd's `ConfigurationDirectory`, else `/etc/waterh`.
    private static var systemConfiguration: String {
        variable("CONFIGURATION_DIRECTORY")?.split(separator: ":").first.map(String.init) ?? "/etc/waterh"
    }

    /// The path of this user's socket; see `ofSession`.
    package static func socket(_ name: String) -> String { ofSession(name) }

    /// A path for the user's session: `$XDG_RUNTIME_DIR`, else a private temporary directory, else that of the store.
    package static func ofSession(_ name: String) -> String {
        if let directory = variable("XDG_RUNTIME_DIR") { return "\(directory)/\(name)" }
        let usual = "\(variable("TMPDIR") ?? "/tmp")/waterh-\(geteuid())"
        guard !makePrivate(usual) else { return "\(usual)/\(name)" }
        let otherwise = URL(fileURLWithPath: store).deletingLastPathComponent().path + "/run"
        _ = (try? makeParent(of: otherwise), makePrivate(otherwise))
        return "\(otherwise)/\(name)"
    }

    /// A path for the machine's uptime: systemd's runtime directory, `$XDG_RUNTIME_DIR`, or the temporary directory.
    package static var runtime: String {
        ofService ?? variable("XDG_RUNTIME_DIR") ?? variable("TMPDIR") ?? "/tmp"
    }

    /// systemd's runtime directory of this service, or `nil`.
    package static var ofService: String? {
        variable("RUNTIME_DIRECTORY")?.split(separator: ":").first.map(String.init)
    }

    package static func makeParent(of file: String) throws {
        let parent = URL(fileURLWithPath: file).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    }

    /// Creates a directory.
    /// - Returns: whether it exists, is not a link, and was never writable by others.
    private static func makePrivate(_ path: String) -> Bool {
        _ = mkdir(path, 0o700)
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else { return false }
        return status.st_mode & 0o077 == 0 || chmod(path, 0o700) == 0
    }

    private static var home: String { variable("HOME") ?? NSHomeDirectory() }
    private static func base(_ name: String, _ otherwise: String) -> String { variable(name) ?? otherwise }

    /// A non-empty environment variable; XDG ignores relative paths.
    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
