import Bluetooth
import BottleProtocol

/// What a capture's discovery tells altogether, found by reading the file once more, ahead: attribute tables, and what
/// bottles are called.
///
/// Discovery can come late: the bottle was connected before the recording began, and somebody asked for its table in
/// the middle, or on the next connection only; so can its name, by which its model is known. A pipe can be read only
/// once; of a file it is worth a second reading, as soon as there is something to ask.
package struct Foresight {
    private var tables: [Key: AttributeTable] = [:]
    private var byAddress: [BluetoothAddress: AttributeTable] = [:]
    /// Names of bottles, advertised or read at any time.
    private var names: [PeerBook.Key: String] = [:]
    /// A capture of more connections than this is told by what comes before, as a pipe is.
    private static let mostTables = 10_000

    private struct Key: Hashable {
        var connection: Int
        var isHost: Bool
    }

    /// Reads a whole file for its discovery. Trouble with it ends the foresight where it ends the reading.
    /// `nil` for what can be read only once.
    /// - Parameters:
    ///   - reassembler: with the connections that are open when the file begins.
    ///   - skipped: records at its beginning that were in another file.
    init?(
        _ path: String, from reassembler: ConversationReassembler = ConversationReassembler.ofBottles(),
        skipping skipped: Int = 0
    ) {
        guard CaptureFile.canBeReadAgain(path) else { return nil }
        var file = CaptureFile(path: path)
        file.skipped = skipped
        let reader = ConversationReader(followsValues: false) { _, _ in }
        var tables: [Key: AttributeTable] = [:]
        var byAddress: [BluetoothAddress: AttributeTable] = [:]
        var shared = SharedTables()
        reader.onLearned = { side in
            guard side.table.hasBottle || tables.count < Self.mostTables else { return }
            let table = shared.shared(side.table)
            tables[Key(connection: side.connection.id, isHost: side.isHost)] = table
            if !side.isHost, side.table.hasBottle, let address = side.connection.peer { byAddress[address] = table }
        }
        var discovery = reassembler
        discovery.skipsValues = true
        _ = try? file.forEachEvent(from: discovery) { event, bytes in try reader.receive(event, bytes) }
        (self.tables, self.byAddress) = (tables, byAddress)
        for peer in reader.peers {
            guard let name = peer.name, BottleName.isBottle(name) else { continue }
            for key in peer.keys { names[key] = name }
        }
    }

    /// What a bottle will have told to be called by the capture's end.
    func name(_ peer: BottlePeer) -> String? {
        peer.keys.lazy.compactMap { names[$0] }.first
    }

    /// What discovery on this very connection will have told by its end.
    func table(_ side: ServerSide) -> AttributeTable? {
        tables[Key(connection: side.connection.id, isHost: side.isHost)]
    }

    /// What discovery on another connection to the same address tells.
    func otherTable(_ side: ServerSide) -> AttributeTable? {
        side.isHost ? nil : side.connection.peer.flatMap { byAddress[$0] }
    }
}

/// Bottles of one kind show one table: it is kept once for all of them.
private struct SharedTables {
    private var tables: [AttributeTable] = []
    private static let most = 16

    mutating func shared(_ table: AttributeTable) -> AttributeTable {
        if let known = tables.first(where: { $0 == table }) { return known }
        if tables.count == Self.most { tables.removeFirst() }
        tables.append(table)
        return table
    }
}
