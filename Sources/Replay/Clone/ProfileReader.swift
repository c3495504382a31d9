package import Bluetooth
package import Emulator

/// The error for conversations that exceed the memory limit.
package struct ProfileReaderError: Error, Sendable, CustomStringConvertible {
    package var description: String
}

/// Generates device profiles of the peripherals in captures: advertisement, GATT table, values, conversations.
///
/// Pass every event of `ConversationReassembler` in order, call `beginFile` before a file with new connections, then
/// `finish`. The discovery and the MTU exchange go to the table, and all other traffic to the conversations.
package final class ProfileReader {
    private static let maximumBytes = 64 << 20
    /// The estimated memory in bytes for a peripheral or a connection, in addition to its PDUs.
    private static let bytesPerObject = 1024
    /// The maximum number of advertisers; further ones are ignored.
    private static let maximumAdvertisers = 4096

    /// The peripherals in order of their first event; `known` are those that further events can concern.
    private var peripherals: [ObservedPeripheral] = []
    private var known: [PeerStore.Key: ObservedPeripheral] = [:]
    private var sessions: [Int: ProfileSession] = [:]
    private var conversation = ConversationReader { _, _ in }
    private var estimatedBytes = 0
    private var advertisers = 0

    package init() { observe() }

    /// Starts a capture file with new connections. Equal addresses are the same peripheral in all files.
    package func beginFile() {
        endConnections()
        known = known.filter { $0.value.address != nil }
        conversation = ConversationReader { _, _ in }
        observe()
    }

    private func observe() {
        conversation.onValue = { [unowned self] in sessions[$0.server.connection.id]?.receive($0) }
        conversation.onTransaction = { [unowned self] in sessions[$0.server.connection.id]?.receive($0) }
    }

    /// Adds an event of the capture to the profiles.
    /// - Throws: `ProfileReaderError` if the captures exceed the memory limit.
    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        switch event {
        case .advertised(let advertiser): advertised(advertiser, bytes)
        case .encrypted(let connection): peripheral(of: connection).encryptedConnections += 1
        case .att(let observation): count(observation, bytes)
        case .connected, .disconnected, .dropped: break
        }
        try conversation.receive(event, bytes)
        if case .disconnected(let connection, _) = event { end(connection.id) }
        guard estimatedBytes <= Self.maximumBytes else {
            throw ProfileReaderError(
                description: """
                    more than \(Self.maximumBytes >> 20) MiB of conversations: select a part with --from and --to
                    """)
        }
    }

    package func finish() -> [ObservedPeripheral] {
        endConnections()
        return peripherals
    }

    private func peripheral(_ key: PeerStore.Key) -> ObservedPeripheral {
        if let peripheral = known[key] { return peripheral }
        let new = ObservedPeripheral(key)
        known[key] = new
        peripherals.append(new)
        estimatedBytes += Self.bytesPerObject
        return new
    }

    /// The peripheral of a connection: the other end, or else the capturing host.
    private func peripheral(of connection: ObservedConnection) -> ObservedPeripheral {
        if connection.isCentral == false { return peripheral(.host(connection.adapter)) }
        let found: ObservedPeripheral
        if let peer = connection.peer, peer.value != 0 {
            found = peripheral(.address(peer))
        } else {
            found = peripheral(.connection(connection.id))
        }
        if let isRandom = connection.isPeerRandom { found.isRandom = isRandom }
        return found
    }

    private func advertised(_ advertiser: ObservedAdvertiser, _ data: RawSpan) {
        let key = PeerStore.Key.address(advertiser.address)
        if known[key] == nil {
            guard advertisers < Self.maximumAdvertisers else { return }
            advertisers += 1
        }
        let peripheral = peripheral(key)
        peripheral.isRandom = advertiser.isRandom
        guard data.byteCount <= 254 else { return }
        if advertiser.isScanResponse {
            peripheral.scanResponse = data.bytes()
        } else if !data.isEmpty || peripheral.advertisement == nil {
            peripheral.advertisement = data.bytes()
        }
        if let name = data.advertisedName { peripheral.advertisedName = name }
    }

    /// Counts a PDU, and starts the session of its connection.
    private func count(_ observation: ATTObservation, _ pdu: RawSpan) {
        estimatedBytes += pdu.byteCount + 32
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return }
        let connection = observation.connection
        let isFromServer = opcode.rawValue & 1 == 1, isPeripheralHost = connection.isCentral == false
        // Both ends can be servers. Of the other server, only the MTU exchange belongs to the peripheral.
        let concernsPeripheral = conversation.server(isFromServer, observation).isHost == isPeripheralHost
        guard concernsPeripheral || opcode == .exchangeMTURequest || opcode == .exchangeMTUResponse else { return }
        if sessions[connection.id] == nil {
            estimatedBytes += Self.bytesPerObject
            sessions[connection.id] = ProfileSession(
                peripheral(of: connection), isHost: isPeripheralHost, startedAt: observation.time)
        }
        if concernsPeripheral, isFromServer { sessions[connection.id]?.peripheral.pduCount += 1 }
    }

    private func end(_ id: Int) { sessions.removeValue(forKey: id)?.finish() }

    private func endConnections() {
        try? conversation.finish()
        for id in sessions.keys.sorted() { end(id) }
    }
}

