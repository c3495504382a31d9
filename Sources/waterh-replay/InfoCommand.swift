import ArgumentParser
import Captures
import CommandSupport
import Replay

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "info", abstract: "Summarise a capture")

    @Argument(help: "Capture of any format (- for standard input)", completion: .file())
    var file: String

    @OptionGroup var records: RecordArguments
    @OptionGroup var attribution: AttributionArguments
    @OptionGroup var filter: FilterArguments

    @Flag(help: "Print one JSON object")
    var json = false

    func run() throws {
        let run = try CaptureRun()
        let parts = try run.parts(file)
        for (index, part) in parts.enumerated() {
            var content: CaptureContent?
            try run.read(part, reportsTruncation: false) { file in
                content = try CaptureContent(&file, options: DrinkReader.Options(records, attribution, filter))
            }
            guard let content else { continue }
            let report = SummaryReport(file: part.reportName, content: content)
            let text = json ? report.json.text + "\n" : report.text
            if index > 0, !json, !text.isEmpty { run.out.put(text: "\n") }
            run.out.put(text: text)
            let error = part.readingError ?? content.readingError ?? (content.info.format == nil ? "no capture" : nil)
            if let error { run.report("\(part.name): \(error)") }
        }
        try run.finish()
    }
}
