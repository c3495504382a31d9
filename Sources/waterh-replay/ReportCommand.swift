import ArgumentParser
import CommandSupport
import Foundation
import Replay

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract:
            """
            A capture as a page to look at: its course, latencies, throughput, drinks, tables, and what is not as \
            it should be.
            """,
        discussion: """
            The page is one file that needs nothing else, no network and no program but a browser. With a second \
            capture both stand side by side.
            Of a large capture the page holds all counts, but single PDUs only of the beginning, and later ones that \
            were errors or late: it
            says how many it leaves out. --from, --to, --device, --handle and --only choose.
            """)

    @Argument(help: "A capture of any format; - for standard input.", completion: .file())
    var file: String

    @Argument(help: "Another one, to compare it with.", completion: .file())
    var other: String?

    @Option(
        name: [.short, .long], help: "The page to write; - for standard output.",
        completion: .file(extensions: ["html"]))
    var output: String

    @OptionGroup var filter: FilterArguments
    @OptionGroup var records: RecordArguments
    @OptionGroup var attribution: AttributionArguments

    func validate() throws {
        if file == "-", other == "-" { throw ValidationError("only one of the two captures can be standard input") }
    }

    func run() throws {
        try CaptureRun.refuse(writing: output, over: [file] + (other.map { [$0] } ?? []))
        let run = CaptureRun()
        var pictures: [PictureJSON] = []
        let parts = try ([file] + (other.map { [$0] } ?? [])).flatMap { try run.parts($0) }
        guard parts.count <= 2 else {
            throw CommandFailure(
                .badInput, "there are \(parts.count) captures in that, and a page shows two at most",
                advice: "Unpack it, and name one or two: \(parts.prefix(8).map(\.name).joined(separator: ", ")).")
        }
        for part in parts {
            try run.read(part, tellsEnd: false) { file in
                let picture = try CapturePicture(&file, options: options)
                guard picture.facts.format != nil else {
                    return run.report("\(part.name): \(picture.trouble ?? "no capture")")
                }
                pictures.append(PictureJSON(name: part.name, picture: picture))
                if let trouble = part.trouble ?? picture.trouble { run.report("\(part.name): \(trouble)") }
            }
        }
        // Without a capture, an existing page stays unchanged.
        guard !pictures.isEmpty else { return try run.finish() }
        var random = SystemRandomNumberGenerator()
        let page = ReportPage(pictures, nonce: String(random.next(), radix: 36) + String(random.next(), radix: 36))
        let destination = try OutputFile(output, mode: CaptureRun.mode)
        try destination.write(page.bytes)
        try destination.commit()
        run.note(
            """
            \(pictures.map(\.name).joined(separator: " and ")) to \(output == "-" ? "standard output" : output): \
            \(pictures.map(\.sentence).joined(separator: "; "))
            """
        )
        try run.finish()
    }

    private var options: DrinkReader.Options {
        var options = DrinkReader.Options(hostYear: Calendar(identifier: .gregorian).component(.year, from: Date()))
        options.dialect = records.dialect
        options.model = records.model
        options.given = attribution.given
        options.bottle = filter.device?.value
        options.filter = filter.filter
        return options
    }
}
