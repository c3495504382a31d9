import ArgumentParser
import CommandSupport
import Replay

struct ATTCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "att", abstract: "Every ATT PDU, in order: whose, which way, what it is, its bytes.")

    @Argument(help: "A capture of any format; - for standard input.", completion: .file())
    var file: String

    @OptionGroup var filter: FilterArguments
    @OptionGroup var following: FollowArguments
    @OptionGroup var colors: ColorArguments

    @Option(
        help: ArgumentHelp(
            """
            What is told of each PDU, in this order, with commas between; for people with tabs: \
            \(ATTColumn.allCases.map(\.rawValue).joined(separator: ",")).
            """,
            valueName: "names"),
        transform: Self.columns)
    var columns: [ATTColumn]?

    @Flag(help: "One JSON object a line.")
    var json = false

    private static func columns(_ text: String) throws -> [ATTColumn] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { name in
            guard let column = ATTColumn(rawValue: String(name)) else {
                throw ValidationError(
                    """
                    there is no column '\(name)'; there are \
                    \(ATTColumn.allCases.map(\.rawValue).joined(separator: ", "))
                    """
                )
            }
            return column
        }
    }

    func run() throws {
        let run = CaptureRun()
        var seen = 0, shown = 0
        for part in try run.parts(file, following: following.follow) {
            try run.read(part, following: following.follow) { file in
                // Connections are numbered per capture.
                let lines = ATTLines(
                    run.out, isJSON: json, filter: filter.filter, columns: columns, isColoured: colors.isColoured)
                defer { (seen, shown) = (seen + lines.seen, shown + lines.count) }
                // Only a filter needs the time of the first packet.
                try file.forEachEvent(
                    onPacket: filter.filter.isEmpty ? nil : { packet in lines.start(at: packet.time) }
                ) { event, bytes in
                    try lines.receive(event, bytes)
                    try run.checkOutput()
                }
            }
        }
        if shown == 0, !run.hadTrouble {
            run.note(
                seen > 0
                    ? """
                    none of the \(count(seen, "ATT PDU")) of this capture is what was asked for; 'waterh-replay \
                    stats' tells what there is
                    """
                    : "no ATT traffic is in this capture; 'waterh-replay info' tells what is in it")
        }
        try run.finish()
    }
}
