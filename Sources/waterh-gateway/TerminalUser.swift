import CommandSupport
import Foundation
import TrackerCore

/// The lines of standard input. A thread reads them from the first use on.
enum StandardInput {
    static let lines: AsyncStream<String> = {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .unbounded)
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }()
}

/// A user at a terminal, or lines of a pipe.
actor TerminalUser: BenchDayUser {
    private var isEnded = false

    func answer(_ prompt: BenchDayPrompt) async -> String? {
        while !isEnded, !Task.isCancelled {
            Diagnostics.line("? \(prompt.text) \(Self.hint(prompt.form))")
            var iterator = StandardInput.lines.makeAsyncIterator()
            guard let line = await iterator.next(isolation: self) else {
                isEnded = true
                return nil
            }
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.lowercased() == "s" { return nil }
            if let answer = Self.answer(text, prompt.form) { return answer }
            Diagnostics.line("invalid answer '\(text)'")
        }
        return nil
    }

    private static func hint(_ form: BenchDayPrompt.Form) -> String {
        switch form {
        case .done: "[Enter: done, s: leave out]"
        case .amount(let ml): "[Enter: \(ml) ml, or 250ml, 0.25l, 8oz; s: leave out]"
        case .yesNo(let usual): usual ? "[Y/n]" : "[y/N]"
        }
    }

    /// The parsed answer; `nil` if it is invalid.
    static func answer(_ text: String, _ form: BenchDayPrompt.Form) -> String? {
        switch form {
        case .done: return text
        case .amount(let ml):
            guard !text.isEmpty else { return "\(ml)" }
            return Amounts.typed(text).flatMap { (1...2000).contains($0) ? "\($0)" : nil }
        case .yesNo(let usual):
            guard let first = text.lowercased().first else { return usual ? "y" : "n" }
            return first == "y" || first == "n" ? String(first) : nil
        }
    }
}
