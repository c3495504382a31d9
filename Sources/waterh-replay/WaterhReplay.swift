import ArgumentParser
import CommandSupport

@main
struct WaterhReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-replay",
        abstract: "Captures of a WaterH bottle as test material: read them, compare them, and let them answer.",
        discussion: """
            Any capture will do: btsnoop (Android, btmon), pcap and pcapng (Wireshark, sniffers), PacketLogger \
            (Apple), hex text,
            nRF Connect's log, dumps of tshark and hcidump. It may be packed (gzip, bzip2, xz, zstd, lz4), or lie in a \
            zip or tar: a bug report of an Android phone is read as
            it is. FILE may be - for standard input.

            \(ExitStatus.help)
            """,
        version: ProgramVersion.text,
        subcommands: [
            InfoCommand.self, DrinksCommand.self, CommandsCommand.self, ATTCommand.self, StatsCommand.self,
            ReportCommand.self, PlayCommand.self, RecordCommand.self, WatchCommand.self,
            ConvertCommand.self, DiffCommand.self, VerifyCommand.self, DissectorCommand.self, CloneCommand.self,
        ])

    static func main() async {
        await CommandRunner.main(WaterhReplay.self)
    }
}
