import ArgumentParser
import Bluetooth
import Captures
import CommandSupport
package import Replay

/// The filter options of all subcommands that read a capture.
struct FilterArguments: ParsableArguments {
    @Option(
        name: [.customLong("device"), .customLong("bottle")],
        help: ArgumentHelp("Only traffic between the host and this address", valueName: "address"))
    var device: BluetoothAddress?

    @Option(
        name: .customLong("handle"),
        help: ArgumentHelp("Only this attribute (decimal or 0x hex); repeatable", valueName: "handle"))
    var handles: [HandleArgument] = []

    @Option(
        help: ArgumentHelp(
            """
            Start: 2026-02-02T22:21:20 (UTC, or with +01:00), 22:21 on the capture's first day, +90 seconds after its \
            start, or seconds since 1970
            """,
            valueName: "time"))
    var from: TrafficFilter.Moment?

    @Option(help: ArgumentHelp("End of the time range, in the form of --from", valueName: "time"))
    var to: TrafficFilter.Moment?

    @Option(help: ArgumentHelp("Only PDUs of this kind; repeatable", valueName: "kind"))
    var only: [TrafficKind] = []

    var filter: TrafficFilter {
        var filter = TrafficFilter()
        filter.device = device
        filter.handles = Set(handles.map(\.value))
        filter.from = from
        filter.to = to
        filter.kinds = only
        return filter
    }

    func validate() throws {
        if case .absolute(let from)? = from, case .absolute(let to)? = to, from >= to {
            throw ValidationError("invalid --from: must be before --to")
        }
    }
}

extension TrafficKind: ExpressibleByArgument {}

extension TrafficFilter.Moment: ExpressibleByArgument {
    package init?(argument: String) {
        let isOffset = argument.hasPrefix("+")
        switch TextTime(isOffset ? String(argument.dropFirst()) : argument) {
        case .relative(let time) where (.zero ..< .seconds(100_000_000_000)).contains(time):
            self = isOffset ? .afterStart(time) : .absolute(time)
        case .timeOfDay(let time) where !isOffset: self = .timeOfDay(time)
        case .absolute(let time) where !isOffset: self = .absolute(time)
        default: return nil
        }
    }
}
