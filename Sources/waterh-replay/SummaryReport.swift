import Bluetooth
import BottleProtocol
import Captures
import CommandSupport
import Replay

struct SummaryReport {
    let file: String
    let content: CaptureContent

    /// The summary without the error of reading, which the command prints; empty for a file that is not a capture.
    var text: String {
        guard content.info.format != nil else { return "" }
        var lines: [String] = []
        lines.append("\(CaptureRun.name(file)): \(container)")
        lines.append(packets)
        if let timeRange { lines.append(timeRange) }
        lines += bottles
        lines.append(drinks)
        lines += connections
        lines += advertisers
        lines += tables
        lines.append(attCounts)
        lines += unreadable.dropFirst(content.readingError == nil ? 0 : 1).map { "note: \($0)" }
        return lines.map { TerminalText.safe($0) }.joined(separator: "\n") + "\n"
    }

    private var container: String {
        guard let format = content.info.format else { return "not recognised as a capture" }
        if format.container == .packetLogger { return "Apple PacketLogger, Bluetooth HCI" }
        let types = content.info.linkTypes.isEmpty ? [format.linkType] : content.info.linkTypes
        return "\(format.container.rawValue), \(types.map(\.description).joined(separator: " and "))"
    }

    /// The adapters (monitor formats) or interfaces (pcapng).
    var adapters: Set<UInt32> { Set(content.connections.map(\.observed.adapter)) }

    private var layer: CaptureFormat.Layer? { content.info.format?.layer }

    private var packets: String {
        var text = "\(layer == .text ? "records" : "packets"): \(content.info.packets) in \(content.info.offset) bytes"
        if adapters.count > 1 { text += ", \(adapters.count) adapters" }
        return text
    }

    private var timeRange: String? {
        guard let first = content.firstTime, let last = content.lastTime else { return "time: none in the capture" }
        var text =
            "time: \(timestampText(first)) to \(timestampText(last)) (\(durationText(last - first, hasTenths: true)))"
        // Bluetooth LE exists since 2010, so an earlier date is wrong.
        if last < .seconds(1_262_304_000) {
            text += "; not a real date: the recorder had no clock, or counted from its start"
        }
        return text
    }

    private var bottles: [String] {
        guard !content.bottles.isEmpty else {
            return [
                content.readingError == nil
                    ? "bottles: none. The capture is readable, but has no WaterH bottle"
                    : "bottles: none in the readable part"
            ]
        }
        let lines = content.bottles.prefix(Self.maximumListed).flatMap { [identity($0.peer), "  " + delivered($0)] }
        guard content.bottleCount > Self.maximumListed else { return lines }
        return lines + ["bottles: \(content.bottleCount) in all; --json lists \(content.bottles.count)"]
    }

    private static let maximumListed = 20

    private func identity(_ peer: BottlePeer) -> String {
        var text = "bottle: \(peer.label)"
        if peer.address != nil, let name = peer.name { text += " \"\(name.withoutControls)\"" }
        if let model = peer.model { text += ", \(model.title)" }
        if let profile = peer.profile { text += ", \(profile.rawValue) profile" }
        if let percent = peer.batteryPercent { text += ", battery \(percent) %" }
        if let basis = peer.basis { text += "; attribution: \(basisText(basis))" }
        return text
    }

    private func basisText(_ basis: AttributionBasis) -> String {
        switch basis {
        case .discovered:
            layer == .text
                ? "discovered (the text has the UUIDs)" : "discovered (the capture has the bottle's GATT table)"
        case .carriedOver: "carried over from another connection to the same address"
        case .option: "set by options"
        case .guessed: "guessed from the format of the values, no discovery in the capture"
        }
    }

    private func delivered(_ bottle: CaptureContent.Bottle) -> String {
        var text = bottle.drinks == 0 ? "no drinks" : "\(counted(bottle.drinks, "drink")), \(bottle.millilitres) ml"
        if let first = bottle.first, let last = bottle.last {
            let (first, last) = (first.replacing("T", with: " "), last.replacing("T", with: " "))
            text += first == last ? ", at \(first)" : ", \(first) to \(last)"
            text += " by the bottle's clock"
        }
        if bottle.peer.duplicateCount > 0 { text += "; \(bottle.peer.duplicateCount) delivered repeatedly" }
        if bottle.suspects > 0 { text += "; \(bottle.suspects) suspect, not in the sum" }
        return text + "; \(counted(bottle.peer.commandCount, "command")) from the host"
    }

    private var drinks: String {
        let tally = content.tally
        var text = tally.drinks == 0 ? "drinks: none" : "drinks: \(tally.drinks), \(tally.millilitres) ml"
        if tally.transfers > 0 { text += ", in \(counted(tally.transfers, "log transfer"))" }
        if tally.unfinishedTransfers > 0 { text += " (\(tally.unfinishedTransfers) not complete in the capture)" }
        if tally.bookkeeping > 0 {
            text += ", and \(counted(tally.bookkeeping, "bookkeeping entry", "bookkeeping entries")), not drinks"
        }
        return text
    }

