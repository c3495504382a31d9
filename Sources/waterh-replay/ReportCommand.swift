import ArgumentParser
import Captures
import CommandSupport
import Replay

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write an HTML report",
        discussion: """
            The report is one HTML file for any browser; it needs no network. With a second capture, it compares \
            both. For a large capture, it has all counts, the first 5000 PDUs, and later errors and slow responses. It \
            shows the number of omitted PDUs.
            """)

    @Argument(help: "Capture of any format (- for standard input)", completion: .file())
    var file: String

    @Argument(help: "Second capture, to compare with", completion: .file())
    var other: String?

    @Option(
        name: [.short, .long], help: "File to write (- for standard output)",
        completion: .file(extensions: ["html"]))
    var output: String

    @OptionGroup var filter: FilterArguments
    @OptionGroup var records: RecordArguments
    @OptionGroup var attribution: AttributionArguments

    func validate() throws {
        if file == "-", other == "-" { throw ValidationError("only one of the two captures can be standard input") }
    }

    func run() throws {
        let files = [file, other].compactMap { $0 }
        try CaptureRun.checkOutputIsNotInput(output, files)
        let run = try CaptureRun(), options = DrinkReader.Options(records, attribution, filter)
        var contents: [ReportJSON] = []
        let parts = try files.flatMap { try run.parts($0) }
        guard parts.count <= 2 else {
            throw CommandFailure(
                .badInput, "the archive has \(parts.count) captures; a report has at most two",
                advice: "Unpack it, and pass one or two: \(parts.prefix(8).map(\.name).joined(separator: ", ")).")
        }
        for part in parts {
            try run.read(part, reportsTruncation: false) { file in
                let content = try CaptureContent(&file, options: options, timeline: Timeline())
                guard content.info.format != nil else {
                    return run.report("\(part.name): \(content.readingError ?? "no capture")")
                }
                contents.append(ReportJSON(name: part.name, content: content))
                if let error = part.readingError ?? content.readingError { run.report("\(part.name): \(error)") }
            }
        }
        // If no capture can be read, leave an existing page unchanged.
        guard !contents.isEmpty else { return try run.finish() }
        var random = SystemRandomNumberGenerator()
        let nonce = String(random.next(), radix: 36) + String(random.next(), radix: 36)
        let page = ReportPage(contents: contents, nonce: nonce)
        let destination = try OutputFile(output, mode: CaptureRun.filePermissions)
        try destination.write(page.bytes)
        try destination.commit()
        run.note(
            """
            \(contents.map(\.name).joined(separator: " and ")) to \(CaptureRun.outputName(output)): \
            \(contents.map(\.countText).joined(separator: "; "))
            """
        )
        try run.finish()
    }
}
