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

/// The user of a hardware session, or an emulator that answers instead.
struct BenchDayUser: Sendable {
    /// The control socket of the emulator that answers; `nil` for a user at a terminal or a pipe.
    let control: String?

    var isEmulated: Bool { control != nil }

    /// The factor by which waiting times are multiplied; 1 with a real bottle.
    var waitFactor: Double { isEmulated ? 0.2 : 1 }

    /// Asks for a sync with the manufacturer's app. An emulated bottle has no app.
    /// - Returns: whether the user did not skip it.
    func syncs() async -> Bool {
        guard !isEmulated else { return false }
        let prompt = """
            Sync with the maker's app: switch on the phone's "Bluetooth HCI snoop log", let the app sync, and keep the \
            log (adb bugreport). Nothing is acknowledged yet. [Enter: done, s: skip]
            """
        return await ask(prompt) { _ in true } ?? false
    }

    /// Asks for a drink of about this amount. An emulated bottle drinks itself.
    /// - Returns: the measured amount in ml; `nil` if the user skips it.
    func drinks(ml: Int) async -> Int? {
        let prompt = "Drink \(ml) ml by a measuring cup, wait until the bottle has counted it, and type the amount."
        if let control {
            let error = Self.sip(ml, control)
            Diagnostics.line("? \(prompt) \(error.map { "skipped: \($0)" } ?? "\(ml)")")
            return error == nil ? ml : nil
        }
        return await ask("\(prompt) [Enter: \(ml) ml, or 250ml, 0.25l, 8oz; s: skip]") { text in
            text.isEmpty ? ml : Amounts.parse(text).flatMap { (1...2000).contains($0) ? $0 : nil }
        }
    }

    func agreesToAcknowledge() async -> Bool {
        let prompt = "The log will be stored and then acknowledged, so that the bottle deletes it. Continue?"
        guard !isEmulated else {
            Diagnostics.line("? \(prompt) y")
            return true
        }
        return await ask("\(prompt) [Y/n]") { $0.isEmpty ? true : Bool(answer: $0) } ?? false
    }

    /// Asks until the answer is valid.
    /// - Parameter parse: the answer's value; `nil` for an invalid answer.
    /// - Returns: `nil` if the user skips the step, or at the end of the input.
    private func ask<Answer>(_ prompt: String, _ parse: (String) -> Answer?) async -> Answer? {
        while !Task.isCancelled {
            Diagnostics.line("? \(prompt)")
            guard let line = await StandardInput.lines.first(where: { _ in true }) else { return nil }
            let text = line.trimmingCharacters(in: .whitespaces).lowercased()
            if text == "s" { return nil }
            if let answer = parse(text) { return answer }
            Diagnostics.line("invalid answer '\(text)'")
        }
        return nil
    }

    /// Drinks from an emulated bottle. Returns the error; `nil` if there is none.
    private static func sip(_ ml: Int, _ control: String) -> String? {
        do {
            let answer = try ControlSocket.request(control, ControlMessages.request("sip", "\(ml)").text)
            let object = try JSONSerialization.jsonObject(with: answer) as? [String: Any]
            let isDone = object?["ok"] as? Bool == true
            return isDone ? nil : object?["error"] as? String ?? "the emulator rejected the action"
        } catch {
            return "\(error)"
        }
    }
}
