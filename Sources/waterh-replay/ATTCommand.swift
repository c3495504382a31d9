import ArgumentParser
import Bluetooth
import CommandSupport
import Replay

struct ATTCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "att", abstract: "List ATT PDUs")

    @Argument(help: "Capture of any format (- for standard input)", completion: .file())
    var file: String

    @OptionGroup var filter: FilterArguments
    @OptionGroup var following: FollowArguments
    @OptionGroup var colors: ColorArguments

    @Option(
        help: ArgumentHelp(
            """
            Columns, in this order, separated by commas (text output has tabs): \
            \(ATTColumn.allCases.map(\.rawValue).joined(separator: ",")).
            """,
            valueName: "names"),
        transform: Self.columns)
    var columns: [ATTColumn]?

    @Flag(help: "Print one JSON object per line")
    var json = false

    private static func columns(_ text: String) throws -> [ATTColumn] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { name in
            guard let column = ATTColumn(rawValue: String(name)) else {
                throw ValidationError(
                    """
                    unknown column '\(name)': expected \
                    \(ATTColumn.allCases.map(\.rawValue).joined(separator: ", "))
                    """
                )
            }
            return column
        }
    }

    func run() throws {
        let run = try CaptureRun()
        var seen = 0, shown = 0
        for part in try run.parts(file, following: following.follow) {
            try run.read(part, following: following.follow) { file in
                // One object per capture, because connection numbers start again in each capture.
                let lines = ATTLines(
                    run.out, isJSON: json, filter: filter.filter, columns: columns, isColoured: colors.isColoured)
                defer { (seen, shown) = (seen + lines.seen, shown + lines.count) }
                try file.forEachEvent { packet in
                    lines.start(at: packet.time)
                } _: { event, bytes in
                    try lines.receive(event, bytes)
                    try run.checkOutput()
                }
            }
        }
        if shown == 0, !run.hadErrors {
            run.note(
                seen > 0
                    ? """
                    none of the \(counted(seen, "ATT PDU")) of this capture matches the filter; see waterh-replay \
                    stats
                    """
                    : "no ATT traffic in this capture; see waterh-replay info")
        }
        try run.finish()
    }
}
