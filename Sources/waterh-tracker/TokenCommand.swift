import ArgumentParser
import CommandKit
import Store
import TrackerCore

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Bearer tokens for writes over HTTP.",
        subcommands: [New.self, List.self, Revoke.self], defaultSubcommand: New.self)

    struct New: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Make a token and show it, once.")
        @OptionGroup var options: StoreOptions
        @Option(help: "What it is for.") var label = "cli"

        private struct Report: Encodable {
            var id: String
            var label: String
            var token: String
        }

        func run(_ desk: Desk) throws {
            var random = SystemRandomNumberGenerator()
            let digits = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }.map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            let token = "wt_" + digits.joined()
            let record = try desk.store.addToken(token, label: label, desk.context)
            try desk.say(Report(id: record.id, label: label, token: token)) {
                [token, "It is shown only now. Revoke it with: waterh-tracker token revoke \(record.id.prefix(8))"]
            }
        }
    }

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "The tokens given out, without the tokens themselves.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }

        private struct Report: Encodable {
            var id: String
            var label: String
            var createdAt: String
            var isRevoked: Bool
        }

        func run(_ desk: Desk) throws {
            let tokens = try desk.store.tokens()
            let reports = tokens.map {
                Report(id: $0.id, label: $0.label, createdAt: $0.createdAt.description, isRevoked: $0.revokedAt != nil)
            }
            try desk.say(["tokens": reports]) {
                tokens.isEmpty ? ["No tokens."] : tokens.map {
                    "\($0.id.prefix(8))  \(desk.dateTime($0.createdAt))  \($0.label)\($0.revokedAt == nil ? "" : "  revoked")"
                }
            }
        }
    }

    struct Revoke: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Revoke one token, or all of them (sign out).")
        @OptionGroup var options: StoreOptions
        @Argument(help: "The beginning of the token's id. See: token list.") var id: String?
        @Flag(help: "All of them.") var all = false

        func validate() throws {
            guard (id != nil) != all else { throw ValidationError("Name a token's id, or say --all.") }
            guard id?.isEmpty != true else { throw ValidationError("The id is empty.") }
        }

        func run(_ desk: Desk) throws {
            let count = try desk.store.revokeTokens(all ? nil : id, desk.context)
            guard count > 0 else { throw Refusal("noSuchToken", "There is no such token that is still valid.") }
            try desk.say(["revoked": count]) { ["Revoked \(counted(count, "token"))."] }
        }
    }
}
