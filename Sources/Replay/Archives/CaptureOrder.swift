import Captures

/// The sort key for the files of one recorder's log, whose names do not always show their order.
struct CaptureOrder: Hashable, Sendable {
    /// 1 January 2000, in seconds since 1970. Earlier times are from a recorder without a clock and count as unknown.
    static let earliest: Int64 = 946_684_800

    /// Container and link type, which all parts of one log share.
    var kind: CaptureFormat?
    /// The archive that contains the capture. Captures of two archives can be from two phones.
    var archive = ""
    /// The time of the first packet with a date; `nil` if unknown.
    var first: Duration?

    private struct Log: Hashable {
        var kind: CaptureFormat?
        var archive: String
    }

    /// Sorts the captures of each kind by archive, then by their first packets. The kinds keep their order, and a
    /// capture without a date stays after its predecessor.
    static func sorted(_ all: [CapturePart]) -> [CapturePart] {
        var kinds: [CaptureFormat?: Int] = [:]
        var logStarts: [Log: Duration] = [:]
        var last: [Log: Duration] = [:]
        var sortable: [(kind: Int, log: Log, time: Duration, index: Int)] = []
        for (index, order) in all.map(\.order).enumerated() {
            let log = Log(kind: order.kind, archive: order.archive)
            let time = order.first ?? last[log] ?? .zero
            kinds[order.kind] = kinds[order.kind] ?? index
            (last[log], logStarts[log]) = (time, min(time, logStarts[log] ?? time))
            sortable.append((kinds[order.kind] ?? index, log, time, index))
        }
        return sortable.map { ($0.kind, logStarts[$0.log] ?? .zero, $0.log.archive, $0.time, $0.index) }.sorted(by: <)
            .map { all[$0.4] }
    }
}
