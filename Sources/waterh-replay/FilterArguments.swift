import ArgumentParser
import Bluetooth
import CommandSupport
import Foundation
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
        if text.hasPrefix("+") { return seconds(text.dropFirst()).map { .afterStart($0) } }
        if let seconds = seconds(text[...]) { return .absolute(seconds) }
        if let time = timeOfDay(text[...]) { return .timeOfDay(time) }
        return date(text).map { .absolute($0) }
    }

    /// Parses seconds since 1970 with up to nine decimal places: `1770070880.1`.
    private static func seconds(_ text: Substring) -> Duration? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, !first.isEmpty, first.utf8.count <= 11, first.utf8.allSatisfy(isDigit),
            let whole = Int64(first)
        else { return nil }
        guard parts.count == 2 else { return .seconds(whole) }
        guard !parts[1].isEmpty, parts[1].utf8.allSatisfy(isDigit) else { return nil }
        let digits = String(parts[1].prefix(9))
        guard let fraction = Int64(digits + String(repeating: "0", count: 9 - digits.utf8.count)) else { return nil }
        return .seconds(whole) + .nanoseconds(fraction)
    }

    /// Parses a time of day: `22:21`, `22:21:20`, `22:21:20.123`.
    private static func timeOfDay(_ text: Substring) -> Duration? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let hour = two(parts[0]), hour < 24, let minute = two(parts[1]),
            minute < 60
        else { return nil }
        let start = Duration.seconds(Int64(hour * 3600 + minute * 60))
        guard parts.count == 3 else { return start }
        guard two(parts[2].prefix(2)) != nil, let second = seconds(parts[2]), second < .seconds(60) else { return nil }
        return start + second
    }

    /// Parses ISO 8601: a date, or date and time, followed by `Z`, `+01:00` or nothing (UTC).
    private static func date(_ text: String) -> Duration? {
        let text = text.replacingOccurrences(of: " ", with: "T")
        let day = text.prefix(10)
        let fields = day.split(separator: "-", omittingEmptySubsequences: false)
        guard fields.count == 3, fields[0].utf8.count == 4, fields.joined().utf8.allSatisfy(isDigit),
            let year = Int(fields[0]), let month = two(fields[1]), let date = two(fields[2])
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
        let components = DateComponents(year: year, month: month, day: date)
        guard components.isValidDate(in: calendar), let midnight = calendar.date(from: components) else { return nil }
        let start = Duration.seconds(Int64(midnight.timeIntervalSince1970))
        var rest = text.dropFirst(10)
        guard !rest.isEmpty else { return start }
        guard rest.first == "T" else { return nil }
        rest = rest.dropFirst()
        var zone = Duration.zero
        if rest.last == "Z" {
            rest = rest.dropLast()
        } else if let sign = rest.lastIndex(where: { $0 == "+" || $0 == "-" }) {
            let digits = rest[rest.index(after: sign)...].replacingOccurrences(of: ":", with: "")
            guard digits.utf8.count == 4, digits.utf8.allSatisfy(isDigit), let number = Int64(digits),
                number / 100 <= 14, number % 100 < 60
            else { return nil }
            zone = .seconds((number / 100 * 3600 + number % 100 * 60) * (rest[sign] == "-" ? -1 : 1))
            rest = rest[..<sign]
        }
        return timeOfDay(rest).map { start + $0 - zone }
    }

    private static func two(_ text: Substring) -> Int? {
        text.utf8.count == 2 && text.utf8.allSatisfy(isDigit) ? Int(text) : nil
    }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
