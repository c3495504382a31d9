import ArgumentParser
import CommandSupport
import PostgreSQL
import TrackerCore

struct PostgresCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postgres", abstract: "Prepare a PostgreSQL database for gateways", subcommands: [Initialise.self])

    struct Initialise: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "init", abstract: "Create the schema, and roles for gateways and viewers",
            discussion: """
                Run it as a role that may create schemas and roles. It is safe to run it again: it updates an older \
                schema, and gives an existing role a new password. Then another store may write as this gateway. \
                Passwords are shown once. libpq reads $PGPASSWORD and $PGPASSFILE.
                """)

        @Argument(help: ArgumentHelp("Database of the administrator", valueName: "postgresql://HOST/DATABASE"))
        var url: String

        @Option(help: ArgumentHelp("Create the role of a gateway", valueName: "name"))
        var gateway: String?

        @Option(help: ArgumentHelp("Person of the gateway (default: its name)", valueName: "name"))
        var person: String?

        @Option(help: ArgumentHelp("Create a role that reads all rows, for example for Grafana", valueName: "name"))
        var viewer: String?

        func validate() throws {
            if person != nil, gateway == nil { throw ValidationError("--person requires --gateway") }
        }

        func run() async throws {
            do {
                let plan = try PostgresPlan(url: url)
                for name in [gateway, viewer].compactMap(\.self) { try PostgresSchema.checkName(name) }
                try await PostgresSchema.install(plan)
                TextOutput.standard.line("The schema waterh is ready (version \(PostgresSchema.version)).")
                if let gateway {
                    let password = try await PostgresSchema.addGateway(gateway, person: person, plan)
                    let url = plan.url(role: gateway, password: password)
                    for line in ["For waterh.toml of this gateway:", "", "[postgres]", "url = \"\(url)\""] {
                        TextOutput.standard.line(line)
                    }
                }
                if let viewer {
                    let password = try await PostgresSchema.addViewer(viewer, plan)
                    TextOutput.standard.line("For a viewer: \(plan.url(role: viewer, password: password))")
                }
            } catch let failure as PostgresFailure {
                throw CommandFailure(.failed, failure.cause, advice: failure.advice)
            }
        }
    }
}
