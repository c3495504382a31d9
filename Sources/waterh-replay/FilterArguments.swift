import ArgumentParser
import Captures
import CommandSupport
import Replay

/// The filter options of all subcommands that read a capture.
struct FilterArguments: ParsableArguments {
    @Option(
        name: [.customLong("device"), .customLong("bottle")],
        help: ArgumentHelp("Only traffic between the host and this address", valueName: "address"))
    var device: AddressArgument?

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
    var from: MomentArgument?

    @Option(help: ArgumentHelp("End, in the same form", valueName: "time"))
    var to: MomentArgument?

    @Option(
        help: ArgumentHelp(
            "Only PDUs of this kind; repeatable: \(TrafficKind.allCases.map(\.rawValue).joined(separator: ", "))",
            valueName: "kind"))
    var only: [TrafficKind] = []

    var filter: TrafficFilter {
        var filter = TrafficFilter()
        filter.device = device?.value
        filter.handles = Set(handles.map(\.value))
        filter.from = from?.value
        filter.to = to?.value
        filter.kinds = only
        return filter
    }

    func validate() throws {
        if case .absolute(let from)? = from?.value, case .absolute(let to)? = to?.value, from >= to {
            throw ValidationError("invalid --from: must be before --to")
        }
    }
}

extension TrafficKind: ExpressibleByArgument {}

struct MomentArgument: ExpressibleByArgument {
    let value: TrafficFilter.Moment

    init?(argument: String) {
        guard let value = Self.moment(argument) else { return nil }
        self.value = value
    }

    private static func moment(_ text: String) -> TrafficFilter.Moment? {
        let isOffset = text.hasPrefix("+")
        switch TextTime(isOffset ? String(text.dropFirst()) : text) {
        case .relative(let time) where (.zero ..< .seconds(100_000_000_000)).contains(time):
            return isOffset ? .afterStart(time) : .absolute(time)
        case .timeOfDay(let time) where !isOffset: return .timeOfDay(time)
        case .absolute(let time) where !isOffset: return .absolute(time)
        default: return nil
        }
    }
}
