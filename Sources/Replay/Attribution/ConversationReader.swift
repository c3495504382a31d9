import Bluetooth
import BottleProtocol
import Captures

/// A command, log records or a message of a bottle, found by `ConversationReader` in a capture.
enum BottleTraffic {
    case command(HostCommand, value: [UInt8], characteristic: BluetoothUUID?)
    /// Whole records of the drink log, in order.
    case records(RecordBatch)
    /// A whole response or report.
    case message(Frame)
    /// Bytes of the response characteristic that are not part of a frame.
    case malformed
}

/// The server and the ATT PDU of a piece of bottle traffic.
struct TrafficOrigin {
    var server: ObservedServer
    var observation: ATTObservation
    /// Whether only the format of the values suggests a bottle. Its drinks count only if the capture has no other
    /// bottle.
    var hasWeakEvidence: Bool { server.guess.lacksCommand }
}

/// A whole characteristic or descriptor value that was written, read, notified or indicated.
struct ObservedValue {
    var server: ObservedServer
    var handle: UInt16
    /// The type of the characteristic or descriptor, if known.
    var uuid: BluetoothUUID?
    var kind: ValueInfo.Kind
    var bytes: [UInt8]
    var frame: Int
    var time: Duration?

    /// Whether the value is of a bottle's command or response characteristic.
    var belongsToBottle: Bool {
        switch server.role(of: handle, HandleOptions()) {
        case .response, .command: true
        case .other, .unknown: false
        }
    }

    var peer: BluetoothAddress? { server.isHost ? nil : server.connection.peer }
}

/// A request with its response.
struct ATTTransaction {
    var server: ObservedServer
    var request: ATTPDU
    /// The packet of the request.
    var sent: ATTObservation
    var response: ATTPDU
    /// The packet of the response.
    var received: ATTObservation
}

/// Builds the attribute tables of all connections in a capture, and finds the traffic of bottles, in a single pass.
///
/// Pass every event of `ConversationReassembler` in order, then call `finish`. Use one reader per capture.
final class ConversationReader {
    typealias Sink = (BottleTraffic, TrafficOrigin) throws -> Void

    /// The handles from the caller, for captures without discovery.
    private let handles: HandleOptions
    private var peerStore = PeerStore()
    private var connections: [Int: ConnectionServers] = [:]
    private var last: ConnectionServers?
    private var stream: LogStream?
    private let sink: Sink
    /// Whether to read values in addition to discovery.
    private let readsValues: Bool
    /// Called for every whole value of any characteristic, before it is interpreted.
    var onValue: ((ObservedValue) -> Void)?
    /// Called for every response whose request is in the capture, before its value is reported.
    var onTransaction: ((ATTTransaction) -> Void)?

    init(handles: HandleOptions = HandleOptions(), readsValues: Bool = true, _ sink: @escaping Sink) {
        self.handles = handles
        self.readsValues = readsValues
        self.sink = sink
    }

    var peers: [BottlePeer] { peerStore.all }

    func addNames(from info: CaptureFileInfo) {
        for (address, name) in info.names { peerStore.update(name: name, of: address) }
        if info.names.isEmpty, let name = info.name { peerStore.unaddressedName = name }
    }

