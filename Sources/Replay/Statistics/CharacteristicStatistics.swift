import Bluetooth

/// What passed about one attribute of one server, over all connections with it: a characteristic's value, or a
/// descriptor.
package final class CharacteristicStatistics {
    /// Handle of the attribute.
    package let handle: UInt16
    /// What passed about it.
    package internal(set) var counts = TrafficCounts()
    /// The first write of each kind that no property allows.
    private(set) var firstWrites: [UInt8: Int] = [:]
    private var side: ServerSide

    init(handle: UInt16, side: ServerSide) {
        (self.handle, self.side) = (handle, side)
    }

    /// Whose attribute it is.
    package var peer: BottlePeer { side.peer }
    /// The first connection to its server.
    package var connection: Int { side.connection.id }
    /// Of the characteristic, or the descriptor; `nil` where no discovery is in the capture.
    package var uuid: BluetoothUUID? { side.type(at: handle) ?? peer.table.type(at: handle) }

    /// What may be done with it; `nil` where no discovery is in the capture, and for descriptors.
    package var properties: CharacteristicProperties? {
        (side.table.characteristics[handle] ?? peer.table.characteristics[handle])?.properties
    }

    /// Writes of a kind that the characteristic does not offer, where the table is known: of each, how many, and the
    /// record of the first.
    package var forbiddenWrites: [(opcode: ATTOpcode, count: Int, frame: Int)] {
        guard let properties else { return [] }
        return Self.rules.compactMap { opcode, needed in
            let count = counts.count(of: opcode)
            guard count > 0, properties.isDisjoint(with: needed) else { return nil }
            return (opcode, count, firstWrites[opcode.rawValue] ?? counts.firstFrame ?? 0)
        }
    }

    /// Writes that its properties do not offer.
    package var forbiddenWriteCount: Int { forbiddenWrites.reduce(0) { $0 + $1.count } }

    /// Which property each kind of write needs (Core 5.4, Vol 3 Part G, 3.3.1.1). Reliable writes go by an extended
    /// property.
    private static let rules: [(ATTOpcode, CharacteristicProperties)] = [
        (.writeRequest, .write), (.prepareWriteRequest, [.write, .extended]), (.writeCommand, .writeWithoutResponse),
        (.signedWriteCommand, .signedWrite),
    ]

    func note(write opcode: UInt8, frame: Int) {
        if firstWrites[opcode] == nil { firstWrites[opcode] = frame }
    }

    /// The server as it was met last.
    func meet(_ side: ServerSide) {
        if side !== self.side { self.side = side }
    }
}
