import ArgumentParser
import CommandSupport
import Replay

struct CommandsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "commands", abstract: "List commands sent to the bottle")

    @Argument(help: "Capture of any format (- for standard input)", completion: .file())
    var file: String

    @OptionGroup var attribution: AttributionArguments
    @OptionGroup var filter: FilterArguments
    @OptionGroup var following: FollowArguments
    @OptionGroup var colors: ColorArguments

    @Flag(help: "Print one JSON object per line")
    var json = false

    func run() throws {
        let run = try CaptureRun()
        let lines = CommandLines(run.out, isColoured: colors.isColoured)
        let isJSON = json
        var found = 0
        var options = DrinkReader.Options(hostYear: DrinkReader.Options.hostYear)
        (options.handles, options.filter) = (attribution.handles, filter.filter)
        let reader = DrinkReader(options)
        reader.onCommand = { command in
            found += 1
            if isJSON { lines.json(command) } else { lines.text(command) }
        }
        let parts = try run.parts(file, following: following.follow)
        for (index, part) in parts.enumerated() {
            let notes = ReadingNotes()
            let isWhole = try run.read(part, following: following.follow) { file in
                try reader.read(&file, isLast: index == parts.count - 1) { event in notes.count(event) }
            }
            notes.print(part.name, peers: reader.peers, tally: DrinkReader.Tally(), hadErrors: !isWhole, run)
        }
        if found == 0, !isJSON { run.out.put(text: "no commands\n") }
        try run.finish()
    }
}
