import Bluetooth
import BottleProtocol
import Captures

/// Follows the conversations of one capture: learns the attribute tables, and tells a bottle's values from everybody
/// else's (rule 8).
///
/// Feed it every event of `ConversationReassembler` in order, then `finish`. One reader a capture.
final class ConversationReader {
    typealias Sink = (BottleTraffic, TrafficOrigin) throws -> Void

    /// Handles that the caller names, for captures that hide the discovery.
    let given: GivenHandles
    /// Everybody met so far.
    var book = PeerBook()
    private var connections: [Int: ConnectionSides] = [:]
    private var last: ConnectionSides?
    /// Where the last notification of a log went; the next one mostly goes there too.
    var stream: LogStream?
    let sink: Sink

    /// Whether values are looked at, or only discovery.
    let followsValues: Bool

    init(given: GivenHandles = GivenHandles(), followsValues: Bool = true, _ sink: @escaping Sink) {
        self.given = given
        self.followsValues = followsValues
        self.sink = sink
    }

    /// Called when discovery has told something of a side.
    var onLearned: ((ServerSide) -> Void)?
    /// Reads the capture ahead, where that is possible; asked once, when a value may be a bottle's and no discovery was
    /// seen.
    var lookAhead: (() -> Foresight?)?
    var foresight: Foresight?

    /// Called for every value that passed, of any characteristic, whole: before it is looked at.
    var onValue: ((ObservedTransfer) -> Void)?

    /// Everybody met, in order of first connection.
    var peers: [BottlePeer] { book.all }

    /// Sides with a log transfer under way. Bounded: only the order of drinks depends on it.
    var openLogs: [ServerSide] = []
    static let mostOpenLogs = 64

    /// What the head of a text capture tells: names by address, and the name of whoever has none.
    func learn(_ head: CaptureFileFacts) {
        for (address, name) in head.names { book.learn(name: name, of: BluetoothAddress(address)) }
        if head.names.isEmpty, let name = head.name { book.nameOfUnknown = name }
    }

    func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        switch event {
        case .att(let observation):
            if let stream, onValue == nil, stream.takes(observation, bytes) { return }
            try receive(observation, bytes)
        case .connected(let connection): _ = sides(of: connection)
        case .disconnected(let connection, _):
            stream = nil
            if let sides = connections.removeValue(forKey: connection.id) { try close(sides) }
            last = nil
        case .advertised(let advertiser): learnName(of: advertiser.address, bytes)
        case .encrypted, .dropped: break
        }
    }

    /// Another file, another way ahead.
    func lookAheadAnew(_ lookAhead: (() -> Foresight?)?) {
        guard lookAhead != nil else { return }
        self.lookAhead = lookAhead
        foresight = nil
    }

    /// Another file goes on where this one ended: its records are numbered anew.
    func continueInAnotherFile() {
        for sides in connections.values { sides.begin(0) }
    }

    /// The capture is over: what is unfinished stays so.
    func finish() throws {
        stream = nil
        for id in connections.keys.sorted() {
            if let sides = connections[id] { try close(sides) }
        }
        connections = [:]
        last = nil
    }

    /// A short cut for the middle of a log: the same connection, direction and handle as before, and a value that has
    /// nothing to tell yet.
    struct LogStream {
        let connection: Int
        let direction: TrafficDirection?
        let handle: UInt16
        /// Of a side that lives as long as this short cut.
        let log: UnsafeMutablePointer<LogDecoder>

        @inline(__always)
        func takes(_ observation: ATTObservation, _ pdu: RawSpan) -> Bool {
            guard observation.connection.id == connection, observation.direction == direction, pdu.byteCount > 3,
                pdu.byte(0) == 0x1B, UInt16(pdu.byte(1)) | UInt16(pdu.byte(2)) << 8 == handle
            else { return false }
            return log.pointee.takeNext(
                pdu.extracting(3..<pdu.byteCount), frame: observation.frame, time: observation.time)
        }
    }

    // MARK: connections

    /// Both ends of a connection can be servers.
    final class ConnectionSides {
        let id: Int
        let remote: ServerSide
        let host: ServerSide
        var mtu = 23
        var clientMTU = 23
        var lastObservation: ATTObservation?

        init(id: Int, remote: ServerSide, host: ServerSide) {
            self.id = id
            self.remote = remote
            self.host = host
        }

        func begin(_ frame: Int) {
            remote.firstFrame = frame
            host.firstFrame = frame
        }
    }

    @inline(__always)
    func sides(of connection: ObservedConnection) -> ConnectionSides {
        if let last, last.id == connection.id { return last }
        return findSides(of: connection)
    }

    private func findSides(of connection: ObservedConnection) -> ConnectionSides {
        let sides = connections[connection.id] ?? makeSides(connection)
        connections[connection.id] = sides
        last = sides
        return sides
    }

    private func makeSides(_ connection: ObservedConnection) -> ConnectionSides {
        let address = connection.peer.flatMap { $0.value == 0 ? nil : $0 }
        let remote = book.peer(address.map { .address($0) } ?? .connection(connection.id), connection: connection.id)
        let host = book.peer(.host(connection.adapter), connection: connection.id)
        remote.openConnections += 1
        // Of random addresses the two highest bits tell: 11 stays, 00 and 01 are made anew every quarter of an hour.
        if let address, connection.isPeerRandom == true, address.value >> 46 < 2 { remote.isAddressPrivate = true }
        return ConnectionSides(
            id: connection.id, remote: ServerSide(peer: remote, connection: connection, isHost: false),
            host: ServerSide(peer: host, connection: connection, isHost: true))
    }

    private func close(_ sides: ConnectionSides) throws {
        for side in [sides.remote, sides.host] {
            try deliverReading(side)
            if let observation = sides.lastObservation { try finishLog(side, observation) }
        }
        book.leave(sides.remote.peer)
    }

    private func learnName(of address: BluetoothAddress, _ data: RawSpan) {
        if let name = AdvertisingData.name(in: data) { book.learn(name: name, of: address) }
    }

    // MARK: PDUs

    /// Odd opcodes come from the server, even ones go to it; where the direction is unknown the peer is taken for the
    /// server.
    @inline(__always)
    func server(_ isFromServer: Bool, _ observation: ATTObservation, _ sides: ConnectionSides) -> ServerSide {
        let isHost = isFromServer ? observation.direction == .sent : observation.direction == .received
        return isHost ? sides.host : sides.remote
    }

    private func receive(_ observation: ATTObservation, _ pdu: RawSpan) throws {
        stream = nil
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return }
        let isValue = opcode == .notification || opcode == .indication
        // Discovery is not in them.
        if isValue, !followsValues { return }
        let sides = sides(of: observation.connection)
        if sides.lastObservation == nil { sides.begin(observation.frame) }
        sides.lastObservation = observation
        let isFromServer = opcode.rawValue & 1 == 1
        let side = server(isFromServer, observation, sides)
        if isValue {
            guard let handle = pdu.little16(at: 1) else { return }
            return try value(
                pdu.extracting(3..<pdu.byteCount), of: handle, side, observation,
                opcode == .indication ? .indication : .notification)
        }
        if isFromServer {
            try answer(pdu, opcode, side, sides, observation)
        } else {
            try ask(pdu, opcode, side, sides, observation)
        }
    }
}
