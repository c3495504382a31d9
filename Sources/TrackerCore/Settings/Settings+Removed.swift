extension Settings {
    /// Names of settings that 0.10 removed. Stores and backups of earlier versions can contain them. They are ignored.
    package static let removedNames: Set<String> = [
        "gotify.caFile", "gotify.token", "gotify.tokenFile", "gotify.url", "notify.tray", "push.caFile", "push.contact",
        "webhook.templateFile",
    ]

    package static func isRemoved(_ name: String) -> Bool {
        removedNames.contains { $0.lowercased() == name.lowercased() }
    }

    /// The message for the name of a removed setting; `nil` for any other name.
    package static func removal(of name: String) -> String? {
        isRemoved(name) ? "unknown setting '\(name)': removed in 0.10" : nil
    }
}
