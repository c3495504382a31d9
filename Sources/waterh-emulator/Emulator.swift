import ArgumentParser
package import Bluetooth
package import BottleProtocol
import CommandSupport
package import Emulator

@main
struct Emulator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-emulator",
        abstract: "Emulate a WaterH bottle",
        discussion: """
            Start one in a terminal, and poll it with a gateway or an app:

              waterh-emulator run --link unix:/tmp/b.sock
              waterh-emulator control sip 120
              waterh-gateway poll --link unix:/tmp/b.sock

            \(ExitStatus.help)
            """,
        version: ProgramVersion.text,
        subcommands: [Run.self, Control.self, Faults.self])

    static func main() async { await CommandRunner.main(Emulator.self) }
}

struct Faults: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "faults",
        abstract: "List faults",
        discussion: """
            A fault plan is a comma-separated list: --faults drop=5,hang-up=12,late@3:2s. The same --seed gives the \
            same faults.
            """)

    func run() {
        let bottle = BottleFault.allCases.map { ($0.example, $0.meaning) }
        let link = FaultPlan.syntax
        let width = 2 + ((bottle + link).map { $0.0.count }.max() ?? 0)
        func list(_ title: String, _ entries: [(String, String)]) {
            TextOutput.standard.line(title)
            for (entry, meaning) in entries {
                TextOutput.standard.line("  " + entry + String(repeating: " ", count: width - entry.count) + meaning)
            }
        }
        list("Faults of the bottle, on every link:", bottle)
        list(
            """
            Faults of the link, on unix:, l2cap: and hci:. Over bluez, mtu is not possible, and the faults apply to \
            written, read and notified values. N counts from 1; P is a probability from 0 to 1:
            """,
            link)
    }
}

/// The value of `--faults`: faults of the bottle and of the link in one list.
struct FaultOptions {
    var bottle: BottleFaults
    var link: FaultPlan?

    init(_ text: String) throws {
        let names = text.split(separator: ",").map { $0.filter { $0 != " " } }
        bottle = try BottleFaults(names.filter { !FaultPlan.isLinkFault($0) }.joined(separator: ","))
        let others = names.filter(FaultPlan.isLinkFault)
        link = others.isEmpty ? nil : try FaultPlan(others.joined(separator: ","))
    }
}

/// The value of `--restamp`: whether to keep recorded times or to shift them to today.
enum Restamp: String, CaseIterable, ExpressibleByArgument { case today, keep }

/// The value of `--answers`: the source of the responses to requests that the emulated model does not support.
enum ResponseSource: String, CaseIterable, ExpressibleByArgument { case model, capture, strict }

extension OfferedProfiles: ExpressibleByArgument {}
extension BottleModel: ExpressibleByArgument {}
extension RecordDialect: ExpressibleByArgument {}
extension ProfileMachine.Mode: ExpressibleByArgument {}
extension LinkFactory.NotificationMethod: ExpressibleByArgument {}
extension BluetoothAddress: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}
extension LinkName: ExpressibleByArgument {
    package init?(argument: String) { try? self.init(argument) }
    package var defaultValueDescription: String { description }
}
