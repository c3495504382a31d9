import Bluetooth
import CommandKit
import Replay

/// A capture's summary in words and as JSON.
struct SummaryReport {
    let file: String
    let summary: CaptureSummary

    // MARK: words

    var text: String {
        var lines: [String] = []
        lines.append("\(file == "-" ? "standard input" : file): \(container)")
        lines.append(packets)
        if let span { lines.append(span) }
        lines += bottles
        lines.append(drinks)
        lines += connections
        lines += advertisers
        lines += tables
        lines.append(attCounts)
        lines += unreadable.map { "not read: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }

    private var container: String {
        guard let format = summary.facts.format else { return "not recognised as a capture" }
        let types = summary.facts.linkTypes.isEmpty ? [format.linkType] : summary.facts.linkTypes
        return "\(format.container.rawValue), \(types.map(\.description).joined(separator: " and "))"
    }

    private var packets: String {
        var text = "packets: \(summary.facts.packets) in \(summary.facts.offset) bytes"
        if summary.adapters.count > 1 { text += ", \(summary.adapters.count) adapters" }
        return text
    }

    private var span: String? {
        guard let first = summary.firstTime, let last = summary.lastTime else { return "time: the capture keeps none" }
        return "time: \(moment(first)) to \(moment(last)) (\(Self.words(last - first)))"
    }

    private var bottles: [String] {
        guard !summary.bottles.isEmpty else {
            return ["bottles: none. This capture is fine to look at, but no WaterH bottle speaks in it"]
        }
        return summary.bottles.map { bottle in
            var text = "bottle: \(bottle.peer.label)"
            if let name = bottle.peer.name { text += " \"\(Self.printable(name))\"" }
            if let model = bottle.peer.model { text += ", \(model.rawValue)" }
            if let profile = bottle.peer.profile { text += ", \(profile.rawValue) profile" }
            if let percent = bottle.peer.batteryPercent { text += ", battery \(percent) %" }
            if let basis = bottle.peer.basis { text += "; attribution: \(Self.words(basis))" }
            text += "; \(count(bottle.drinks, "drink")), \(bottle.millilitres) ml"
            if let first = bottle.first, let last = bottle.last { text += first == last ? ", \(first)" : ", \(first) to \(last)" }
            if bottle.duplicates > 0 { text += ", \(bottle.duplicates) delivered again" }
            if bottle.suspects > 0 { text += ", \(bottle.suspects) suspect" }
            text += "; \(count(bottle.peer.commandCount, "command"))"
            return text
        }
    }

    private var drinks: String {
        let tally = summary.tally
        var text = "drinks: \(tally.drinks), \(tally.millilitres) ml, in \(count(tally.transfers, "log transfer"))"
        if tally.unfinishedTransfers > 0 { text += " (\(tally.unfinishedTransfers) not complete)" }
        if tally.bookkeeping > 0 { text += ", \(count(tally.bookkeeping, "bookkeeping entry", "bookkeeping entries"))" }
        return text
    }

    private var connections: [String] {
        var lines = summary.connections.prefix(20).map { connection in
            var text = "connection: \(connection.observed.peer?.description ?? "unknown address")"
            text += ", handle 0x\(String(connection.observed.handle, radix: 16))"
            if connection.observed.adapter != 0 { text += ", adapter \(connection.observed.adapter)" }
            text += ", \(count(connection.pdus, "ATT PDU"))"
            if let frame = connection.firstFrame { text += " from frame \(frame)" }
            if connection.isEncrypted { text += ", encrypted" }
            if connection.hasEnded { text += connection.reason.map { ", ended (reason 0x\(String($0, radix: 16)))" } ?? ", ended" }
            return text
        }
        if summary.connectionCount > 20 { lines.append("connections: \(summary.connectionCount) in all; --json lists \(summary.connections.count)") }
        return lines.isEmpty ? ["connections: none"] : lines
    }

    private var advertisers: [String] {
        guard !summary.advertisers.isEmpty else { return [] }
        let named = namedAdvertisers.compactMap { entry in entry.value.name.map { "\(entry.key) \"\(Self.printable($0))\"" } }
        let more = named.count > 20 ? ", …" : ""
        let names = named.isEmpty ? "" : ": " + named.prefix(20).joined(separator: ", ") + more
        return ["advertising: \(count(summary.advertisers.count, "address", "addresses")), \(named.count) with a name\(names)"]
    }

    private var namedAdvertisers: [(key: BluetoothAddress, value: CaptureSummary.Advertiser)] {
        summary.advertisers.sorted { $0.key.value < $1.key.value }
    }

    private var tables: [String] {
        summary.peers.filter { !$0.table.isEmpty }.map { peer in
            let services = peer.table.services.values.sorted { $0.start < $1.start }.map { service in
                let inside = peer.table.characteristics.filter { service.start <= $0.key && $0.key <= service.end }
                    .sorted { $0.key < $1.key }.map { Self.short($0.value.uuid) }
                return Self.short(service.uuid) + (inside.isEmpty ? "" : " (\(inside.joined(separator: " ")))")
            }
            let outside = peer.table.characteristics.filter { peer.table.service(at: $0.key) == nil }
                .sorted { $0.key < $1.key }.map { "\(Self.short($0.value.uuid)) at 0x\(String($0.key, radix: 16))" }
            return "GATT table of \(peer.label): " + (services + outside).joined(separator: ", ")
        }
    }

    private var attCounts: String {
        let total = summary.pdus.values.reduce(0, +)
        guard total > 0 else { return "ATT: none" }
        let parts = summary.pdus.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) × \($0.key)" }
        return "ATT: \(count(total, "PDU")): " + parts.joined(separator: ", ")
    }

    /// What could not be read, a sentence each.
    private var unreadable: [String] {
        var sentences: [String] = []
        if let trouble = summary.trouble { sentences.append(trouble) }
        if summary.facts.unreadable > 0 {
            sentences.append("\(count(summary.facts.unreadable, "record")) of a kind that is not Bluetooth LE or not known here")
        }
        for (reason, number) in summary.drops.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            sentences.append("\(count(number, "packet")): \(reason.rawValue)")
        }
        for connection in summary.connections where connection.isEncrypted {
            sentences.append("the connection with \(connection.observed.peer?.description ?? "handle 0x" + String(connection.observed.handle, radix: 16)) is encrypted")
        }
        if summary.tally.malformed > 0 { sentences.append("\(count(summary.tally.malformed, "value")) of a response characteristic: no frame of a bottle") }
        if summary.tally.refused > 0 { sentences.append("\(count(summary.tally.refused, "drink record")) refused by the dialect") }
        if summary.tally.lookalikes > 0 { sentences.append("\(count(summary.tally.lookalikes, "drink record")) of devices that only look like a bottle") }
        return sentences + summary.facts.remarks
    }

