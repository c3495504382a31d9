import ArgumentParser
import CommandSupport

@main
struct WaterhReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-replay",
        abstract: "Read, compare and replay captures of a WaterH bottle",
        discussion: """
            Formats: btsnoop (Android, btmon), pcap and pcapng (Wireshark, sniffers), PacketLogger (Apple), hex text, \
            nRF Connect's log, dumps of tshark and hcidump. A capture can be compressed (gzip, bzip2, xz, zstd, lz4), \
            or be in a zip or tar, for example an Android bug report. FILE can be - for standard input.

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
