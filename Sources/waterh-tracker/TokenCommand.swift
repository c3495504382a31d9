import ArgumentParser
import CommandSupport
import Store
import TrackerCore
import TrackerService

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Bearer tokens for writes over HTTP.",
        subcommands: [New.self, List.self, Revoke.self], defaultSubcommand: New.self)

    struct New: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "new", abstract: "Make a token and show it, once.")
        @OptionGroup var options: StoreOptions
        @Option(help: "What it is for.") var label = "cli"
        @Option(
            help:
                """
                What it is good for: read (look), log (drinks and sessions), control (settings and the bottle, \
                too), admin (everything).
                """
        ) var scope = Scope.log

        func run(_ desk: Desk) throws {
            let new = try desk.tracker.makeToken(label: label, scope: scope)
            try desk.say(new) {
                [
                    new.token,
                    """
                    It is shown only now. Whoever has it may \(scope.words); with more or less: --scope \
                    \(Self.others(than: scope))
                    """,
                    "Revoke it with: waterh-tracker token revoke \(new.id.prefix(8))",
                ]
            }
        }

        private static func others(than scope: Scope) -> String {
            let names = Scope.allCases.filter { $0 != scope }.map(\.rawValue)
            return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
        }
    }

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "The tokens given out, without the tokens themselves.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }

        func run(_ desk: Desk) throws {
            let list = try desk.tracker.tokens()
            let tokens = list.tokens.map(\.record)
            try desk.say(list) {
                tokens.isEmpty
                    ? ["No tokens."]
                    : tokens.map {
                        """
                        \($0.id.prefix(8))  \(desk.dateTime($0.createdAt))  \($0.scope.padded(7))  \
                        \($0.label)\($0.revokedAt == nil ? "" : "  revoked")
                        """
                    }
            }
        }
    }

    struct Revoke: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke", abstract: "Revoke one token, or all of them (sign out).")
        @OptionGroup var options: StoreOptions
        @Argument(help: "The beginning of the token's id. See: token list.") var id: String?
        @Flag(help: "All of them.") var all = false

        func validate() throws {
            guard (id != nil) != all else { throw ValidationError("Name a token's id, or say --all.") }
            guard id?.isEmpty != true else { throw ValidationError("The id is empty.") }
        }

        func run(_ desk: Desk) throws {
            let revocation = try desk.tracker.revokeTokens(all ? nil : id)
            try desk.say(revocation) { ["Revoked \(counted(revocation.revoked, "token"))."] }
        }
    }
}

extension Scope: ExpressibleByArgument {}
