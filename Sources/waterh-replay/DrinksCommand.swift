import ArgumentParser
import CommandSupport
import Replay

struct DrinksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drinks",
        abstract: "List drinks",
        discussion: """
            A drink counts once, even if it was delivered several times or is in several captures of one bottle. Files \
            are read in the order of their times.
            """)

    @Argument(help: "Captures of any format (- for standard input)", completion: .file())
    var files: [String]

    @OptionGroup var records: RecordArguments
    @OptionGroup var attribution: AttributionArguments
    @OptionGroup var filter: FilterArguments
    @OptionGroup var following: FollowArguments
    @OptionGroup var colors: ColorArguments

    @Flag(help: "Print every delivery, also duplicates and bookkeeping entries")
    var raw = false

    @Flag(help: "Print one JSON object per line")
    var json = false

    func validate() throws {
        if following.follow, files.count > 1 { throw ValidationError("--follow requires exactly one capture") }
    }

    func run() throws {
        let run = try CaptureRun()
        let lines = DrinkLines(run.out, isRaw: raw, isColoured: colors.isColoured)
        let isJSON = json
        var options = DrinkReader.Options(records, attribution, filter)
        options.isRaw = raw
        let reader = DrinkReader(options) { delivery in
            if isJSON { lines.json(delivery) } else { lines.text(delivery) }
            try run.checkOutput()
        }
        let parts = try run.parts(files, following: following.follow)
        for (index, part) in parts.enumerated() {
            let notes = ReadingNotes()
            let before = reader.tally
            reader.onRejected = { notes.addRejected($0, run) }
            let isWhole = try run.read(part, following: following.follow) { file in
                try reader.read(&file, isLast: index == parts.count - 1) { event in notes.count(event) }
            }
            notes.print(part.name, peers: reader.peers, tally: reader.tally.since(before), hadErrors: !isWhole, run)
        }
        if !json { run.out.put(text: Self.total(reader.tally)) }
        try run.finish()
    }

    private static func total(_ tally: DrinkReader.Tally) -> String {
        guard tally.drinks > 0 else { return "no drinks\n" }
        var text = "\(counted(tally.drinks, "drink")), \(tally.millilitres) ml"
        if tally.duplicates > 0 {
            text += "; \(counted(tally.duplicates, "delivery", "deliveries")) of known drinks"
        }
        if tally.suspects > 0 { text += "; \(tally.suspects) suspect, not in the sum" }
        if tally.bookkeeping > 0 {
            text += "; \(counted(tally.bookkeeping, "bookkeeping entry", "bookkeeping entries")), not drinks"
        }
        return text + "\n"
    }
}
