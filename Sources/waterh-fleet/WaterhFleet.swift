import ArgumentParser
import CommandKit

@main
struct WaterhFleet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-fleet",
        abstract: "Many gateways in one PostgreSQL: who has drunk how much, and which gateway is silent.",
        discussion: """
            The database is named by --database or WATERH_FLEET_DATABASE as libpq takes it: "host=/run/postgresql \
            dbname=fleet", or postgresql://HOST/fleet. A password
            belongs into ~/.pgpass or PGPASSWORD. A household with one gateway needs nothing of this.

            \(ExitStatus.help)
            """,
        version: ProgramVersion.text,
        subcommands: [
            MigrateCommand.self, EnrolCommand.self, AllowCommand.self, ServeCommand.self, ReportCommand.self,
            ParkedCommand.self, AuditCommand.self, ForgetCommand.self, BackupCommand.self, RestoreCommand.self,
            RehearseRestoreCommand.self, RebuildCommand.self, SimulateCommand.self,
        ])

    static func main() async {
        await CommandRunner.main(WaterhFleet.self)
    }
}
