import ArgumentParser
import CommandSupport
import Replay

struct DissectorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dissector",
        abstract:
            "A dissector for Wireshark: the bottle's frames, entries, records and commands by name, in any capture.",
        discussion: """
            A script in Lua, made of the same tables as everything else here. Put it into Wireshark's folder of Lua \
            plugins (Help, About, Folders),
            or name it: tshark -X lua_script:waterh.lua -r FILE -Y waterh -T fields -e waterh.at -e waterh.amount. The \
            package installs it.
            """)

    @Option(name: .shortAndLong, help: "The file to write; - for standard output.", completion: .file())
    var output = "-"

    func run() throws {
        let destination = try OutputFile(output, mode: CaptureRun.mode)
        try destination.write(Array(WiresharkDissector.text.utf8))
        try destination.commit()
    }
}
