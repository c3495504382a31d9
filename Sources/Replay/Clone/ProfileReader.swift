package import Bluetooth
package import Emulator

/// A peripheral of a capture, with the generated profile.
package struct ObservedPeripheral: Sendable {
    package var profile: PeripheralProfile
    /// The address, or the number of the connection.
    package var label: String
    /// The number of connections in which the peripheral was the server.
    package var connections: Int
    /// The number of ATT PDUs from the peripheral.
    package var pduCount: Int

    /// Whether the capture has unencrypted responses of the peripheral.
    package var hasResponded: Bool { pduCount > 0 }
}

/// The error for conversations that exceed the memory limit.
package struct ProfileReaderError: Error, Sendable, CustomStringConvertible {
    package var description: String
}

/// Generates device profiles of the peripherals in captures: advertisement, GATT table, values, conversations.
///
/// Pass every event of `ConversationReassembler` in order, call `beginFile` before each further file, then `finish`.
/// The discovery and the MTU exchange go to the table. Reads, writes and notifications go to the conversations.
package final class ProfileReader {
    private static let maximumBytes = 64 << 20
    /// The estimated memory in bytes for a peripheral or a connection, in addition to its PDUs.
    private static let bytesPerObject = 1024
    /// The maximum number of advertisers; further ones are ignored.
    private static let maximumAdvertisers = 4096

    private enum Key: Hashable {
        case address(BluetoothAddress)
        case host(file: Int, adapter: UInt32)
        case connection(file: Int, id: Int)
    }

    private var drafts: [Key: ProfileDraft] = [:]
    private var order: [Key] = []
    private var sessions: [Int: ProfileSession] = [:]
    private var file = 0
    private var estimatedBytes = 0
    private var advertisers = 0

    package init() {}

    /// Starts the next capture file, with new connections. Equal addresses are the same peripheral in all files.
    package func beginFile() {
        endConnections()
        file += 1
    }

    /// Adds an event of the capture to the profiles.
    /// - Throws: `ProfileReaderError` if the captures exceed the memory limit.
    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        switch event {
        case .advertised(let advertiser): advertised(advertiser, bytes)
        case .connected(let connection), .disconnected(let connection, _): end(connection.id)
        case .encrypted(let connection): draft(of: connection).encryptedConnections += 1
        case .dropped: break
        case .att(let observation): receive(observation, bytes)
        }
        guard estimatedBytes <= Self.maximumBytes else {
            throw ProfileReaderError(
                description: """
                    more than \(Self.maximumBytes >> 20) MiB of conversations: select a part with --from and --to
                    """)
        }
    }

    package func finish() -> [ObservedPeripheral] {
        endConnections()
        return order.compactMap { key in
            drafts[key].map { draft in
                ObservedPeripheral(
                    profile: draft.profile, label: Self.label(key), connections: draft.conversations.count,
                    pduCount: draft.pduCount)
            }
        }
    }

    private static func label(_ key: Key) -> String {
        switch key {
        case .address(let address): address.description
        case .host: "the capturing host (no address)"
        case .connection(_, let id): "connection \(id) (no address)"
        }
    }

    private func draft(_ key: Key) -> ProfileDraft {
        if let known = drafts[key] { return known }
        let new = ProfileDraft()
        if case .address(let address) = key { new.address = address }
        drafts[key] = new
        order.append(key)
        estimatedBytes += Self.bytesPerObject
        return new
    }

    /// The peripheral of a connection: the other end, or else the capturing host.
    private func draft(of connection: ObservedConnection) -> ProfileDraft {
        if connection.isCentral == false { return draft(.host(file: file, adapter: connection.adapter)) }
        let found: ProfileDraft
        if let peer = connection.peer, peer.value != 0 {
            found = draft(.address(peer))
        } else {
            found = draft(.connection(file: file, id: connection.id))
        }
        if let isRandom = connection.isPeerRandom { found.isRandom = isRandom }
        return found
    }

    private func advertised(_ advertiser: ObservedAdvertiser, _ data: RawSpan) {
        let key = Key.address(advertiser.address)
        if drafts[key] == nil {
            guard advertisers < Self.maximumAdvertisers else { return }
            advertisers += 1
        }
        let draft = draft(key)
        draft.isRandom = advertiser.isRandom
        guard data.byteCount <= 254 else { return }
        if advertiser.isScanResponse {
            draft.scanResponse = data.bytes()
        } else if !data.isEmpty || draft.advertisement == nil {
            draft.advertisement = data.bytes()
        }
        if let name = AdvertisingData.name(in: data) { draft.advertisedName = name }
    }

    private func receive(_ observation: ATTObservation, _ bytes: RawSpan) {
        estimatedBytes += bytes.byteCount + 32
        guard let pdu = try? ATTPDU(decoding: bytes.bytes()) else { return }
        let connection = observation.connection
        // Both ends can be servers. A server sends odd opcodes and receives even ones.
        let isFromServer = pdu.opcode.rawValue & 1 == 1
        let isHost = isFromServer ? observation.direction == .sent : observation.direction == .received
        // Of the PDUs of the other server, only the MTU exchange belongs to the peripheral's table.
        let concernsPeripheral = isHost == (connection.isCentral == false)
        guard concernsPeripheral || pdu.opcode == .exchangeMTURequest || pdu.opcode == .exchangeMTUResponse else {
            return
        }
        let session: ProfileSession
        if let known = sessions[connection.id] {
            session = known
        } else {
            session = ProfileSession(draft(of: connection), startedAt: observation.time)
            estimatedBytes += Self.bytesPerObject
            sessions[connection.id] = session
        }
        if !concernsPeripheral {
            session.exchangeMTU(pdu)
        } else if isFromServer {
            session.receiveResponse(pdu, observation)
        } else {
            session.receiveRequest(pdu, observation)
        }
    }

    private func end(_ id: Int) { sessions.removeValue(forKey: id)?.finishReading() }

    private func endConnections() {
        for id in sessions.keys.sorted() { end(id) }
    }
}

