import CommandKit
import TOMLKit

/// What stands under `[fleet]`: to whom this gateway tells every drink, beside keeping it.
public struct FleetPlace: Equatable, Sendable {
    /// `nil`: nobody is told.
    public var url: String?
    /// Its first line is the gateway's credential.
    public var tokenFile: String?

    init(_ table: TOMLTable, file: String) throws {
        func wrong(_ words: String) -> CommandFailure {
            CommandFailure(.badInput, "In the configuration \(file), \(words)", advice: Configuration.mend)
        }
        if let unknown = table.keys.first(where: { !["url", "token-file"].contains($0) }) {
            throw wrong("[fleet] has an unknown key '\(unknown)': it has url and token-file.")
        }
        if let value = table["url"] {
            guard let url = value.string, url.hasPrefix("http://") || url.hasPrefix("https://"), url.utf8.count <= 2048,
                url.utf8.allSatisfy({ $0 > 32 && $0 < 127 }),
                !url.contains(where: { "?#@".contains($0) }),
                !(url.split(separator: "/").dropFirst().first ?? "").isEmpty
            else {
                throw wrong(
                    """
                    'url' of [fleet] is to be an address that begins with http:// or https://, without user and \
                    password.
                    """
                )
            }
            self.url = url
        }
        if let value = table["token-file"] {
            guard let path = value.string, !path.isEmpty else {
                throw wrong("'token-file' of [fleet] is to be a file whose first line is the gateway's credential.")
            }
            tokenFile = path
        }
    }
}
