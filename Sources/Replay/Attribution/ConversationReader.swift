import Bluetooth
import BottleProtocol
import Captures

/// What concerns a bottle in a capture, found by `ConversationReader`.
enum BottleTraffic {
    /// The host wrote this to one of the bottle's characteristics.
    case command(HostCommand, value: [UInt8], characteristic: BluetoothUUID?)
    /// Whole records of the drink log.
    case records(RecordBatch)
    /// A whole answer or report.
    case message(Frame)
    /// Bytes from the response characteristic that are no part of a frame.
    case malformed([UInt8], DecodeFailure)
}

/// A value that passed on a connection, whole.
struct ObservedTransfer {
    var side: ServerSide
    var handle: UInt16
    /// Of the characteristic or descriptor, where it is known.
    var uuid: BluetoothUUID?
    var travel: ValueFacts.Travel
    var bytes: [UInt8]
    var frame: Int
    var time: Duration?

    /// Whether it belongs to a bottle's characteristics, as far as is known by now.
    var isBottles: Bool {
        switch side.role(of: handle, GivenHandles()) {
        case .response, .command: true
        case .other, .unknown: false
        }
    }

    /// The server's address, where it is the peer.
    var peer: BluetoothAddress? { side.isHost ? nil : side.connection.peer }
}

/// Where and when it was seen.
struct TrafficOrigin {
    var side: ServerSide
    var observation: ATTObservation
    /// The drinks of this side may count only if no bottle of the capture is found by discovery.
    var isDoubtful: Bool

    init(_ side: ServerSide, _ observation: ATTObservation) {
        self.side = side
        self.observation = observation
        isDoubtful = side.guess.isOneSided
    }
}

/// Follows the conversations of one capture: learns the attribute tables, and tells a bottle's values from everybody else's (rule 8).
///
/// Feed it every event of `ConversationReassembler` in order, then `finish`. One reader a capture.
final class ConversationReader {
    typealias Sink = (BottleTraffic, TrafficOrigin) throws -> Void

    /// Handles that the caller names, for captures that hide the discovery.
    let given: GivenHandles
    /// Everybody met so far.
    private(set) var book = PeerBook()
    private var connections: [Int: ConnectionSides] = [:]
    private var last: ConnectionSides?
    /// Where the last notification of a log went; the next one mostly goes there too.
    private var stream: LogStream?
    private let sink: Sink

    /// Whether values are looked at, or only discovery.
    private let followsValues: Bool

    init(given: GivenHandles = GivenHandles(), followsValues: Bool = true, _ sink: @escaping Sink) {
        self.given = given
        self.followsValues = followsValues
        self.sink = sink
    }

    /// Called when discovery has told something of a side.
    var onLearned: ((ServerSide) -> Void)?
    /// Reads the capture ahead, where that is possible; asked once, when a value may be a bottle's and no discovery was seen.
    var lookAhead: (() -> Foresight?)?
    private var foresight: Foresight?

    /// Called for every value that passed, of any characteristic, whole: before it is looked at.
    var onValue: ((ObservedTransfer) -> Void)?

    /// Everybody met, in order of first connection.
    var peers: [BottlePeer] { book.all }

    /// Sides with a log transfer under way. Bounded: only the order of drinks depends on it.
    private(set) var openLogs: [ServerSide] = []
    private static let mostOpenLogs = 64

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

    /// The capture is over: what is unfinished stays so.
    func finish() throws {
        stream = nil
        for id in connections.keys.sorted() {
            if let sides = connections[id] { try close(sides) }
        }
        connections = [:]
        last = nil
    }