/// The data collected about one peripheral over all its connections.
private final class ProfileDraft {
    var address: BluetoothAddress?
    var isRandom: Bool?
    var advertisedName: String?
    var advertisement: [UInt8]?
    var scanResponse: [UInt8]?
    var mtu: Int?
    var pduCount = 0
    var encryptedConnections = 0
    /// The number of Read Multiple requests, whose responses do not have the lengths of the values.
    var multipleReads = 0
    var table = ObservedTable()
    var conversations: [PeripheralProfile.Conversation] = []

    /// The recorded peripheral as a valid device profile (`PeripheralProfile.check`).
    var profile: PeripheralProfile {
        var profile = PeripheralProfile(
            address: address, addressType: isRandom.map { $0 ? .random : .public }, mtu: mtu)
        profile.advertisement = advertisement.map { Octets($0) }
        profile.scanResponse = scanResponse.map { Octets($0) }
        let (services, gaps) = table.services()
        profile.services = services
        profile.conversations = conversations.map { conversation in
            // Drop reads without a response, which have no information.
            PeripheralProfile.Conversation(conversation.exchanges.filter { $0.request != .read || $0.response != nil })
        }
        profile.conversations.removeAll { $0.exchanges.isEmpty }
        let deviceName = profile.characteristics.first { $0.uuid == GATTTable.deviceName }?.value.map {
            String(decoding: $0.bytes, as: UTF8.self)
        }
        // A device name has at most 248 bytes.
        var name = (advertisedName ?? deviceName)?.withoutControls ?? ""
        while name.utf8.count > 248 { name.removeLast() }
        profile.name = name.isEmpty ? nil : name
        profile.gaps = self.gaps(of: profile) + gaps
        return profile
    }