    func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        switch event {
        case .att(let observation):
            if let stream, onValue == nil, stream.accepts(observation, bytes) { return }
            try receive(observation, bytes)
        case .connected(let connection): _ = servers(of: connection)
        case .disconnected(let connection, _):
            (stream, last) = (nil, nil)
            if let servers = connections.removeValue(forKey: connection.id) { try close(servers) }
        case .advertised(let advertiser):
            if let name = bytes.advertisedName { peerStore.update(name: name, of: advertiser.address) }
        case .encrypted, .dropped: break
        }
    }

    /// Ends the capture: delivers the values and logs that are still incomplete.
    func finish() throws {
        (stream, last) = (nil, nil)
        for id in connections.keys.sorted() {
            if let servers = connections[id] { try close(servers) }
        }
        connections = [:]
    }

    /// A fast path for the values inside a log: notifications of one connection and handle that do not end the log.
    private struct LogStream {
        let connection: Int
        let direction: TrafficDirection?
        let handle: UInt16
        let log: LogDecoder

        @inline(__always)
        func accepts(_ observation: ATTObservation, _ pdu: RawSpan) -> Bool {
            guard observation.connection.id == connection, observation.direction == direction, pdu.byteCount > 3,
                pdu.byte(0) == 0x1B, UInt16(pdu.byte(1)) | UInt16(pdu.byte(2)) << 8 == handle
            else { return false }
            return log.appendNext(pdu.extracting(3..<pdu.byteCount), frame: observation.frame, time: observation.time)
        }
    }

    /// The GATT servers of a connection: both ends can have one.
    final class ConnectionServers {
        let id: Int
        let remote: ObservedServer
        let host: ObservedServer
        var mtu = ATTPDU.defaultMTU
        var lastObservation: ATTObservation?

        init(id: Int, remote: ObservedServer, host: ObservedServer) {
            self.id = id
            self.remote = remote
            self.host = host
        }
    }

    @inline(__always)
    func servers(of connection: ObservedConnection) -> ConnectionServers {
        if let last, last.id == connection.id { return last }
        let servers = connections[connection.id] ?? makeServers(connection)
        connections[connection.id] = servers
        last = servers
        return servers
    }

    private func makeServers(_ connection: ObservedConnection) -> ConnectionServers {
        let address = connection.peer.flatMap { $0.value == 0 ? nil : $0 }
        let remote = peerStore.peer(
            address.map { .address($0) } ?? .connection(connection.id), connection: connection.id)
        let host = peerStore.peer(.host(connection.adapter), connection: connection.id)
        remote.openConnections += 1
        // The highest bits of a random address: 11 static, 00 and 01 private (Core 5.4, Vol 6 Part B, 1.3.2).
        if let address, connection.isPeerRandom == true, address.value >> 46 < 2 { remote.isAddressPrivate = true }
        return ConnectionServers(
            id: connection.id, remote: ObservedServer(peer: remote, connection: connection, isHost: false),
            host: ObservedServer(peer: host, connection: connection, isHost: true))
    }

    private func close(_ servers: ConnectionServers) throws {
        for server in [servers.remote, servers.host] {
            try deliverReading(server)
            if let observation = servers.lastObservation { try finishLog(server, observation) }
        }
        peerStore.endConnection(of: servers.remote.peer)
    }

    /// The server of a PDU: it sends odd opcodes and receives even ones. For an unknown direction, the remote device.
    @inline(__always)
    func server(_ isFromServer: Bool, _ observation: ATTObservation) -> ObservedServer {
        let servers = servers(of: observation.connection)
        let isHost = isFromServer ? observation.direction == .sent : observation.direction == .received
        return isHost ? servers.host : servers.remote
    }

    private func receive(_ observation: ATTObservation, _ pdu: RawSpan) throws {
        stream = nil
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return }
        let isValue = opcode == .notification || opcode == .indication
        if isValue, !readsValues { return }
        let servers = servers(of: observation.connection)
        servers.lastObservation = observation
        let isFromServer = opcode.rawValue & 1 == 1
        let server = server(isFromServer, observation)
        if isValue {
            guard let handle = pdu.little16(at: 1) else { return }
            return try value(
                pdu.extracting(3..<pdu.byteCount), of: handle, server, observation,
                opcode == .indication ? .indication : .notification)
        }
        if opcode == .multipleNotification {
            return try pdu.forEachNotification { handle, bytes in
                try value(bytes, of: handle, server, observation, .notification)
            }
        }
        guard let pdu = try? ATTPDU(decoding: pdu.bytes()) else { return }
        if isFromServer {
            try receiveResponse(pdu, server, servers, observation)
        } else {
            try receiveRequest(pdu, server, observation)
        }
    }

    private func receiveRequest(_ pdu: ATTPDU, _ server: ObservedServer, _ observation: ATTObservation) throws {
        if pdu.opcode.response != nil {
            if let reading = server.reading, !pdu.continuesRead(of: reading.handle, after: reading.bytes.count) {
                try deliverReading(server)
            }
            server.setPending(pdu, observation)
        }
        switch pdu {
        case .writeRequest(let handle, let value): try write(value, to: handle, server, observation, .writeRequest)
        case .writeCommand(let handle, let value), .signedWriteCommand(let handle, let value, _):
            try write(value, to: handle, server, observation, .writeCommand)
        case .prepareWriteRequest(let handle, let offset, let value):
            prepare(PartialValue(handle: handle, bytes: value, observation: observation), at: Int(offset), server)
        case .executeWriteRequest(let flags):
            let prepared = server.preparing
            server.preparing = []
            guard flags == 1 else { return }
            for value in prepared { try write(value.bytes, to: value.handle, server, observation, .writeRequest) }
        default: break
        }
    }

    private func prepare(_ piece: PartialValue, at offset: Int, _ server: ObservedServer) {
        if let last = server.preparing.indices.last, server.preparing[last].handle == piece.handle,
            server.preparing[last].bytes.count == offset
        {
            guard offset + piece.bytes.count <= PartialValue.longest else { return }
            server.preparing[last].bytes += piece.bytes
        } else if server.preparing.count < 64 {
            server.preparing.append(piece)
        }
    }

    private func receiveResponse(
        _ pdu: ATTPDU, _ server: ObservedServer, _ servers: ConnectionServers, _ observation: ATTObservation
    ) throws {
        guard let (request, sent) = server.takeRequest(of: pdu, observation.bearer) else { return }
        // With several bearers, another read can be waiting for its next part.
        switch request {
        case .readRequest, .readByTypeRequest: try deliverReading(server)
        default: break
        }
        onTransaction?(
            ATTTransaction(server: server, request: request, sent: sent, response: pdu, received: observation))
        switch (pdu, request) {
        // Both ends can start an exchange.
        case (.exchangeMTUResponse(let serverMTU), .exchangeMTURequest(let clientMTU)):
            servers.mtu = max(ATTPDU.defaultMTU, Int(min(clientMTU, serverMTU)))
        case (.readResponse(let value), .readRequest(let handle)):
            server.reading = PartialValue(handle: handle, bytes: value, observation: observation)
            if value.count + 1 < servers.mtu { try deliverReading(server) }
        case (.readBlobResponse(let value), _):
            guard let reading = server.reading, request.continuesRead(of: reading.handle, after: reading.bytes.count)
            else { return }
            server.reading?.bytes += value
            server.reading?.observation = observation
            if value.count + 1 < servers.mtu { try deliverReading(server) }
        case (.errorResponse, .readBlobRequest): try deliverReading(server)
        default:
            if server.table.add(pdu.attributes(foundBy: request)) {
                server.resetRoles()
                if server.table.hasBottle || !server.peer.table.hasBottle { server.peer.table = server.table }
            }
            if case (.readByTypeResponse(let items), .readByTypeRequest(_, let type)) = (pdu, request),
                !type.isDeclaration
            {
                try receiveReads(items, server, servers, observation)
            }
        }
    }

    /// Processes the values of a Read By Type response. Read Blob can continue the last one if it fills the response.
    private func receiveReads(
        _ items: [ATTHandleValue], _ server: ObservedServer, _ servers: ConnectionServers, _ observation: ATTObservation
    ) throws {
        for (index, item) in items.enumerated() {
            server.reading = PartialValue(handle: item.handle, bytes: item.value, observation: observation)
            if index < items.count - 1 || item.value.count < min(servers.mtu - 4, 253) { try deliverReading(server) }
        }
    }

    /// The type of a PDU's attribute as text, such as `FFE4`; `nil` if not discovered yet. Call this before `receive`,
    /// which drops the pending request of a response.
    func typeText(of pdu: RawSpan, _ observation: ATTObservation) -> [UInt8]? {
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return nil }
        let server = server(opcode.rawValue & 1 == 1, observation)
        switch opcode {
        case .notification, .indication, .readRequest, .readBlobRequest, .writeRequest, .writeCommand,
            .signedWriteCommand, .prepareWriteRequest, .prepareWriteResponse:
            return pdu.little16(at: 1).flatMap { server.typeText(at: $0) }
        case .errorResponse: return pdu.little16(at: 2).flatMap { server.typeText(at: $0) }
        case .readResponse, .readBlobResponse, .writeResponse:
            switch server.pendingRequest(observation.bearer) {
            case .readRequest(let handle), .readBlobRequest(let handle, _), .writeRequest(let handle, _):
                return server.typeText(at: handle)
            default: return nil
            }
        case .readByTypeRequest, .readByGroupTypeRequest:
            return pdu.uuid(from: 5).map { Array($0.description.utf8) }
        default: return nil
        }
    }

    @inline(__always)
    private func value(
        _ bytes: RawSpan, of handle: UInt16, _ server: ObservedServer, _ observation: ATTObservation,
        _ kind: ValueInfo.Kind
    ) throws {
        report(bytes, handle, server, observation, kind)
        try interpret(bytes, of: handle, server, observation)
    }

    @inline(__always)
    private func report(
        _ bytes: RawSpan, _ handle: UInt16, _ server: ObservedServer, _ observation: ATTObservation,
        _ kind: ValueInfo.Kind
    ) {
        guard let onValue else { return }
        onValue(
            ObservedValue(
                server: server, handle: handle, uuid: server.type(at: handle) ?? observation.characteristic, kind: kind,
                bytes: bytes.bytes(), frame: observation.frame, time: observation.time))
    }

    @inline(__always)
    private func interpret(_ bytes: RawSpan, of handle: UInt16, _ server: ObservedServer, _ observation: ATTObservation)
        throws
    {
        switch server.role(of: handle, handles) {
        case .response(let profile, let basis):
            if server.peer.responseHandle != handle || server.peer.basis != basis {
                server.peer.setProfile(profile, basis)
                server.peer.responseHandle = handle
            }
            try server.log.receive(bytes, frame: observation.frame, time: observation.time) {
                try self.emit($0, server, observation)
            }
            if server.log.isOpen {
                stream = LogStream(
                    connection: observation.connection.id, direction: observation.direction, handle: handle,
                    log: server.log)
            }
        case .unknown: try guess(bytes, at: handle, server, observation)
        case .command, .other: break
        }
    }

    private func deliverReading(_ server: ObservedServer) throws {
        guard let reading = server.reading else { return }
        server.reading = nil
        if let type = server.type(at: reading.handle) {
            return try receiveRead(type, value: reading.bytes, reading.handle, server, reading.observation)
        }
        try value(reading.bytes.span.bytes, of: reading.handle, server, reading.observation, .read)
    }

    /// Processes a value that was read from an attribute of known type. Device name and serial number identify the
    /// peer.
    private func receiveRead(
        _ type: BluetoothUUID, value bytes: [UInt8], _ handle: UInt16, _ server: ObservedServer,
        _ observation: ATTObservation
    ) throws {
        guard type == 0x2A00 || type == 0x2A25 else {
            return try value(bytes.span.bytes, of: handle, server, observation, .read)
        }
        report(bytes.span.bytes, handle, server, observation, .read)
        let text = String(decoding: bytes, as: UTF8.self)
        if type == 0x2A00 {
            server.peer.update(name: text)
        } else if server.peer.address == nil, let address = BluetoothAddress(text) {
            // On links without addresses, the emulated bottle has its address as serial number.
            server.peer.openConnections -= 1
            server.peer = peerStore.identify(server.peer, as: address)
            server.peer.openConnections += 1
        }
    }

    private func write(
        _ bytes: [UInt8], to handle: UInt16, _ server: ObservedServer, _ observation: ATTObservation,
        _ kind: ValueInfo.Kind
    ) throws {
        report(bytes.span.bytes, handle, server, observation, kind)
        switch server.role(of: handle, handles) {
        // Also report writes to the response characteristic, because a bottle disconnects after some of them.
        case .command(let profile, let basis), .response(let profile, let basis):
            server.peer.setProfile(profile, basis)
            try command(bytes, to: handle, server, observation)
        case .unknown where handles.isEmpty && FrameFormat.isCommand(bytes):
            let isConfirmed = server.guess.response != nil && server.guess.command == nil
            guard isConfirmed || server.canGuess else { break }
            server.guess.command = handle
            // A command after frames confirms that the device is a bottle.
            if isConfirmed { server.guess.lacksCommand = false }
            server.resetRoles()
            try command(bytes, to: handle, server, observation)
        case .unknown
        where handles.isEmpty && server.canGuess && bytes.count == 1
            && server.guess.shortWrites.count < GuessedRoles.maximumShortWrites:
            server.guess.shortWrites.append(PartialValue(handle: handle, bytes: bytes, observation: observation))
        case .unknown, .other: break
        }
    }

    private func command(_ bytes: [UInt8], to handle: UInt16, _ server: ObservedServer, _ observation: ATTObservation)
        throws
    {
        let command = HostCommand(decoding: bytes)
        if command.requestsLog { try finishLog(server, observation) }
        // Other devices have characteristics with the same UUID.
        if case .unknown = command, !server.peer.isBottle { return }
        server.peer.commandCount += 1
        try sink(
            .command(command, value: bytes, characteristic: server.type(at: handle)),
            TrafficOrigin(server: server, observation: observation))
    }

    private func finishLog(_ server: ObservedServer, _ observation: ATTObservation) throws {
        try server.log.finish { try self.emit($0, server, observation) }
    }

    /// Checks whether a value at a handle without discovery has the format of a bottle's log or message.
    private func guess(_ bytes: RawSpan, at handle: UInt16, _ server: ObservedServer, _ observation: ATTObservation)
        throws
    {
        guard bytes.byteCount >= Frame.headerSize, bytes.byte(0) == 0x50 || bytes.byte(0) == 0x52, handles.isEmpty,
            server.canGuess
        else { return }
        let value = bytes.bytes()
        let isLog = FrameFormat.isLog(value)
        let draftWrites = server.guess.shortWrites.filter {
            HostCommand(decoding: $0.bytes).requestsLog && $0.handle != handle
        }
        let wasRequested = server.guess.command != nil || (isLog && !draftWrites.isEmpty)
        guard isLog || (wasRequested && FrameFormat.isMessage(value)) else { return }
        server.guess.response = handle
        server.guess.lacksCommand = !wasRequested
        if server.guess.command == nil { server.guess.command = draftWrites.first?.handle }
        server.resetRoles()
        server.peer.setProfile(nil, .guessed)
        for write in draftWrites where write.handle == server.guess.command {
            try command(write.bytes, to: write.handle, server, write.observation)
        }
        try interpret(bytes, of: handle, server, observation)
    }

    private func emit(_ traffic: BottleTraffic, _ server: ObservedServer, _ observation: ATTObservation) throws {
        switch traffic {
        case .records: server.peer.hasResponded = true
        case .message(let message):
            server.peer.hasResponded = true
            server.peer.update(from: message)
        // Other devices have a characteristic with the same UUID.
        case .malformed where !server.peer.isBottle: return
        case .malformed, .command: break
        }
        try sink(traffic, TrafficOrigin(server: server, observation: observation))
    }
}
