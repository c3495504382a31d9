import ArgumentParser
import CommandSupport
import Foundation
import TrackerCore

struct Control: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "control",
        abstract: "Control a running emulator",
        discussion: "Actions:\n"
            + ControlMessages.actions.map { "  \($0.usage): \($0.meaning)" }.joined(separator: "\n")
            + "\nAn amount is in millilitres, or has a unit: 4oz, 0.2l.")

    @Option(help: ArgumentHelp("Socket (default: waterh-emulator.sock in $XDG_RUNTIME_DIR)", valueName: "unix:PATH"))
    var control: ControlPath?

    @Flag(help: "Print the bottle's state as JSON")
    var json = false

    @Argument(
        help: "Action, see above",
        completion: .list(ControlMessages.actions.compactMap { $0.usage.split(separator: " ").first.map(String.init) }))
    var action: String

    @Argument(help: "Value of the action")
    var value: String?

    /// The value to send. The amount of a sip is converted to millilitres.
    private var wireValue: String? { action == "sip" ? value.flatMap(Amounts.parse).map(String.init) ?? value : value }

    func validate() throws {
        do {
            _ = try ControlMessages.action(action, wireValue)
        } catch {
            throw ValidationError(error.description)
        }
    }

    func run() throws {
        let path = control?.path ?? Run.defaultControlPath
        let answer: Data
        do {
            answer = try ControlSocket.request(path, ControlMessages.request(action, wireValue).text)
        } catch {
            throw CommandFailure(
                .noLink, "cannot reach an emulator: \(error)",
                advice: "Start one with 'waterh-emulator run', or name its socket with --control.")
        }
        guard let object = (try? JSONSerialization.jsonObject(with: answer)) as? [String: Any],
            let ok = object["ok"] as? Bool
        else {
            throw CommandFailure(
                .failed, "invalid response from \(path)", advice: "Name the socket of an emulator with --control.")
        }
        guard ok else {
            throw CommandFailure(.refused, object["error"] as? String ?? "the emulator rejected the action")
        }
        if json {
            let text = String(decoding: answer, as: UTF8.self)
            let status = text.range(of: #""status":"#).map { String(text[$0.upperBound...].dropLast()) }
            TextOutput.standard.line(status ?? "{}")
        } else if let status = object["status"] as? [String: Any] {
            for line in Self.lines(status, isLong: action == "status") { TextOutput.standard.line(line) }
        }
    }

    private static func lines(_ status: [String: Any], isLong: Bool) -> [String] {
        func text(_ key: String) -> String {
            (status[key] as? String) ?? (status[key] as? NSNumber)?.stringValue ?? "-"
        }
        func flag(_ key: String) -> Bool { (status[key] as? Bool) == true }
        let records = "\(text("records")) record\(text("records") == "1" ? "" : "s")"
        guard isLong else {
            return [
                """
                \(text("name")): \(records), \(text("amountMl")) ml today, battery \(text("batteryPercent")) %, clock \
                \(text("clock"))
                """
            ]
        }
        let connection =
            flag("connected")
            ? "\(text("central")), MTU \(text("mtu"))\(flag("subscribed") ? ", subscribed" : "")" : "none"
        let advertising =
            !flag("onAir")
            ? "no: \(text("offAirReason"))" : flag("connected") ? "paused while connected" : "yes"
        return [
            "\(text("name"))  \(text("address"))  \(text("profile")) \(text("model"))",
            "advertising   \(advertising)",
            "connection    \(connection) (total: \(text("connections")))",
            "log           \(records), \(text("acknowledged")) acknowledged, \(text("overwritten")) overwritten",
            "clock         \(text("clock"))",
            "battery       \(text("batteryPercent")) %, \(text("charging"))",
            "today         \(text("amountMl")) of \(text("goalMl")) ml",
            "level         \(text("levelMl")) ml",
            "reminder      \(text("reminder"))",
            "light         \(text("light"))",
        ]
    }
}
