import ArgumentParser
import CReport
import CommandSupport

struct DissectorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dissector", abstract: "Write a Wireshark dissector",
        discussion: """
            A Lua script that shows frames, entries, records and commands by name. Put it into Wireshark's folder \
            of Lua plugins (Help, About, Folders), or pass it as an option:

              tshark -X lua_script:waterh.lua -r FILE -Y waterh
            """)

    @Option(name: .shortAndLong, help: "Output file; - for standard output", completion: .file())
    var output = "-"

    func run() throws {
        let destination = try OutputFile(output, mode: CaptureRun.filePermissions)
        try destination.write(Array(ReportPage.part(waterh_dissector()).utf8))
        try destination.commit()
    }
}
