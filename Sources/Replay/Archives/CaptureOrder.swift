import Captures

/// Where a capture belongs among others: a recorder turns its log over, and no name says which part came first.
struct CaptureOrder: Hashable, Sendable {
    /// 1 January 2000: before that a recorder had no clock.
    static let earliest: Int64 = 946_684_800

    /// Container and link type: parts of one log have the same.
    var kind: CaptureFormat?
    /// The archive that it lies in: two of them may be of two phones.
    var archive = ""
    /// When the first packet with a date was recorded; `nil`: unknown.
    var first: Duration?

    private struct Log: Hashable {
        var kind: CaptureFormat?
        var archive: String
    }

    /// Puts captures of one kind in the order of their first packets, those of an archive together. The kinds keep
    /// their order, and a capture without a date stays behind the one that it was behind.
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
