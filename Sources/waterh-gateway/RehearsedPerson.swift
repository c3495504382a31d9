import BenchDay
import CommandKit
import Emulation
import Foundation

/// Plays the person's part upon an emulator: drinks, presses, charges, and says yes. The maker's app is left out.
struct RehearsedPerson: DayPerson {
    let control: String

    func answer(_ question: DayQuestion) async -> String? {
        guard question.act != .app else { return nil }
        if let (word, value) = question.act.map(Self.words) {
            do {
                let answer = try ControlSocket.ask(control, ControlMessages.request(word, value).text)
                let object = try JSONSerialization.jsonObject(with: answer) as? [String: Any]
                guard object?["ok"] as? Bool == true else {
                    Diagnostics.line(
                        "? \(question.text) left out: \(object?["error"] as? String ?? "the emulator refused")")
                    return nil
                }
            } catch {
                Diagnostics.warning("\(error)")
                return nil
            }
        }
        let answer =
            switch question.form {
            case .done: ""
            case .amount(let ml): "\(ml)"
            // Whose clock is right nobody knows here.
            case .yesNo: question.word == "clock" ? "n" : "y"
            }
        Diagnostics.line("? \(question.text) \(answer)")
        return answer
    }

    private static func words(_ act: DayAct) -> (String, String?) {
        switch act {
        case .sip(let ml): ("sip", "\(ml)")
        case .press, .app: ("press", nil)
        case .charging(let isOn): ("charging", isOn ? "on" : "off")
        }
    }
}
