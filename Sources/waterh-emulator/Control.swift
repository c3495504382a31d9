import ArgumentParser
import CommandSupport
import Foundation
import TrackerCore

/// `waterh-emulator control`: hands on a running bottle.
struct Control: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "control",
        abstract: "Act on a running emulator.",
        discussion: "Actions:\n"
            + ControlMessages.actions.map { "  \($0.words): \($0.meaning)" }.joined(separator: "\n")
            + "\nAn amount is millilitres, or has a unit: 4oz, 0.2l.")

    @Option(help: ArgumentHelp("Its control socket.", valueName: "unix:PATH"))
    var control: ControlPath?

    @Flag(help: "Print the bottle's state as JSON.")
    var json = false

    @Argument(
        help: "What to do; see above.",
        completion: .list(ControlMessages.actions.compactMap { $0.words.split(separator: " ").first.map(String.init) }))
    var action: String

    @Argument(help: "How much.")
    var value: String?

    /// The bottle counts millilitres, whatever unit a person types.
    private var told: String? { action == "sip" ? value.flatMap(Amounts.typed).map(String.init) ?? value : value }

    func validate() throws {
        do {
            _ = try ControlMessages.action(action, told)
        } catch {
            throw ValidationError(error.description)
        }
    }

    func run() throws {
        let path = control?.path ?? Run.defaultControlPath
        let answer: Data
        do {
            answer = try ControlSocket.ask(path, ControlMessages.request(action, told).text)
        } catch {
            throw CommandFailure(
                .noLink, "There is no emulator to act on: \(error).",
                advice: "Start one with 'waterh-emulator run', or name its socket with --control.")
        }
        guard let object = (try? JSONSerialization.jsonObject(with: answer)) as? [String: Any],
            let ok = object["ok"] as? Bool
        else {
            throw CommandFailure(
                .failed, "What listens at \(path) is no emulator.", advice: "Name the emulator's socket with --control."
            )
        }
        guard ok else { throw CommandFailure(.refused, object["error"] as? String ?? "The emulator refused.") }
        if json {
            // The answer's own text: its keys are in order.
            let text = String(decoding: answer, as: UTF8.self)
            let status = text.range(of: #""status":"#).map { String(text[$0.upperBound...].dropLast()) }
            TextOutput.standard.line(status ?? "{}")
        } else if let status = object["status"] as? [String: Any] {
            for line in Self.words(status, isLong: action == "status") { TextOutput.standard.line(line) }
        }
    }

    /// One line, or for `status` all there is to say.
    private static func words(_ status: [String: Any], isLong: Bool) -> [String] {
        func text(_ key: String) -> String {
            (status[key] as? String) ?? (status[key] as? NSNumber)?.stringValue ?? "-"
        }
        let short =
            """
            \(text("name")): \(text("records")) record\(text("records") == "1" ? "" : "s"), \(text("amountMl")) ml \
            today, battery \(text("batteryPercent")) %, clock \(text("clock"))
            """
        guard isLong else { return [short] }
        let isConnected = (status["connected"] as? Bool) == true
        let connection =
            isConnected
            ? "\(text("central")), MTU \(text("mtu"))\((status["subscribed"] as? Bool) == true ? ", subscribed" : "")"
            : "none"
        let isOnAir = (status["onAir"] as? Bool) != false
        let air = isOnAir ? (isConnected ? "yes, and hidden while connected" : "yes") : "no: \(text("offAirReason"))"
        return [
            "\(text("name"))  \(text("address"))  \(text("profile")) \(text("model"))",
            "on the air    \(air)",
            "connection    \(connection) (\(text("connections")) so far)",
            """
            log           \(text("records")) record\(text("records") == "1" ? "" : "s"), \(text("acknowledged")) \
            acknowledged, \(text("overwritten")) lost to newer ones
            """,
            "clock         \(text("clock"))",
            "battery       \(text("batteryPercent")) %, \(text("charging"))",
            "today         \(text("amountMl")) of \(text("goalMl")) ml",
            "level         \(text("levelMl")) ml",
            "reminder      \(text("reminder"))",
            "light         \(text("light"))",
        ]
    }
}
