import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Emulator

extension OfferedProfiles: ExpressibleByArgument {}
extension BottleModel: ExpressibleByArgument {}
extension RecordDialect: ExpressibleByArgument {}
extension RecordedAnswers.Mode: ExpressibleByArgument {}
extension GadgetMachine.Mode: ExpressibleByArgument {}

extension LinkFactory.NotificationWay: ExpressibleByArgument {}

extension BluetoothAddress: ExpressibleByArgument {
    /// From what stands behind an option.
    package init?(argument: String) { self.init(argument) }
}

extension LinkName: ExpressibleByArgument {
    /// From what stands behind an option.
    package init?(argument: String) { try? self.init(argument) }
    /// As help shows it.
    package var defaultValueDescription: String { description }
}

/// What to do with recorded days.
enum Restamp: String, CaseIterable, ExpressibleByArgument {
    case today, keep
}

/// Where the control socket is: `unix:PATH`.
struct ControlPath: ExpressibleByArgument {
    let path: String

    init?(argument: String) {
        guard argument.hasPrefix("unix:"), argument.count > 5 else { return nil }
        path = String(argument.dropFirst(5))
    }
}