    // MARK: JSON

    var json: JSONValue {
        let format = summary.facts.format
        return [
            "file": .string(file),
            "container": JSONValue(format?.container.rawValue),
            "linkType": JSONValue(format.map { summary.facts.linkTypes.first?.description ?? $0.linkType.description }),
            "linkTypes": .array(summary.facts.linkTypes.map { .string($0.description) }),
            "packets": .int(summary.facts.packets),
            "bytes": .int(summary.facts.offset),
            "start": JSONValue(summary.firstTime.map(moment)),
            "end": JSONValue(summary.lastTime.map(moment)),
            "seconds": JSONValue(seconds),
            "adapters": .array(summary.adapters.sorted().map { .int(Int($0)) }),
            "connections": .array(summary.connections.map(json)),
            "addresses": .array(addresses),
            "gattTables": .array(summary.peers.filter { !$0.table.isEmpty }.map(tableJSON)),
            "att": [
                "total": .int(summary.pdus.values.reduce(0, +)),
                "byName": .object(summary.pdus.sorted { $0.key.rawValue < $1.key.rawValue }.map { .init($0.key.description, .int($0.value)) }),
            ],
            "bottles": .array(summary.bottles.map(json)),
            "drinks": .int(summary.tally.drinks),
            "millilitres": .int(summary.tally.millilitres),
            "duplicates": .int(summary.tally.duplicates),
            "suspects": .int(summary.tally.suspects),
            "bookkeeping": .int(summary.tally.bookkeeping),
            "transfers": .int(summary.tally.transfers),
            "unfinishedTransfers": .int(summary.tally.unfinishedTransfers),
            "commands": .int(summary.commands),
            "unreadable": .array(unreadable.map { .string($0) }),
        ]
    }