    private var connections: [String] {
        var lines = content.connections.prefix(Self.maximumListed).map { connection in
            var text = "connection \(connection.observed.id): "
            text +=
                connection.observed.peer.map { "with \($0)" }
                ?? (layer == .text ? "no address in the capture" : "its start, with the address, is not in the capture")
            switch layer {
            case .text?: break
            case .linkLayer?: text += ", access address 0x\(String(connection.observed.handle, radix: 16))"
            default: text += ", handle 0x\(String(connection.observed.handle, radix: 16))"
            }
            if connection.observed.adapter != 0 { text += ", adapter \(connection.observed.adapter)" }
            text += ", \(counted(connection.counts.pdus, "ATT PDU"))"
            if let frame = connection.counts.firstFrame { text += " from frame \(frame)" }
            if connection.isEncrypted { text += ", encrypted" }
            if connection.hasEnded { text += ", ended" }
            if connection.hasEnded, let reason = connection.reason {
                text += " (\(disconnectReasonText(reason)), code 0x\(reason.hexDigits))"
            }
            return text
        }
        if content.connections.count > Self.maximumListed {
            let count = content.statistics.connectionCount
            lines.append("connections: \(count) in all; --json lists \(content.connections.count)")
        }
        return lines.isEmpty ? ["connections: none"] : lines
    }

    private var advertisers: [String] {
        guard !content.advertisers.isEmpty else { return [] }
        let named = namedAdvertisers.compactMap { entry in
            entry.value.name.map { "\(entry.key) \"\($0.withoutControls)\"" }
        }
        let more = named.count > 20 ? ", …" : ""
        let names = named.isEmpty ? "" : ": " + named.prefix(20).joined(separator: ", ") + more
        return [
            """
            advertising: \(counted(content.advertisers.count, "address", "addresses")), \(named.count) with a \
            name\(names)
            """
        ]
    }

    var namedAdvertisers: [(key: BluetoothAddress, value: CaptureContent.Advertiser)] {
        content.advertisers.sorted { $0.key.value < $1.key.value }
    }

    private var tables: [String] {
        content.peers.lazy.filter { !$0.table.services.isEmpty || !$0.table.characteristics.isEmpty }.prefix(
            Self.maximumListed
        ).map { peer in
            if layer == .text {
                let named = peer.table.characteristics.sorted { $0.key < $1.key }.map { $0.value.uuid.description }
                return "characteristics of \(peer.label) in the text: \(named.joined(separator: " "))"
            }
            let services = peer.table.services.values.sorted { $0.start < $1.start }.map { service in
                let inside = peer.table.characteristics.filter { service.start <= $0.key && $0.key <= service.end }
                    .sorted { $0.key < $1.key }.map { $0.value.uuid.description }
                return service.uuid.description + (inside.isEmpty ? "" : " (\(inside.joined(separator: " ")))")
            }
            let outside = peer.table.characteristics.filter { peer.table.service(at: $0.key) == nil }
                .sorted { $0.key < $1.key }.map { "\($0.value.uuid) at 0x\(String($0.key, radix: 16))" }
            return "GATT table of \(peer.label): " + (services + outside).joined(separator: ", ")
        }
    }

    private var attCounts: String {
        let counts = content.statistics.total
        guard counts.pdus > 0 else { return "ATT: none" }
        return "ATT: \(counted(counts.pdus, "PDU")): \(Self.text(counts))"
    }

    /// Messages about data that could not be read.
    var unreadable: [String] {
        var sentences: [String] = []
        if let readingError = content.readingError { sentences.append(readingError) }
        if content.info.unreadableRecords > 0 {
            sentences.append("\(counted(content.info.unreadableRecords, "record")) of an unsupported kind")
        }
        for (reason, number) in content.statistics.drops.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            sentences.append("\(counted(number, "packet")): \(reason.rawValue)")
        }
        for connection in content.connections where connection.isEncrypted {
            sentences.append("connection \(connection.observed.id) is encrypted: only earlier traffic can be read")
        }
        if content.tally.malformed > 0 {
            sentences.append(
                "\(counted(content.tally.malformed, "value")) of a response characteristic without a valid frame")
        }
        if content.tally.rejected > 0 {
            sentences.append("\(counted(content.tally.rejected, "drink record")) rejected by the dialect")
        }
        if content.tally.lookalikes > 0 {
            sentences.append(
                "\(counted(content.tally.lookalikes, "drink record")) of devices that only resemble a bottle"
            )
        }
        return sentences + content.info.remarks
    }

    /// The number of PDUs of each kind.
    static func text(_ counts: TrafficCounts) -> String {
        counts.opcodes.map { "\($0.count) × \($0.opcode)" }.joined(separator: ", ")
    }
}
