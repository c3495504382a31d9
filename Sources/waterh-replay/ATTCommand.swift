import ArgumentParser
import CommandKit
import Replay

struct ATTCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "att", abstract: "Every ATT PDU, in order: whose, which way, what it is, its bytes.")

    @Argument(help: "A capture of any format; - for standard input.")
    var file: String

    @OptionGroup var filter: FilterArguments

    @Flag(help: "One JSON object a line.")
    var json = false

    func run() throws {
        let run = CaptureRun()
        let lines = ATTLines(run.out, isJSON: json, filter: filter.filter)
        try run.read(file) { file in
            try file.forEachEvent { packet in
                lines.start(at: packet.time?.sinceEpoch)
            } _: { event, bytes in
                try lines.receive(event, bytes)
                try run.checkOutput()
            }
        }
        if lines.count == 0, !run.hadTrouble {
            run.note(lines.seen > 0
                ? "none of the \(count(lines.seen, "ATT PDU")) of this capture is what was asked for; 'waterh-replay stats' tells what there is"
                : "no ATT traffic is in this capture; 'waterh-replay info' tells what is in it")
        }
        try run.finish()
    }
}