    private var seconds: Double? {
        guard let first = summary.firstTime, let last = summary.lastTime else { return nil }
        let (seconds, attoseconds) = (last - first).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    private func json(_ connection: CaptureSummary.Connection) -> JSONValue {
        [
            "adapter": .int(Int(connection.observed.adapter)),
            "handle": .int(Int(connection.observed.handle)),
            "peer": JSONValue(connection.observed.peer?.description),
            "central": JSONValue(connection.observed.central?.description),
            "start": JSONValue(connection.began.map(moment)),
            "end": JSONValue(connection.ended.map(moment)),
            "pdus": .int(connection.pdus),
            "encrypted": .bool(connection.isEncrypted),
            "ended": .bool(connection.hasEnded),
            "reason": JSONValue(connection.reason.map(Int.init)),
        ]
    }

    private var addresses: [JSONValue] {
        let connected = Set(summary.connections.compactMap(\.observed.peer))
        var listed = Set<BluetoothAddress>()
        let advertised: [JSONValue] = namedAdvertisers.map { entry in
            listed.insert(entry.key)
            return [
                "address": .string(entry.key.description), "name": JSONValue(entry.value.name),
                "advertisements": .int(entry.value.count), "connected": .bool(connected.contains(entry.key)),
            ]
        }
        let silent: [JSONValue] = connected.subtracting(listed).sorted { $0.value < $1.value }.map { address in
            let name = summary.peers.first { $0.address == address }?.name
            return ["address": .string(address.description), "name": JSONValue(name), "advertisements": 0, "connected": true]
        }
        return advertised + silent
    }

    private func tableJSON(_ peer: BottlePeer) -> JSONValue {
        [
            "peer": JSONValue(peer.address?.description),
            "services": .array(peer.table.services.values.sorted { $0.start < $1.start }.map { service in
                ["uuid": .string(Self.short(service.uuid)), "start": .int(Int(service.start)), "end": .int(Int(service.end))]
            }),
            "characteristics": .array(peer.table.characteristics.sorted { $0.key < $1.key }.map { handle, characteristic in
                ["uuid": .string(Self.short(characteristic.uuid)), "handle": .int(Int(handle)), "properties": .int(Int(characteristic.properties.rawValue))]
            }),
        ]
    }

    private func json(_ bottle: CaptureSummary.Bottle) -> JSONValue {
        [
            "bottle": JSONValue(bottle.peer.address?.description),
            "name": JSONValue(bottle.peer.name),
            "model": JSONValue(bottle.peer.model?.rawValue),
            "profile": JSONValue(bottle.peer.profile?.rawValue),
            "attribution": JSONValue(bottle.peer.basis?.rawValue),
            "batteryPercent": JSONValue(bottle.peer.batteryPercent),
            "drinks": .int(bottle.drinks),
            "millilitres": .int(bottle.millilitres),
            "duplicates": .int(bottle.duplicates),
            "suspects": .int(bottle.suspects),
            "first": JSONValue(bottle.first),
            "last": JSONValue(bottle.last),
            "commands": .int(bottle.peer.commandCount),
        ]
    }

    // MARK: small words

    private func moment(_ time: Duration) -> String { momentText(time) }

    private static func words(_ basis: AttributionBasis) -> String {
        switch basis {
        case .discovered: "discovered"
        case .carriedOver: "carried over from an earlier connection to the same address"
        case .given: "given by hand"
        case .guessed: "guessed from the frames' own shape, no discovery is in the capture"
        }
    }

    private static func words(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        if seconds < 120 { return "\(seconds) s" }
        if seconds < 7200 { return "\(seconds / 60) min" }
        return seconds < 172_800 ? "\(seconds / 3600) h" : "\(seconds / 86_400) days"
    }

    private static func short(_ uuid: BluetoothUUID) -> String { uuid.description }

    /// Names come from outside: nothing in them may move the terminal's cursor.
    static func printable(_ name: String) -> String {
        String(String.UnicodeScalarView(name.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F && !(0x80...0x9F).contains($0.value) }))
    }
}
