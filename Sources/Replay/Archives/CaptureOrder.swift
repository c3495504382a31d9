import Captures

/// The position of a capture in a recorder's log, which can be split into files whose names do not show the order.
struct CaptureOrder: Hashable, Sendable {
    /// 1 January 2000, in seconds since 1970. Earlier times come from a recorder without a clock.
    static let earliest: Int64 = 946_684_800

    /// Container and link type, which all parts of one log share.
    var kind: CaptureFormat?
    /// The archive of the capture, because two archives can be from two phones.
    var archive = ""
    /// The time of the first packet with a date; `nil` if unknown.
    var first: Duration?

    private struct Log: Hashable {
        var kind: CaptureFormat?
        var archive: String
    }

    /// Sorts the captures of each kind by archive, then by their first packets. The kinds keep their order, and a
    /// capture without a date stays after its predecessor.
    static func sorted<Element>(_ all: [Element], by order: (Element) -> CaptureOrder) -> [Element] {
        var kinds: [CaptureFormat?: Int] = [:]
        var begins: [Log: Duration] = [:]
        var last: [Log: Duration] = [:]
        var keyed: [(kind: Int, log: Log, time: Duration, index: Int)] = []
        for (index, element) in all.enumerated() {
            let order = order(element), log = Log(kind: order.kind, archive: order.archive)
            let time = order.first ?? last[log] ?? .zero
            kinds[order.kind] = kinds[order.kind] ?? index
            (last[log], begins[log]) = (time, min(time, begins[log] ?? time))
            keyed.append((kinds[order.kind] ?? index, log, time, index))
        }
        return keyed.map { ($0.kind, begins[$0.log] ?? .zero, $0.log.archive, $0.time, $0.index) }.sorted(by: <)
            .map { all[$0.4] }
    }
}
