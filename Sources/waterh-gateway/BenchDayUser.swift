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

/// The user of a hardware session. Answers are the amount of a sip in ml, or 0; `nil` skips the step.
enum BenchDayUser {
    /// Asks a user at a terminal, or reads the lines of a pipe.
    static func atTerminal(_ prompt: BenchDayPrompt) async -> Int? {
        while !Task.isCancelled {
            Diagnostics.line("? \(prompt.text) \(hint(prompt.kind))")
            guard let line = await StandardInput.lines.first(where: { _ in true }) else { return nil }
            let text = line.trimmingCharacters(in: .whitespaces).lowercased()
            switch (prompt.kind, text.first) {
            case (_, _) where text == "s": return nil
            case (.confirm(let isYes), nil): return isYes ? 0 : nil
            case (.confirm, "y"): return 0
            case (.confirm, "n"): return nil
            case (.sip(let ml, true), nil): return ml
            case (.sip(_, true), _): if let ml = Amounts.typed(text), (1...2000).contains(ml) { return ml }
            case (.sip(_, false), _), (.app, _): return 0
            case (.confirm, _): break
            }
            Diagnostics.line("invalid answer '\(text)'")
        }
        return nil
    }

    private static func hint(_ kind: BenchDayPrompt.Kind) -> String {
        switch kind {
        case .app, .sip(_, false): "[Enter: done, s: leave out]"
        case .sip(let ml, true): "[Enter: \(ml) ml, or 250ml, 0.25l, 8oz; s: leave out]"
        case .confirm(let isYes): isYes ? "[Y/n]" : "[y/N]"
        }
    }

    /// Drinks from an emulated bottle, skips the manufacturer's app, and answers with the defaults.
    /// - Parameter control: the emulator's control socket.
    static func rehearsing(_ prompt: BenchDayPrompt, control: String) -> Int? {
        switch prompt.kind {
        case .app: return nil
        case .confirm(let isYes):
            Diagnostics.line("? \(prompt.text) \(isYes ? "y" : "n")")
            return isYes ? 0 : nil
        case .sip(let ml, _):
            do {
                let answer = try ControlSocket.ask(control, ControlMessages.request("sip", "\(ml)").text)
                let object = try JSONSerialization.jsonObject(with: answer) as? [String: Any]
                guard object?["ok"] as? Bool == true else {
                    let reason = object?["error"] as? String ?? "the emulator refused"
                    Diagnostics.line("? \(prompt.text) left out: \(reason)")
                    return nil
                }
            } catch {
                Diagnostics.warning("\(error)")
                return nil
            }
            Diagnostics.line("? \(prompt.text) \(ml)")
            return ml
        }
    }
}
