import Bluetooth
import BottleProtocol
import Captures
import CommandSupport
import Replay

extension SummaryReport {
    var json: JSONValue {
        let format = content.info.format, counts = content.statistics.total
        return [
            "file": .string(file),
            "container": JSONValue(format?.container.rawValue),
            "linkType": JSONValue(format.map { content.info.linkTypes.first?.description ?? $0.linkType.description }),
            "linkTypes": .array(content.info.linkTypes.map { .string($0.description) }),
            "packets": .int(content.info.packets),
            "bytes": .int(content.info.offset),
            "start": JSONValue(content.firstTime.map(timestampText)),
            "end": JSONValue(content.lastTime.map(timestampText)),
            "seconds": JSONValue(seconds),
            "adapters": .array(adapters.sorted().map { .int(Int($0)) }),
            "connections": .array(content.connections.map(json)),
            "addresses": .array(addresses),
            "gattTables": .array(content.peers.filter { !$0.table.isEmpty }.map(Self.tableJSON)),
            "att": [
                "total": .int(counts.pdus),
                "byName": .object(counts.opcodes.map { .init($0.opcode.description, .int($0.count)) }),
            ],
            "bottleCount": .int(content.bottleCount),
            "bottles": .array(content.bottles.map(json)),
            "drinks": .int(content.tally.drinks),
            "millilitres": .int(content.tally.millilitres),
            "duplicates": .int(content.tally.duplicates),
            "suspects": .int(content.tally.suspects),
            "bookkeeping": .int(content.tally.bookkeeping),
            "transfers": .int(content.tally.transfers),
            "unfinishedTransfers": .int(content.tally.unfinishedTransfers),
            "commands": .int(content.peers.reduce(0) { $0 + $1.commandCount }),
            "unreadable": .array(unreadable.map { .string($0) }),
        ]
    }

    private var seconds: Double? {
        guard let first = content.firstTime, let last = content.lastTime else { return nil }
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
        let names = content.peers.reduce(into: [BluetoothAddress: String]()) { names, peer in
            if let address = peer.address, let name = peer.name, names[address] == nil { names[address] = name }
        }
        let connected = Set(content.connections.compactMap(\.observed.peer))
        func entry(_ address: BluetoothAddress, _ name: String?, advertisements: Int) -> JSONValue {
            [
                "address": .string(address.description), "name": JSONValue(name),
                "advertisements": .int(advertisements), "connected": .bool(connected.contains(address)),
            ]
        }
        let silent = connected.subtracting(content.advertisers.keys).sorted { $0.value < $1.value }
        return namedAdvertisers.map { entry($0.key, $0.value.name, advertisements: $0.value.count) }
            + silent.map { entry($0, names[$0], advertisements: 0) }
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

    private func json(_ bottle: CaptureContent.Bottle) -> JSONValue {
        [
            "bottle": JSONValue(bottle.peer.address?.description),
            "name": JSONValue(bottle.peer.name),
            "model": JSONValue(bottle.peer.model?.rawValue),
            "profile": JSONValue(bottle.peer.profile?.rawValue),
            "attribution": JSONValue(bottle.peer.basis?.rawValue),
            "batteryPercent": JSONValue(bottle.peer.batteryPercent),
            "drinks": .int(bottle.drinks),
            "millilitres": .int(bottle.millilitres),
            "duplicates": .int(bottle.peer.duplicateCount),
            "suspects": .int(bottle.suspects),
            "first": JSONValue(bottle.first),
            "last": JSONValue(bottle.last),
            "commands": .int(bottle.peer.commandCount),
        ]
    }
}