    /// A short cut for the middle of a log: the same connection, direction and handle as before, and a value that has nothing to tell yet.
    private struct LogStream {
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
            return log.pointee.takeNext(pdu.extracting(3..<pdu.byteCount), frame: observation.frame, time: observation.time)
        }
    }

    // MARK: connections

    /// Both ends of a connection can be servers.
    private final class ConnectionSides {
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
    }

    @inline(__always)
    private func sides(of connection: ObservedConnection) -> ConnectionSides {
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
        return ConnectionSides(
            id: connection.id, remote: ServerSide(peer: remote, connection: connection, isHost: false),
            host: ServerSide(peer: host, connection: connection, isHost: true))
    }

    private func close(_ sides: ConnectionSides) throws {
        for side in [sides.remote, sides.host] {
            try deliverReading(side)
            if let observation = sides.lastObservation { try finishLog(side, observation) }
        }
    }

    private func learnName(of address: BluetoothAddress, _ data: RawSpan) {
        if let name = AdvertisingData.name(in: data) { book.learn(name: name, of: address) }
    }

    // MARK: PDUs

    /// Odd opcodes come from the server, even ones go to it; where the direction is unknown the peer is taken for the server.
    @inline(__always)
    private func server(_ isFromServer: Bool, _ observation: ATTObservation, _ sides: ConnectionSides) -> ServerSide {
        let isHost = isFromServer ? observation.direction == .sent : observation.direction == .received
        return isHost ? sides.host : sides.remote
    }

    /// The type of the attribute that a PDU is about, as text, as far as discovery up to here tells. For an answer that names
    /// no handle, ask before `receive` is called with it.
    func typeText(of pdu: RawSpan, _ observation: ATTObservation) -> [UInt8]? {
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return nil }
        let side = server(opcode.rawValue & 1 == 1, observation, sides(of: observation.connection))
        switch opcode {
        case .notification, .indication, .readRequest, .readBlobRequest, .writeRequest, .writeCommand, .signedWriteCommand,
            .prepareWriteRequest, .prepareWriteResponse:
            return pdu.little16(at: 1).flatMap { side.typeText(at: $0) }
        case .errorResponse: return pdu.little16(at: 2).flatMap { side.typeText(at: $0) }
        case .readResponse, .readBlobResponse, .writeResponse:
            return side.pending?.handle.flatMap { side.typeText(at: $0) }
        case .readByTypeRequest, .readByGroupTypeRequest:
            return pdu.uuid(from: 5).map { Array($0.description.utf8) }
        default: return nil
        }
    }

    private func receive(_ observation: ATTObservation, _ pdu: RawSpan) throws {
        stream = nil
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return }
        let sides = sides(of: observation.connection)
        sides.lastObservation = observation
        let isFromServer = opcode.rawValue & 1 == 1
        let side = server(isFromServer, observation, sides)
        if opcode == .notification || opcode == .indication {
            guard followsValues else { return }
            guard let handle = pdu.little16(at: 1) else { return }
            return try value(pdu.extracting(3..<pdu.byteCount), of: handle, side, observation, opcode == .indication ? .indication : .notification)
        }
        if isFromServer { try answer(pdu, opcode, side, sides, observation) } else { try ask(pdu, opcode, side, sides, observation) }
    }

    /// From the client: requests and writes.
    private func ask(
        _ pdu: RawSpan, _ opcode: ATTOpcode, _ side: ServerSide, _ sides: ConnectionSides, _ observation: ATTObservation
    ) throws {
        if opcode == .confirmation { return }
        if opcode == .exchangeMTURequest { sides.clientMTU = Int(pdu.little16(at: 1) ?? 23) }
        if let request = PendingRequest(pdu) {
            if let reading = side.reading, request != .readBlob(handle: reading.handle, offset: reading.bytes.count) {
                try deliverReading(side)
            }
            side.pending = request
        }
        switch opcode {
        case .writeRequest, .writeCommand, .signedWriteCommand:
            guard let handle = pdu.little16(at: 1) else { return }
            let end = opcode == .signedWriteCommand ? max(3, pdu.byteCount - 12) : pdu.byteCount
            try write(pdu.extracting(3..<end).bytes(), to: handle, side, observation, isRequest: opcode == .writeRequest)
        case .prepareWriteRequest:
            guard let handle = pdu.little16(at: 1), let offset = pdu.little16(at: 3) else { return }
            prepare(PartialValue(handle: handle, bytes: pdu.bytes(from: 5), observation: observation), at: Int(offset), side)
        case .executeWriteRequest:
            let prepared = side.preparing
            side.preparing = []
            guard pdu.byteCount > 1, pdu.byte(1) == 1 else { return }
            for value in prepared { try write(value.bytes, to: value.handle, side, observation, isRequest: true) }
        default: break
        }
    }

    /// From the server: answers.
    private func answer(
        _ pdu: RawSpan, _ opcode: ATTOpcode, _ side: ServerSide, _ sides: ConnectionSides, _ observation: ATTObservation
    ) throws {
        if opcode == .multipleNotification { return try multiple(pdu, side, observation) }
        if opcode == .exchangeMTUResponse, let server = pdu.little16(at: 1) {
            sides.mtu = max(23, min(sides.clientMTU, Int(server)))
        }
        guard let request = side.pending, request.isAnswered(by: opcode) else { return }
        if opcode == .errorResponse, pdu.byteCount > 1, pdu.byte(1) != request.opcode { return }
        side.pending = nil
        switch (opcode, request) {
        case (.readResponse, .read(let handle)):
            side.reading = PartialValue(handle: handle, bytes: pdu.bytes(from: 1), observation: observation)
            if pdu.byteCount < sides.mtu { try deliverReading(side) }
        case (.readBlobResponse, .readBlob(let handle, let offset)):
            guard side.reading?.handle == handle, side.reading?.bytes.count == offset, offset < PartialValue.longest else { return }
            side.reading?.bytes += pdu.bytes(from: 1)
            side.reading?.observation = observation
            if pdu.byteCount < sides.mtu { try deliverReading(side) }
        case (.errorResponse, .readBlob): try deliverReading(side)
        case (.readByTypeResponse, .readByType(let type)):
            learn(pdu, request, side)
            let isDeclaration = type.short.map { (0x2800...0x2803).contains($0) } ?? false
            if !isDeclaration, let handle = pdu.little16(at: 2), pdu.byteCount >= 4, Int(pdu.byte(1)) == pdu.byteCount - 2 {
                try known(type, value: pdu.bytes(from: 4), handle, side, observation)
            }
        default: learn(pdu, request, side)
        }
    }

    private func learn(_ pdu: RawSpan, _ request: PendingRequest, _ side: ServerSide) {
        guard side.table.learn(from: pdu, to: request) else { return }
        side.forgetRoles()
        if side.table.hasBottle || !side.peer.table.hasBottle { side.peer.table = side.table }
        onLearned?(side)
    }

    /// `23 ( handle(2) length(2) value )*`
    private func multiple(_ pdu: RawSpan, _ side: ServerSide, _ observation: ATTObservation) throws {
        var at = 1
        while let handle = pdu.little16(at: at), let length = pdu.little16(at: at + 2) {
            let end = min(pdu.byteCount, at + 4 + Int(length))
            try value(pdu.extracting((at + 4)..<end), of: handle, side, observation)
            at = end
        }
    }

    // MARK: values

    @inline(__always)
    private func value(
        _ bytes: RawSpan, of handle: UInt16, _ side: ServerSide, _ observation: ATTObservation, _ travel: ValueFacts.Travel = .notification
    ) throws {
        if let onValue { onValue(transfer(bytes.bytes(), handle, side, observation, travel)) }
        try look(bytes, of: handle, side, observation)
    }

    @inline(__always)
    private func look(_ bytes: RawSpan, of handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        switch side.role(of: handle, given) {
        case .response(let profile, let basis):
            if side.peer.responseHandle != handle || side.peer.basis != basis {
                side.peer.note(profile, basis)
                side.peer.responseHandle = handle
            }
            try side.log.pointee.receive(bytes, frame: observation.frame, time: observation.time) { try self.emit($0, side, observation) }
            if side.log.pointee.isOpen != side.isListedAsOpen { list(side) }
            if side.isListedAsOpen {
                stream = LogStream(connection: observation.connection.id, direction: observation.direction, handle: handle, log: side.log)
            }
        case .unknown:
            try guess(bytes, at: handle, side, observation)
        case .command, .other: break
        }
    }

    /// A value that was read, now that all of it is here.
    private func deliverReading(_ side: ServerSide) throws {
        guard let reading = side.reading else { return }
        side.reading = nil
        if let type = side.type(at: reading.handle) { return try known(type, value: reading.bytes, reading.handle, side, reading.observation) }
        try value(reading.bytes.span.bytes, of: reading.handle, side, reading.observation, .read)
    }

    /// A value that was read, of an attribute whose type is known.
    private func known(_ type: BluetoothUUID, value bytes: [UInt8], _ handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        if let onValue, type == 0x2A00 || type == 0x2A25 { onValue(transfer(bytes, handle, side, observation, .read)) }
        switch type {
        case 0x2A00: side.peer.learn(name: String(decoding: bytes, as: UTF8.self))
        case 0x2A25:
            // On links without a radio the bottle tells its address here (command line, "Links").
            if side.peer.address == nil, let address = BluetoothAddress(String(decoding: bytes, as: UTF8.self)) {
                side.peer = book.identify(side.peer, as: address)
            }
        default: try value(bytes.span.bytes, of: handle, side, observation, .read)
        }
    }

    private func prepare(_ piece: PartialValue, at offset: Int, _ side: ServerSide) {
        if let last = side.preparing.indices.last, side.preparing[last].handle == piece.handle, side.preparing[last].bytes.count == offset {
            guard offset + piece.bytes.count <= PartialValue.longest else { return }
            side.preparing[last].bytes += piece.bytes
        } else if side.preparing.count < 64 {
            side.preparing.append(piece)
        }
    }

    private func transfer(
        _ bytes: [UInt8], _ handle: UInt16, _ side: ServerSide, _ observation: ATTObservation, _ travel: ValueFacts.Travel
    ) -> ObservedTransfer {
        ObservedTransfer(
            side: side, handle: handle, uuid: side.type(at: handle) ?? observation.characteristic, travel: travel, bytes: bytes,
            frame: observation.frame, time: observation.time)
    }

    private func write(
        _ bytes: [UInt8], to handle: UInt16, _ side: ServerSide, _ observation: ATTObservation, isRequest: Bool = false
    ) throws {
        if let onValue { onValue(transfer(bytes, handle, side, observation, isRequest ? .writeRequest : .writeCommand)) }
        try look(written: bytes, to: handle, side, observation)
    }

    private func look(written bytes: [UInt8], to handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        switch side.role(of: handle, given) {
        // Also what was written to the response characteristic: the bottle drops the connection for some of it.
        case .command(let profile, let basis), .response(let profile, let basis):
            side.peer.note(profile, basis)
            try command(bytes, to: handle, side, observation)
        case .unknown where given.isEmpty && side.guess.response != nil && side.guess.command == nil && FrameShape.isCommand(bytes):
            // Frames came first, now a command: so it is a bottle.
            side.guess.command = handle
            side.guess.isOneSided = false
            side.forgetRoles()
            try command(bytes, to: handle, side, observation)
        case .unknown where given.isEmpty && side.mayGuess:
            if FrameShape.isCommand(bytes) {
                if foresee(side) { return try look(written: bytes, to: handle, side, observation) }
                side.guess.command = handle
                side.forgetRoles()
                try command(bytes, to: handle, side, observation)
            } else if bytes.count == 1, side.guess.shortWrites.count < GuessWork.mostShortWrites {
                side.guess.shortWrites.append(PartialValue(handle: handle, bytes: bytes, observation: observation))
            }
        case .unknown, .other: break
        }
    }

    private func command(_ bytes: [UInt8], to handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        let command = HostCommand(decoding: bytes)
        switch command {
        case .drinkLog, .draftDump: try finishLog(side, observation)
        default: break
        }
        // Other gadgets have characteristics of the same number, and words of their own for them.
        if case .unknown = command, !side.peer.isBottle { return }
        side.peer.commandCount += 1
        try sink(.command(command, value: bytes, characteristic: side.type(at: handle)), TrafficOrigin(side, observation))
    }

    private func finishLog(_ side: ServerSide, _ observation: ATTObservation) throws {
        try side.log.pointee.finish { try self.emit($0, side, observation) }
        if side.isListedAsOpen { list(side) }
    }

    private func list(_ side: ServerSide) {
        if side.log.pointee.isOpen, openLogs.count < Self.mostOpenLogs {
            side.isListedAsOpen = true
            openLogs.append(side)
        } else if side.isListedAsOpen {
            side.isListedAsOpen = false
            openLogs.removeAll { $0 === side }
        }
    }

    // MARK: guessing

    /// Before anything is guessed of a side, the rest of the capture is asked. True: it told something, look again.
    private func foresee(_ side: ServerSide) -> Bool {
        guard !side.hasForesight else { return false }
        if let lookAhead {
            self.lookAhead = nil
            foresight = lookAhead()
        }
        guard let foresight else {
            side.hasForesight = true
            return false
        }
        side.learn(foresight)
        return true
    }

    /// A value at a handle of which nothing is known: perhaps its bytes tell.
    private func guess(_ bytes: RawSpan, at handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        guard bytes.byteCount >= Frame.headerSize, bytes.byte(0) == 0x50 || bytes.byte(0) == 0x52, given.isEmpty, side.mayGuess else { return }
        if foresee(side) { return try look(bytes, of: handle, side, observation) }
        let value = bytes.bytes()
        let isLog = FrameShape.isLog(value)
        let short = side.guess.shortWrites.filter { HostCommand(decoding: $0.bytes).isDraftDump && $0.handle != handle }
        let wasAsked = side.guess.command != nil || (isLog && !short.isEmpty)
        guard isLog || (wasAsked && FrameShape.isMessage(value)) else { return }
        side.guess.response = handle
        side.guess.isOneSided = !wasAsked
        if side.guess.command == nil { side.guess.command = short.first?.handle }
        side.forgetRoles()
        side.peer.note(nil, .guessed)
        for write in short where write.handle == side.guess.command {
            try command(write.bytes, to: write.handle, side, write.observation)
        }
        try look(bytes, of: handle, side, observation)
    }

    // MARK: out

    private func emit(_ output: LogOutput, _ side: ServerSide, _ observation: ATTObservation) throws {
        switch output {
        case .records(let batch):
            side.peer.hasSpoken = true
            try sink(.records(batch), TrafficOrigin(side, observation))
        case .message(let message):
            side.peer.hasSpoken = true
            side.peer.learn(from: message)
            try sink(.message(message), TrafficOrigin(side, observation))
        case .malformed(let bytes, let failure):
            // A gadget with a characteristic of the same number says this all day long.
            if side.peer.isBottle { try sink(.malformed(bytes, failure), TrafficOrigin(side, observation)) }
        }
    }
}