    private func gaps(of profile: PeripheralProfile) -> [String] {
        var gaps: [String] = []
        if encryptedConnections > 0 {
            gaps.append("\(counted(encryptedConnections, "connection")) became encrypted: later traffic cannot be read")
        }
        if profile.address == nil { gaps.append("the address is not in the capture") }
        if profile.advertisement == nil { gaps.append("no advertisement in the capture") }
        if profile.mtu == nil { gaps.append("no MTU exchange in the capture: using 23") }
        if profile.services.isEmpty {
            gaps.append("no attributes in the capture")
        } else if profile.services.allSatisfy({ $0.source == .seen }) {
            gaps.append("no service discovery in the capture: services are derived from the traffic")
        }
        let characteristics = profile.characteristics
        let seen = characteristics.filter { $0.source == .seen }.count
        if seen > 0 {
            gaps.append(
                "\(seen) of \(counted(characteristics.count, "characteristic")) derived from traffic, not discovered")
        }
        let unread = characteristics.filter { $0.properties.contains(.read) && $0.value == nil }.count
        if unread > 0 { gaps.append("the values of \(counted(unread, "readable characteristic")) were never read") }
        let unsubscribed = characteristics.filter { $0.canBeSubscribed && $0.configuration == nil }.count
        if unsubscribed > 0 {
            gaps.append("the configuration descriptor of \(counted(unsubscribed, "characteristic")) is unknown")
        }
        if multipleReads > 0 {
            gaps.append(
                "\(counted(multipleReads, "Read Multiple response")) skipped: the lengths of the values are unknown")
        }
        return gaps
    }
}

/// One connection with a peripheral: sorts its PDUs into the table and the conversation.
private final class ProfileSession {
    private struct Pending {
        var request: ATTPDU
        var at: Duration?
        /// The index of the exchange; `nil` if the request is not part of the conversation.
        var exchange: Int?
    }

    /// A value that is read in parts.
    private struct Reading {
        var handle: UInt16
        var bytes: [UInt8]
        var exchange: Int
    }

    private let draft: ProfileDraft
    private let number: Int
    private let startedAt: Duration?
    private var pending: [UInt16: Pending] = [:]
    private var reading: Reading?
    private var prepared: [(handle: UInt16, offset: Int, bytes: [UInt8])] = []
    private var mtu = ATTPDU.defaultMTU
    private var clientMTU = ATTPDU.defaultMTU
    /// The exchange to which following notifications are added, and its time.
    private var currentExchange: (exchange: Int, at: Duration?)?

    init(_ draft: ProfileDraft, startedAt: Duration?) {
        self.draft = draft
        self.startedAt = startedAt
        number = draft.conversations.count
        draft.conversations.append(PeripheralProfile.Conversation())
    }

    func receiveRequest(_ pdu: ATTPDU, _ observation: ATTObservation) {
        if pdu.opcode.response != nil, let reading,
            !pdu.continuesRead(of: reading.handle, after: reading.bytes.count)
        {
            finishReading()
        }
        var exchange: Int?
        switch pdu {
        case .exchangeMTURequest(let mtu): clientMTU = Int(mtu)
        // Drop the signature, because a server could not verify a repeated one.
        case .writeCommand(let handle, let value), .signedWriteCommand(let handle, let value, _):
            write(.command, handle, value, observation)
        case .readRequest(let handle): exchange = add(.read, handle)
        case .readBlobRequest: exchange = reading?.exchange
        case .writeRequest(let handle, let value):
            write(.write, handle, value, observation)
            exchange = currentExchange?.exchange
        case .prepareWriteRequest(let handle, let offset, let value):
            if prepared.count < 4096 { prepared.append((handle, Int(offset), value)) }
        case .executeWriteRequest(let flags):
            if flags == 1, execute(observation) { exchange = currentExchange?.exchange }
            prepared = []
        case .readMultipleRequest: draft.multipleReads += 1
        default: break
        }
        guard pdu.opcode.response != nil else { return }
        pending[observation.bearer] = Pending(request: pdu, at: observation.time, exchange: exchange)
    }

