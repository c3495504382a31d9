import ArgumentParser
package import Bluetooth
package import BottleProtocol
import CommandSupport
import Foundation
import Replay

/// An attribute handle: decimal, or hex with `0x`.
struct HandleArgument: ExpressibleByArgument {
    let value: UInt16

    init?(argument: String) {
        let isHex = argument.lowercased().hasPrefix("0x")
        let digits = isHex ? String(argument.dropFirst(2)) : argument
        guard digits.first != "+", let value = UInt16(digits, radix: isHex ? 16 : 10), value > 0 else { return nil }
        self.value = value
    }
}

extension BluetoothAddress: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension RecordDialect: ExpressibleByArgument {}
extension BottleModel: ExpressibleByArgument {}

/// The handles of a bottle's characteristics, for captures without discovery.
struct AttributionArguments: ParsableArguments {
    @Option(help: "Handle of the command characteristic (decimal or 0x hex), if the capture has no discovery")
    var commandHandle: HandleArgument?

    @Option(help: "Handle of the response characteristic, if the capture has no discovery")
    var responseHandle: HandleArgument?

    var handles: HandleOptions { HandleOptions(command: commandHandle?.value, response: responseHandle?.value) }

    func validate() throws {
        if let commandHandle, commandHandle.value == responseHandle?.value {
            throw ValidationError("--command-handle and --response-handle must be different")
        }
    }
}

struct RecordArguments: ParsableArguments {
    @Option(help: "Byte 0 of a record: calendar (year - 2000) or strict (must be 1A)")
    var dialect: RecordDialect = .calendar

    @Option(help: "Model of the bottle, if the capture does not show it")
    var model: BottleModel?
}

extension DrinkReader.Options {
    init(_ records: RecordArguments, _ attribution: AttributionArguments, _ filter: FilterArguments) {
        self.init(hostYear: Self.hostYear)
        (dialect, model, handles, self.filter) = (records.dialect, records.model, attribution.handles, filter.filter)
    }

    static var hostYear: Int { Calendar(identifier: .gregorian).component(.year, from: Date()) }
}

/// The `--follow` option, for a capture that is still growing.
struct FollowArguments: ParsableArguments {
    @Flag(
        help:
            """
            Continue while the file grows, until Ctrl-C. A file that is replaced or truncated is read from the start \
            again.
            """
    )
    var follow = false
}

struct ColorArguments: ParsableArguments {
    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case auto, always, never
    }

    @Option(help: "Colour; auto: on a terminal, without NO_COLOR")
    var color: Mode = .auto

    var isColoured: Bool {
        switch color {
        case .always: true
        case .never: false
        case .auto: isatty(STDOUT_FILENO) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
        }
    }
}
