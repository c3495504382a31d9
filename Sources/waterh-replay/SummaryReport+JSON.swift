import Bluetooth
import BottleProtocol
import Captures
import CommandSupport
import Replay

extension SummaryReport {
    var json: JSONValue {
        let format = summary.facts.format
        return [
            "file": .string(file),
            "container": JSONValue(format?.container.rawValue),
            "linkType": JSONValue(format.map { summary.facts.linkTypes.first?.description ?? $0.linkType.description }),
            "linkTypes": .array(summary.facts.linkTypes.map { .string($0.description) }),
            "packets": .int(summary.facts.packets),
            "bytes": .int(summary.facts.offset),
            "start": JSONValue(summary.firstTime.map(timestampText)),
            "end": JSONValue(summary.lastTime.map(timestampText)),
            "seconds": JSONValue(seconds),
            "adapters": .array(summary.adapters.sorted().map { .int(Int($0)) }),
            "connections": .array(summary.connections.map(json)),
            "addresses": .array(addresses),
            "gattTables": .array(summary.peers.filter { !$0.table.isEmpty }.map(Self.tableJSON)),
            "att": [
                "total": .int(summary.counts.pdus),
                "byName": .object(summary.counts.opcodes.map { .init($0.opcode.description, .int($0.count)) }),
            ],
            "bottleCount": .int(summary.bottleCount),
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
        return StatisticsReport.seconds(last - first)
    }

    private func json(_ connection: ConnectionStatistics) -> JSONValue {
        [
            "adapter": .int(Int(connection.observed.adapter)),
            "handle": .int(Int(connection.observed.handle)),
            "peer": JSONValue(connection.observed.peer?.description),
            "central": JSONValue(connection.observed.central?.description),
            "start": JSONValue(connection.counts.first.map(timestampText)),
            "end": JSONValue(connection.counts.last.map(timestampText)),
            "pdus": .int(connection.counts.pdus),
            "encrypted": .bool(connection.isEncrypted),
            "ended": .bool(connection.hasEnded),
            "reason": JSONValue(connection.reason.map(Int.init)),
        ]
    }

    private var addresses: [JSONValue] {
        let names = summary.peers.reduce(into: [BluetoothAddress: String]()) { names, peer in
            if let address = peer.address, let name = peer.name, names[address] == nil { names[address] = name }
        }
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
            let name = names[address]
            return [
                "address": .string(address.description), "name": JSONValue(name), "advertisements": 0,
                "connected": true,
            ]
        }
        return advertised + silent
    }

    static func tableJSON(_ peer: BottlePeer) -> JSONValue {
        [
            "peer": JSONValue(peer.address?.description),
            "services": .array(
                peer.table.services.values.sorted { $0.start < $1.start }.map { service in
                    [
                        "uuid": .string(service.uuid.description), "start": .int(Int(service.start)),
                        "end": .int(Int(service.end)),
                    ]
                }),
            "characteristics": .array(
                peer.table.characteristics.sorted { $0.key < $1.key }.map { handle, characteristic in
                    [
                        "uuid": .string(characteristic.uuid.description), "handle": .int(Int(handle)),
                        "properties": .int(Int(characteristic.properties.rawValue)),
                    ]
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
}
