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
            Without --format, the output's suffix decides. Between HCI, air and text, and with a filter, the ATT \
            conversation is kept and its packets are created again; other traffic is left out. The discovery is \
            kept, so that the characteristics are known. Formats: \
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
        try CaptureRun.refuse(writing: output, over: [input])
        let run = try CaptureRun()
        var converter = CaptureConverter(to: target, filter: filter.filter)
        // Created with the first byte.
        var destination: OutputFile?
        let parts = try run.parts(input, copiesPipes: true)
        guard let first = parts.first else { return try run.finish() }
        try run.read(first, tellsEnd: false) { file in
            converter.onProgress = file.onProgress
            do {
                try converter.convert(parts.map(\.path)) { bytes in
                    destination =
                        try destination
                        ?? OutputFile(
                            output, kind: target.level == .text ? .text : .capture, mode: CaptureRun.mode)
                    try destination?.write(bytes)
                }
            } catch let error as CaptureError where error.kind == .cannotCarry {
                // Do not publish a partial file. An existing file stays unchanged.
                destination = nil
                throw error
            }
        }
        for part in parts {
            if let trouble = part.trouble { run.report("\(part.name): \(trouble); everything before it was read") }
        }
        guard let destination else { return try run.finish() }
        try destination.commit()
        let outcome = converter.outcome
        var words =
            """
            \(input == "-" ? "standard input" : input) to \(output == "-" ? "standard output" : output) as \
            \(target): \(counted(outcome.written, "record"))
            """
        if outcome.isByConversation { words += "; the conversation was carried over, packets were made around it" }
        if outcome.leftOut > 0 {
            words += "; \(counted(outcome.leftOut, "record")) without a place in this format left out"
        }
        if outcome.retimed > 0 {
            words +=
                """
                ; this format has no time before 1970 or so far ahead: \(counted(outcome.retimed, "record")) counted \
                from the first of them on, as from 1970
                """
        }
        run.note(words)
        try run.finish()
    }

    private func target() throws -> CaptureFormat {
        if let format {
            guard let known = CaptureFormat(name: format) else {
                throw CommandFailure(
                    .wrongUse, "unknown format '\(format)'",
                    advice: "Formats: \(CaptureFormat.named.map(\.name).joined(separator: " "))")
            }
            return known
        }
        guard let known = CaptureFormat(suffixOf: output) else {
            throw CommandFailure(
                .wrongUse, "the suffix of \(output) is not that of a format",
                advice: "Name it with --format: \(CaptureFormat.named.map(\.name).joined(separator: " "))")
        }
        return known
    }
}
