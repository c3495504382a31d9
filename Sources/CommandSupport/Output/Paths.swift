import Foundation

/// Default paths (CLI spec C8; XDG base directories).
package enum Paths {
    /// The store: `$XDG_STATE_HOME/waterh/waterh.sqlite`, by default below `~/.local/state`.
    package static var store: String { base("XDG_STATE_HOME", "\(home)/.local/state") + "/waterh/waterh.sqlite" }

    package static let serviceStore = "/var/lib/waterh/waterh.sqlite"

    /// The store of an instance of `waterh-gateway@.service` whose configuration does not name one.
    package static func serviceStore(ofInstance name: String) -> String { "/var/lib/waterh/\(name).sqlite" }

    /// The configuration: that of the instance `$WATERH_INSTANCE`, else `$XDG_CONFIG_HOME/waterh/waterh.toml` if it
    /// exists, else `/etc/waterh/waterh.toml` if it exists, else the path below `$XDG_CONFIG_HOME`.
    package static var configuration: String {
        if let instance { return configuration(ofInstance: instance) }
        let userFile = base("XDG_CONFIG_HOME", "\(home)/.config") + "/waterh/waterh.toml"
        let system = systemConfiguration + "/waterh.toml"
        return !FileManager.default.fileExists(atPath: userFile) && FileManager.default.fileExists(atPath: system)
            ? system : userFile
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

    /// systemd's `ConfigurationDirectory`, else `/etc/waterh`.
    private static var systemConfiguration: String {
        variable("CONFIGURATION_DIRECTORY")?.split(separator: ":").first.map(String.init) ?? "/etc/waterh"
    }

    /// A path in `$XDG_RUNTIME_DIR`, else in a private temporary directory, else next to the store.
    package static func runtimeFile(_ name: String) -> String {
        if let directory = variable("XDG_RUNTIME_DIR") { return "\(directory)/\(name)" }
        let temporary = "\(variable("TMPDIR") ?? "/tmp")/waterh-\(geteuid())"
        guard !makePrivate(temporary) else { return "\(temporary)/\(name)" }
        let fallback = URL(fileURLWithPath: store).deletingLastPathComponent().path + "/run"
        _ = (try? makeParent(of: fallback), makePrivate(fallback))
        return "\(fallback)/\(name)"
    }

    /// The directory for files that a restart of the machine deletes.
    package static var runtime: String {
        serviceFolder ?? variable("XDG_RUNTIME_DIR") ?? variable("TMPDIR") ?? "/tmp"
    }

    /// systemd's runtime directory of this service, or `nil`.
    package static var serviceFolder: String? {
        variable("RUNTIME_DIRECTORY")?.split(separator: ":").first.map(String.init)
    }

    package static func makeParent(of file: String) throws {
        let parent = URL(fileURLWithPath: file).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    }

    /// Creates a directory. Returns whether it is a directory that only this user can write.
    private static func makePrivate(_ path: String) -> Bool {
        _ = mkdir(path, 0o700)
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else { return false }
        return status.st_mode & 0o077 == 0 || chmod(path, 0o700) == 0
    }

    private static var home: String { variable("HOME") ?? NSHomeDirectory() }
    private static func base(_ name: String, _ fallback: String) -> String { variable(name) ?? fallback }

    /// The absolute path in an environment variable; `nil` if it is unset or relative (XDG).
    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
