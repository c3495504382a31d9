package import Bluetooth

/// The traffic of one attribute of one server, over all its connections: a characteristic value, or a descriptor.
package final class CharacteristicStatistics {
    package let handle: UInt16
    package internal(set) var counts = TrafficCounts()
    /// The record number of the first write of each opcode.
    private(set) var firstWrites: [UInt8: Int] = [:]
    private var server: ObservedServer

    init(handle: UInt16, server: ObservedServer) {
        (self.handle, self.server) = (handle, server)
    }

    package var peer: BottlePeer { server.peer }
    /// The number of the first connection to the server.
    package var connection: Int { server.connection.id }
    /// The UUID of the characteristic or descriptor; `nil` if the capture has no discovery.
    package var uuid: BluetoothUUID? { server.type(at: handle) ?? peer.table.type(at: handle) }

    /// The properties of the characteristic; `nil` without discovery, and for descriptors.
    package var properties: CharacteristicProperties? {
        (server.table.characteristics[handle] ?? peer.table.characteristics[handle])?.properties
    }

    /// The writes by opcode that the properties do not allow, with the record number of the first; empty without
    /// discovery.
    package var forbiddenWrites: [(opcode: ATTOpcode, count: Int, frame: Int)] {
        guard let properties else { return [] }
        return Self.rules.compactMap { opcode, needed in
            let count = counts.count(of: opcode)
            guard count > 0, properties.isDisjoint(with: needed) else { return nil }
            return (opcode, count, firstWrites[opcode.rawValue] ?? counts.firstFrame ?? 0)
        }
    }

    package var forbiddenWriteCount: Int { forbiddenWrites.reduce(0) { $0 + $1.count } }

    /// The properties that allow each kind of write (Core 5.4, Vol 3 Part G, 3.3.1.1).
    private static let rules: [(ATTOpcode, CharacteristicProperties)] = [
        (.writeRequest, .write), (.prepareWriteRequest, [.write, .extended]), (.writeCommand, .writeWithoutResponse),
        (.signedWriteCommand, .signedWrite),
    ]

    func add(write opcode: UInt8, frame: Int) {
        if firstWrites[opcode] == nil { firstWrites[opcode] = frame }
    }

    func update(_ server: ObservedServer) {
        if server !== self.server { self.server = server }
    }
}