    private func write(
        _ request: PeripheralProfile.Request, _ handle: UInt16, _ value: [UInt8], _ observation: ATTObservation
    ) {
        currentExchange = (add(request, handle, value), observation.time)
        draft.table.uses[handle, default: ObservedTable.Use()].properties.insert(
            request == .write ? .write : .writeWithoutResponse)
        // A Client Characteristic Configuration has two bytes: bit 0 notifications, bit 1 indications.
        if value.count != 2 || value[0] > 3 || value[1] != 0 { draft.table.uses[handle]?.isSubscription = false }
    }

    /// Joins the parts of each prepared value into one write. Returns `false` if there are none.
    private func execute(_ observation: ATTObservation) -> Bool {
        var values: [(handle: UInt16, bytes: [UInt8])] = []
        for part in prepared {
            if values.last?.handle != part.handle || part.offset == 0 && !part.bytes.isEmpty {
                values.append((part.handle, []))
            }
            let last = values.count - 1
            guard part.offset <= values[last].bytes.count, part.offset + part.bytes.count <= ATTPDU.maximumValueLength
            else { continue }
            values[last].bytes =
                Array(values[last].bytes.prefix(part.offset)) + part.bytes
                + values[last].bytes.dropFirst(part.offset + part.bytes.count)
        }
        for value in values { write(.write, value.handle, value.bytes, observation) }
        return !values.isEmpty
    }

    /// Handles an MTU request of the peripheral, which contains the peripheral's MTU (Core 5.4, Vol 3 Part F, 3.4.2).
    func exchangeMTU(_ pdu: ATTPDU) {
        switch pdu {
        case .exchangeMTURequest(let offered): draft.mtu = Self.mtu(offered)
        case .exchangeMTUResponse(let offered):
            mtu = max(ATTPDU.defaultMTU, min(draft.mtu ?? ATTPDU.defaultMTU, Int(offered)))
        default: break
        }
    }

    private static func mtu(_ offered: UInt16) -> Int {
        max(ATTPDU.defaultMTU, min(ATTPDU.maximumMTU, Int(offered)))
    }

    func receiveResponse(_ pdu: ATTPDU, _ observation: ATTObservation) {
        draft.pduCount += 1
        switch pdu {
        case .notification(let handle, let value): receive(handle, value, .notify, observation)
        case .indication(let handle, let value): receive(handle, value, .indicate, observation)
        case .multipleNotification(let items):
            for item in items { receive(item.handle, item.value, .notify, observation) }
        case .exchangeMTUResponse(let server):
            draft.mtu = Self.mtu(server)
            mtu = max(ATTPDU.defaultMTU, min(clientMTU, Int(server)))
        default: break
        }
        guard let sent = pending[observation.bearer], pdu.isResponse(to: sent.request) else { return }
        pending[observation.bearer] = nil
        let delay = Self.milliseconds(from: sent.at, to: observation.time)
        switch (pdu, sent.request) {
        // An error response to Read Blob ends the value that is read in parts.
        case (.errorResponse, .readBlobRequest): finishReading()
        case (.errorResponse(_, _, let error), _):
            respond(sent.exchange, PeripheralProfile.Response(error: max(1, error.rawValue), afterMs: delay))
        case (.readResponse(let value), .readRequest(let handle)):
            guard let exchange = sent.exchange else { return }
            respond(exchange, PeripheralProfile.Response(value: [], afterMs: delay))
            reading = Reading(handle: handle, bytes: value, exchange: exchange)
            if value.count + 1 < mtu { finishReading() }
        case (.readBlobResponse(let value), .readBlobRequest(let handle, let offset)):
            guard reading?.handle == handle, reading?.bytes.count == Int(offset) else { return }
            reading?.bytes += value
            if value.count + 1 < mtu || Int(offset) > ATTPDU.maximumValueLength { finishReading() }
        case (.readByTypeResponse(let items), .readByTypeRequest(_, let type)) where !type.isDeclaration:
            readByType(items, type, delay)
        case (.readMultipleVariableResponse(let items), .readMultipleVariableRequest(let handles)):
            for (handle, item) in zip(handles, items) {
                guard item.value.count == Int(item.length) else { return }
                read(handle, item.value, delay)
                finishReading()
            }
        case (.prepareWriteResponse, _): break
        case (.findInformationResponse, _), (.findByTypeValueResponse, _), (.readByTypeResponse, _),
            (.readByGroupTypeResponse, _):
            for attribute in pdu.attributes(foundBy: sent.request) {
                draft.table.add(attribute, source: observation.isSynthetic ? .seen : .discovered)
            }
        default: respond(sent.exchange, PeripheralProfile.Response(afterMs: delay))
        }
    }

