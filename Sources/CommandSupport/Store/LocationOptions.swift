package import ArgumentParser

/// `--store` and `--config` of every command that uses a store.
package struct LocationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Store file (default: $WATERH_STORE, else store in waterh.toml, else ~/.local/state/waterh/waterh.sqlite \
            or, if only the service's store exists, /var/lib/waterh/waterh.sqlite)
            """,
            valueName: "file"), completion: .file())
    package var store: String?

    @Option(help: .configuration, completion: .file())
    package var config: String?

    package init() {}

    /// Reads the configuration, and finds the store.
    package func load() throws -> (file: Configuration, store: StoreLocation) {
        let file = try Configuration.load(config)
        return (file, try StoreLocation.find(store, file))
    }

    package func namedZone(_ file: Configuration) -> String? { file.zone(flag: nil) }
}

extension ArgumentHelp {
    package static let configuration = ArgumentHelp(
        "Configuration file (default: ~/.config/waterh/waterh.toml, else /etc/waterh/waterh.toml)", valueName: "file")
}
