import Bluetooth
import Captures
import CommandSupport
import Replay

/// The JSON data of a capture for the script of the report page.
struct ReportJSON {
    let name: String
    let content: CaptureContent

    private static let maximumTables = 40

    /// The number of PDUs in the capture, and of those that the page shows individually.
    var countText: String {
        let timeline = content.statistics.timeline
        let (all, kept) = (timeline?.count ?? 0, timeline?.entries.count ?? 0)
        return all == kept ? counted(all, "ATT PDU") : "\(counted(all, "ATT PDU")), \(kept) of them listed"
    }

    var json: JSONValue {
        let statistics = content.statistics
        let format = content.info.format
        let container = format.map {
            "\($0.container.rawValue), \(content.info.linkTypes.first?.description ?? $0.linkType.description)"
        }
        return StatisticsReport(file: name, packets: content.packets, statistics: statistics).json + [
            "container": .string(container ?? ""),
            "isText": .bool(format?.layer == .text),
            "fileBytes": .int(content.info.offset),
            "firstTime": JSONValue(content.firstTime.map(StatisticsReport.seconds)),
            "lastTime": JSONValue(content.lastTime.map(StatisticsReport.seconds)),
            "trouble": JSONValue(content.readingError),
            "remarks": .array(content.info.remarks.map { .string($0) }),
            "timeline": timeline,
            "drinks": drinks,
            "tables": .array(statistics.peers.lazy.filter { !$0.table.isEmpty }.prefix(Self.maximumTables).map(table)),
        ]
    }

    /// The traffic over time. Times are seconds since the first packet, so that JSON numbers keep microseconds.
    private var timeline: JSONValue {
        guard let timeline = content.statistics.timeline else { return .null }
        let origin = content.firstTime ?? .zero
        func seconds(_ time: Duration) -> JSONValue {
            .double((StatisticsReport.seconds(time - origin) * 1e6).rounded() / 1e6)
        }
        let opcodes = Set(timeline.entries.map(\.opcode.rawValue)).sorted()
        return [
            "count": .int(timeline.count),
            "timeless": .int(timeline.pdusWithoutTime),
            "width": .double(Double(timeline.width) / 1e9),
            "pieces": .array(
                timeline.intervals.map { begin, piece in
                    .array([
                        seconds(begin), .int(piece.sent), .int(piece.received), .int(piece.errors), .int(piece.bytes),
                    ])
                }),
            "names": .object(opcodes.map { .init("\($0)", .string(ATTOpcode(rawValue: $0).description)) }),
            "pdus": .array(
                timeline.entries.map { entry in
                    .array([
                        .int(entry.frame), entry.time.map(seconds) ?? .null, .int(entry.connection),
                        .int(entry.direction.map { $0 == .sent ? 0 : 1 } ?? 2),
                        .int(Int(entry.opcode.rawValue)), .int(entry.handle.map(Int.init) ?? -1), .int(entry.length),
                        entry.latency.map { .double((StatisticsReport.milliseconds($0) * 1000).rounded() / 1000) }
                            ?? .null,
                        .string(entry.start.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()),
                    ])
                }),
        ]
    }

    private var drinks: JSONValue {
        [
            "count": .int(content.tally.drinks),
            "millilitres": .int(content.tally.millilitres),
            "duplicates": .int(content.tally.duplicates),
            "suspects": .int(content.tally.suspects),
            "days": .array(
                content.days.sorted { $0.key < $1.key }.map {
                    .array([.string($0.key), .int($0.value.drinks), .int($0.value.millilitres)])
                }),
            "list": .array(
                content.drinks.map {
                    .array([
                        .string($0.at), .int($0.millilitres), .bool($0.isSuspect), .int($0.frame), .string($0.bottle),
                    ])
                }),
        ]
    }

    private func table(_ peer: BottlePeer) -> JSONValue {
        ["label": .string(peer.label), "name": JSONValue(peer.name)] + SummaryReport.tableJSON(peer)
    }
}
