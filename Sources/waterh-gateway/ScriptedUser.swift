import CommandSupport
import Foundation

/// Simulates the user with an emulator. Skips the manufacturer's app.
struct ScriptedUser: BenchDayUser {
    let control: String

    func answer(_ prompt: BenchDayPrompt) async -> String? {
        guard prompt.act != .app else { return nil }
        if case .sip(let ml) = prompt.act {
            do {
                let answer = try ControlSocket.ask(control, ControlMessages.request("sip", "\(ml)").text)
                let object = try JSONSerialization.jsonObject(with: answer) as? [String: Any]
                guard object?["ok"] as? Bool == true else {
                    Diagnostics.line(
                        "? \(prompt.text) left out: \(object?["error"] as? String ?? "the emulator refused")")
                    return nil
                }
            } catch {
                Diagnostics.warning("\(error)")
                return nil
            }
        }
        let answer =
            switch prompt.form {
            case .done: ""
            case .amount(let ml): "\(ml)"
            // Both clocks might be wrong.
            case .yesNo: prompt.word == "clock" ? "n" : "y"
            }
        Diagnostics.line("? \(prompt.text) \(answer)")
        return answer
    }
}