    /// Adds the values of a Read By Type response as reads.
    private func readByType(_ items: [ATTHandleValue], _ type: BluetoothUUID, _ delay: Int) {
        for (index, item) in items.enumerated() {
            if draft.table.types[item.handle] == nil { draft.table.types[item.handle] = (type, .seen) }
            read(item.handle, item.value, delay)
            // A value that fills the response can be continued by Read Blob.
            if index < items.count - 1 || item.value.count < min(mtu - 4, 253) { finishReading() }
        }
    }

    private func read(_ handle: UInt16, _ value: [UInt8], _ delay: Int) {
        let exchange = add(.read, handle)
        respond(exchange, PeripheralProfile.Response(value: [], afterMs: delay))
        reading = Reading(handle: handle, bytes: value, exchange: exchange)
    }

    /// Completes a value that was read, with the parts received so far.
    func finishReading() {
        guard let reading else { return }
        self.reading = nil
        let value = Array(reading.bytes.prefix(ATTPDU.maximumValueLength))
        draft.conversations[number].exchanges[reading.exchange].response?.value = Octets(value)
        draft.table.uses[reading.handle, default: ObservedTable.Use()].value = value
        draft.table.uses[reading.handle]?.properties.insert(.read)
    }

    /// Adds a notification or indication to the exchange of the last write, or else of the connection.
    private func receive(
        _ handle: UInt16, _ value: [UInt8], _ property: CharacteristicProperties, _ observation: ATTObservation
    ) {
        let exchange = currentExchange ?? (add(.connect, nil), startedAt)
        currentExchange = exchange
        draft.table.uses[handle, default: ObservedTable.Use()].properties.insert(property)
        draft.table.uses[handle]?.isSubscription = false
        let value = PeripheralProfile.Value(
            handle: handle, value: Octets(Array(value.prefix(ATTPDU.maximumValueLength))),
            afterMs: Self.milliseconds(from: exchange.at, to: observation.time))
        if draft.conversations[number].exchanges[exchange.exchange].values?.append(value) == nil {
            draft.conversations[number].exchanges[exchange.exchange].values = [value]
        }
    }

    private func add(_ request: PeripheralProfile.Request, _ handle: UInt16?, _ value: [UInt8]? = nil) -> Int {
        if let handle, draft.table.uses[handle] == nil { draft.table.uses[handle] = ObservedTable.Use() }
        draft.conversations[number].exchanges.append(
            PeripheralProfile.Exchange(
                request, handle: handle, value: value.map { Octets(Array($0.prefix(ATTPDU.maximumValueLength))) }))
        return draft.conversations[number].exchanges.count - 1
    }

    private func respond(_ exchange: Int?, _ response: PeripheralProfile.Response) {
        if let exchange { draft.conversations[number].exchanges[exchange].response = response }
    }

    /// Milliseconds between two times, rounded; 0 if the capture has no times or they go backwards.
    private static func milliseconds(from start: Duration?, to end: Duration?) -> Int {
        guard let start, let end, end > start else { return 0 }
        let (seconds, attoseconds) = (end - start).components
        guard seconds < Int64(PeripheralProfile.maximumDelayMs / 1000) else { return PeripheralProfile.maximumDelayMs }
        return Int(seconds) * 1000 + Int((attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000)
    }
}
