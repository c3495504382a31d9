import ArgumentParser
import Bluetooth
import CommandSupport
import Emulator

/// `waterh-emulator faults`: the words of a bad day.
struct Faults: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "faults",
        abstract: "List the words of a fault plan.",
        discussion:
            """
            A plan is words with commas between them: --faults drop=5,hang-up=12,late@3:2s. The same --seed gives \
            the same bad day.
            """
    )

    func run() {
        let bottle = BottleFaultWord.all.map { ($0.example, $0.meaning) }
        let link = FaultPlan.vocabulary
        let width = (bottle + link).map { $0.0.count }.max() ?? 0
        func list(_ title: String, _ words: [(String, String)]) {
            TextOutput.standard.line(title)
            for (word, meaning) in words {
                TextOutput.standard.line("  " + word + String(repeating: " ", count: width - word.count + 2) + meaning)
            }
        }
        list("The bottle's, on every link:", bottle)
        list(
            """
            The link's, on unix:, l2cap: and hci:; over bluez all but mtu, and only what the bottle itself gets, \
            answers and notifies counts; N counts from 1, and P is a chance from 0 to 1:
            """,
            link)
    }
}