/// A peripheral of a capture: the data collected over all its connections, and the generated profile.
package final class ObservedPeripheral {
    package let address: BluetoothAddress?
    /// The address, or the number of the connection.
    package let label: String
    var isRandom: Bool?
    var advertisedName: String?
    var advertisement: [UInt8]?
    var scanResponse: [UInt8]?
    var mtu: Int?
    /// The number of ATT PDUs from the peripheral.
    package fileprivate(set) var pduCount = 0
    var encryptedConnections = 0
    /// The number of Read Multiple responses, which do not have the lengths of the values.
    var multipleReads = 0
    var table = ObservedTable()
    var conversations: [PeripheralProfile.Conversation] = []

    init(_ key: PeerStore.Key) {
        switch key {
        case .address(let address): (self.address, label) = (address, address.description)
        case .host: (address, label) = (nil, "the capturing host (no address)")
        case .connection(let id): (address, label) = (nil, "connection \(id) (no address)")
        }
    }

    /// The number of connections in which the peripheral was the server.
    package var connections: Int { conversations.count }

    /// Whether the capture has unencrypted responses of the peripheral.
    package var hasResponded: Bool { pduCount > 0 }

    /// The recorded peripheral as a valid device profile (`PeripheralProfile.check`), after `ProfileReader.finish`.
    package private(set) lazy var profile: PeripheralProfile = {
        var profile = PeripheralProfile(
            address: address, addressType: isRandom.map { $0 ? .random : .public }, mtu: mtu)
        profile.advertisement = advertisement.map { Octets($0) }
        profile.scanResponse = scanResponse.map { Octets($0) }
        let (services, gaps) = table.services()
        profile.services = services
        profile.conversations = conversations.filter { !$0.exchanges.isEmpty }
        let deviceName = profile.characteristics.first { $0.uuid == GATTTable.deviceName }?.value.map {
            String(decoding: $0.bytes, as: UTF8.self)
        }
        // A device name has at most 248 bytes.
        var name = (advertisedName ?? deviceName)?.withoutControls ?? ""
        while name.utf8.count > 248 { name.removeLast() }
        profile.name = name.isEmpty ? nil : name
        profile.gaps = self.gaps(of: profile) + gaps
        return profile
    }()

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
        let unsubscribed = characteristics.filter { $0.canBeSubscribed && $0.cccdHandle == nil }.count
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

/// One connection with a peripheral: sorts its traffic into the table and the conversation.
private final class ProfileSession {
    /// Whether the peripheral is the capturing host.
    let isHost: Bool
    let peripheral: ObservedPeripheral
    private let number: Int
    private let startedAt: Duration?
    /// The exchanges, each with the frame of its request.
    private var exchanges: [(frame: Int, exchange: PeripheralProfile.Exchange)] = []
    /// The indices of the writes without a response, by the frame of the request.
    private var pendingWrites: [Int: Int] = [:]
    /// The frame of the request of the value that is being read, and the delay of its response.
    private var reading: (frame: Int, delay: Int) = (0, 0)
    /// The index of the exchange to which following notifications are added, and its time.
    private var currentExchange: (index: Int, at: Duration?)?

    init(_ peripheral: ObservedPeripheral, isHost: Bool, startedAt: Duration?) {
        self.peripheral = peripheral
        self.isHost = isHost
        self.startedAt = startedAt
        number = peripheral.conversations.count
        peripheral.conversations.append(PeripheralProfile.Conversation())
    }

    func receive(_ observed: ObservedValue) {
        guard observed.server.isHost == isHost else { return }
        let value = Array(observed.bytes.prefix(ATTPDU.maximumValueLength))
        switch observed.kind {
        case .read: read(observed.handle, value)
        case .writeRequest:
            write(.write, value, observed)
            pendingWrites[observed.frame] = exchanges.count - 1
        case .writeCommand: write(.command, value, observed)
        case .notification: notify(.notify, value, observed)
        case .indication: notify(.indicate, value, observed)
        }
    }

    func receive(_ transaction: ATTTransaction) {
        let request = transaction.request, response = transaction.response
        if case (.exchangeMTURequest(let client), .exchangeMTUResponse(let server)) = (request, response) {
            // The peripheral can also be the client of the exchange (Core 5.4, Vol 3 Part F, 3.4.2).
            let offered = Int(transaction.server.isHost == isHost ? server : client)
            peripheral.mtu = max(ATTPDU.defaultMTU, min(ATTPDU.maximumMTU, offered))
        }
        guard transaction.server.isHost == isHost else { return }
        let frame = transaction.sent.frame
        let delay = Self.milliseconds(from: transaction.sent.time, to: transaction.received.time)
        switch (response, request) {
        case (.errorResponse(_, _, let error), _):
            let response = PeripheralProfile.Response(error: max(1, error.rawValue), afterMs: delay)
            if case .readRequest(let handle) = request {
                add(.read, handle, frame, response: response)
            } else {
                respond(frame, response)
            }
        case (.writeResponse, _), (.executeWriteResponse, _):
            respond(frame, PeripheralProfile.Response(afterMs: delay))
        case (.readResponse, _): reading = (frame, delay)
        case (.readMultipleResponse, _): peripheral.multipleReads += 1
        case (.readMultipleVariableResponse(let items), .readMultipleVariableRequest(let handles)):
            reading = (frame, delay)
            for (handle, item) in zip(handles, items) {
                guard item.value.count == Int(item.length) else { return }
                read(handle, Array(item.value.prefix(ATTPDU.maximumValueLength)))
            }
        case (.readByTypeResponse, .readByTypeRequest(_, let type)) where !type.isDeclaration:
            reading = (frame, delay)
            addAttributes(transaction, .seen)
        default: addAttributes(transaction, transaction.received.isSynthetic ? .seen : .discovered)
        }
    }

    private func addAttributes(_ transaction: ATTTransaction, _ source: PeripheralProfile.Source) {
        for attribute in transaction.response.attributes(foundBy: transaction.request) {
            peripheral.table.add(attribute, source: source)
        }
    }

    private func read(_ handle: UInt16, _ value: [UInt8]) {
        add(
            .read, handle, reading.frame,
            response: PeripheralProfile.Response(value: Octets(value), afterMs: reading.delay))
        peripheral.table.uses[handle]?.value = value
        peripheral.table.uses[handle]?.properties.insert(.read)
    }

    private func write(_ request: PeripheralProfile.Request, _ value: [UInt8], _ observed: ObservedValue) {
        add(request, observed.handle, observed.frame, value)
        currentExchange = (exchanges.count - 1, observed.time)
        peripheral.table.uses[observed.handle]?.properties.insert(request == .write ? .write : .writeWithoutResponse)
        // A Client Characteristic Configuration has two bytes: bit 0 notifications, bit 1 indications.
        if value.count != 2 || value[0] > 3 || value[1] != 0 {
            peripheral.table.uses[observed.handle]?.isSubscription = false
        }
    }

    /// Adds a notification or indication to the exchange of the last write, or else of the connection.
    private func notify(_ property: CharacteristicProperties, _ value: [UInt8], _ observed: ObservedValue) {
        if currentExchange == nil {
            add(.connect, nil, observed.frame)
            currentExchange = (exchanges.count - 1, startedAt)
        }
        guard let currentExchange else { return }
        peripheral.table.uses[observed.handle, default: ObservedTable.Use()].properties.insert(property)
        peripheral.table.uses[observed.handle]?.isSubscription = false
        let value = PeripheralProfile.Value(
            handle: observed.handle, value: Octets(value),
            afterMs: Self.milliseconds(from: currentExchange.at, to: observed.time))
        if exchanges[currentExchange.index].exchange.values?.append(value) == nil {
            exchanges[currentExchange.index].exchange.values = [value]
        }
    }

    private func add(
        _ request: PeripheralProfile.Request, _ handle: UInt16?, _ frame: Int, _ value: [UInt8]? = nil,
        response: PeripheralProfile.Response? = nil
    ) {
        if let handle, peripheral.table.uses[handle] == nil { peripheral.table.uses[handle] = ObservedTable.Use() }
        let exchange = PeripheralProfile.Exchange(
            request, handle: handle, value: value.map { Octets($0) }, response: response)
        exchanges.append((frame, exchange))
    }

    private func respond(_ frame: Int, _ response: PeripheralProfile.Response) {
        if let index = pendingWrites.removeValue(forKey: frame) { exchanges[index].exchange.response = response }
    }

    /// Stores the conversation in the order of the requests. A value is read after requests that were sent later.
    func finish() {
        let sorted = exchanges.enumerated().sorted { ($0.element.frame, $0.offset) < ($1.element.frame, $1.offset) }
        peripheral.conversations[number].exchanges = sorted.map(\.element.exchange)
    }

    /// Milliseconds between two times, rounded; 0 if the capture has no times or they go backwards.
    private static func milliseconds(from start: Duration?, to end: Duration?) -> Int {
        guard let start, let end, end > start else { return 0 }
        let (seconds, attoseconds) = (end - start).components
        guard seconds < Int64(PeripheralProfile.maximumDelayMs / 1000) else { return PeripheralProfile.maximumDelayMs }
        return Int(seconds) * 1000 + Int((attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000)
    }
}
