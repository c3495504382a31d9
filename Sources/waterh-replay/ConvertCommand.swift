import ArgumentParser
import Captures
import CommandSupport
import Foundation
import Replay

struct ConvertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Convert a capture",
        discussion: """
            Without --format, the output's suffix determines the format. With a filter, or between HCI, link-layer and \
            text formats, packets are generated from the ATT conversation, without other traffic. The discovery is \
            always kept, so that the characteristics are known. Formats: \
            \(CaptureFormat.named.map(\.name).joined(separator: " "))
            """)

    @Argument(help: "Capture to read (- for standard input)", completion: .file())
    var input: String

    @Argument(help: "File to write (- for standard output)", completion: .file())
    var output: String

    @Option(help: "Format to write", completion: .list(CaptureFormat.named.map(\.name)))
    var format: String?

    @OptionGroup var filter: FilterArguments

    func run() throws {
        let target = try target()
        try CaptureRun.checkOutputIsNotInput(output, [input])
        let run = try CaptureRun()
        var converter = CaptureConverter(to: target, filter: filter.filter)
        // Create the file with the first byte, so that an unreadable input leaves an existing file unchanged.
        var destination: OutputFile?
        let parts = try run.parts(input, copiesPipes: true)
        guard let first = parts.first else { return try run.finish() }
        try run.read(first, reportsTruncation: false) { file in
            converter.onProgress = file.onProgress
            do {
                try converter.convert(parts.map(\.path)) { bytes in
                    destination =
                        try destination
                        ?? OutputFile(
                            output, kind: target.layer == .text ? .text : .capture, mode: CaptureRun.filePermissions)
                    try destination?.write(bytes)
                }
            } catch let error as CaptureError where error.kind == .notStorable {
                // Discard the partial file. An existing file stays unchanged.
                destination = nil
                throw error
            }
        }
        for part in parts {
            if let error = part.readingError { run.report("\(part.name): \(error); everything before it was read") }
        }
        guard let destination else { return try run.finish() }
        try destination.commit()
        let outcome = converter.outcome
        var result =
            """
            \(CaptureRun.name(input)) to \(CaptureRun.outputName(output)) as \(target): \
            \(counted(outcome.written, "record"))
            """
        if outcome.isRegenerated { result += "; packets were generated from the ATT conversation" }
        if outcome.skipped > 0 {
            result += "; \(counted(outcome.skipped, "record")) skipped, because the format cannot store them"
        }
        if outcome.retimedRecords > 0 {
            result +=
                """
                ; the format cannot store the times of \(counted(outcome.retimedRecords, "record")): they now count \
                from 1970, with the same intervals
                """
        }
        run.note(result)
        try run.finish()
    }

    private func target() throws -> CaptureFormat {
        let known = if let format { CaptureFormat(name: format) } else { CaptureFormat(suffixOf: output) }
        if let known { return known }
        let names = CaptureFormat.named.map(\.name).joined(separator: " ")
        throw CommandFailure(
            .wrongUse, format.map { "unknown format '\($0)'" } ?? "unknown file suffix: \(output)",
            advice: (format == nil ? "Choose a format with --format: " : "Formats: ") + names)
    }
}
