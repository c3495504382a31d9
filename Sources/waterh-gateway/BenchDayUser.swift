import CommandSupport
import Foundation
import TrackerCore

/// The lines of standard input, which a thread reads after the first use.
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

/// A prompt for the user of a hardware session.
enum BenchDayPrompt: Sendable {
    /// Sync with the manufacturer's app.
    case app
    /// Drink about this amount. The answer is the measured amount in ml.
    case sip(ml: Int)
    case acknowledge

    var text: String {
        switch self {
        case .app:
            """
            Sync with the maker's app: switch on the phone's "Bluetooth HCI snoop log", let the app sync, and keep the \
            log (adb bugreport). Nothing is acknowledged yet.
            """
        case .sip(let ml):
            "Drink \(ml) ml by a measuring cup, wait until the bottle has counted it, and type the amount."
        case .acknowledge: "The log will be stored and then acknowledged, so that the bottle deletes it. Continue?"
        }
    }

    fileprivate var hint: String {
        switch self {
        case .app: "[Enter: done, s: skip]"
        case .sip(let ml): "[Enter: \(ml) ml, or 250ml, 0.25l, 8oz; s: skip]"
        case .acknowledge: "[Y/n]"
        }
    }
}

/// The user of a hardware session, or an emulator that answers instead.
struct BenchDayUser: Sendable {
    /// The control socket of the emulator that answers; `nil` for a user at a terminal or a pipe.
    let control: String?

    var isEmulated: Bool { control != nil }

    /// The factor by which waiting times are multiplied; 1 with a real bottle.
    var pace: Double { isEmulated ? 0.2 : 1 }

    /// Asks the user, or the emulator's control socket in a rehearsal.
    /// - Returns: the amount of a sip in ml, or 0; `nil` skips the step.
    func answer(_ prompt: BenchDayPrompt) async -> Int? {
        if let control { return Self.emulated(prompt, control) }
        while !Task.isCancelled {
            Diagnostics.line("? \(prompt.text) \(prompt.hint)")
            guard let line = await StandardInput.lines.first(where: { _ in true }) else { return nil }
            let text = line.trimmingCharacters(in: .whitespaces).lowercased()
            switch (prompt, text.first) {
            case (_, _) where text == "s": return nil
            case (.app, _), (.acknowledge, nil), (.acknowledge, "y"): return 0
            case (.acknowledge, "n"): return nil
            case (.acknowledge, _): break
            case (.sip(let ml), nil): return ml
            case (.sip, _): if let ml = Amounts.parse(text), (1...2000).contains(ml) { return ml }
            }
            Diagnostics.line("invalid answer '\(text)'")
        }
        return nil
    }

    /// Drinks from an emulated bottle, skips the manufacturer's app, and answers with the defaults.
    private static func emulated(_ prompt: BenchDayPrompt, _ control: String) -> Int? {
        switch prompt {
        case .app: return nil
        case .acknowledge:
            Diagnostics.line("? \(prompt.text) y")
            return 0
        case .sip(let ml):
            do {
                let answer = try ControlSocket.request(control, ControlMessages.request("sip", "\(ml)").text)
                let object = try JSONSerialization.jsonObject(with: answer) as? [String: Any]
                guard object?["ok"] as? Bool == true else {
                    let reason = object?["error"] as? String ?? "the emulator rejected the action"
                    Diagnostics.line("? \(prompt.text) skipped: \(reason)")
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
