/// Records the GATT operations of a peripheral as ATT PDUs, for links whose stack handles the PDUs (bluetoothd).
///
/// The handles are those that `GATTServer` would assign; the stack's differ. The stack's own traffic (MTU exchange,
/// discovery, subscription) is written as `GATTClient` would send it, so that a reader can resolve each handle. Values,
/// their order and direction are real.
package struct PeripheralTranscript: Sendable {
    private struct Central {
        var connection: Int
        var mtu = ATTPDU.defaultMTU
        var subscriptions: Set<BluetoothUUID> = []
    }

    private let table: GATTTable
    private let discovery: [(PDUDirection, [UInt8])]
    private var centrals: [CentralID: Central] = [:]
    /// The requests without a response, by token.
    private var pending: [UInt64: (central: CentralID, request: ATTOpcode, handle: UInt16)] = [:]
    private var lastConnection = 0
    private var observations: [LinkObservation] = []

    /// Throws if the application's attribute table is invalid.
    package init(_ application: GATTApplication) throws(LinkError) {
        table = try GATTTable(application)
        discovery = try Self.discovery(of: application)
    }

    package mutating func record(_ event: PeripheralEvent, at now: MonotonicInstant) -> [LinkObservation] {
        switch event {
        case .connected(let id):
            lastConnection += 1
            centrals[id] = Central(connection: lastConnection)
            write(id, .connected, at: now)
            for (direction, bytes) in discovery { write(id, .pdu(direction, bytes), at: now) }
        case .disconnected(let id):
            write(id, .disconnected, at: now)
            centrals[id] = nil
        case .mtuChanged(let id, let mtu):
            centrals[id]?.mtu = mtu
            exchange(
                id, .exchangeMTURequest(mtu: UInt16(clamping: mtu)), .exchangeMTUResponse(mtu: UInt16(clamping: mtu)),
                at: now)
        case .read(let id, let uuid, let offset, let token):
            guard let handle = table.valueHandle(of: uuid) else { break }
            let request: ATTPDU =
                offset == 0
                ? .readRequest(handle: handle) : .readBlobRequest(handle: handle, offset: UInt16(clamping: offset))
            pending[token] = (id, request.opcode, handle)
            write(id, .toPeripheral, request, at: now)
        case .write(let id, let uuid, let value, let token):
            guard let handle = table.valueHandle(of: uuid) else { break }
            let request: ATTPDU =
                token == nil
                ? .writeCommand(handle: handle, value: value) : .writeRequest(handle: handle, value: value)
            if let token { pending[token] = (id, request.opcode, handle) }
            write(id, .toPeripheral, request, at: now)
        case .subscribed(let id, let uuid): writeCCCD(id, uuid, true, at: now)
        case .unsubscribed(let id, let uuid): writeCCCD(id, uuid, false, at: now)
        case .notified, .unavailable, .available: break
        }
        defer { observations = [] }
        return observations
    }

    package mutating func record(_ request: PeripheralRequest, at now: MonotonicInstant) -> [LinkObservation] {
        switch request {
        case .respond(let token, let response): answer(token, response, at: now)
        case .notify(let uuid, let value):
            guard let handle = table.valueHandle(of: uuid) else { break }
            for (id, central) in centrals.sorted(by: { $0.value.connection < $1.value.connection })
            where central.subscriptions.contains(uuid) {
                write(
                    id, .toCentral, .notification(handle: handle, value: Array(value.prefix(central.mtu - 3))), at: now)
            }
        case .disconnect, .advertise: break
        }
        defer { observations = [] }
        return observations
    }

    private mutating func answer(_ token: UInt64, _ response: PeripheralRequest.Response, at now: MonotonicInstant) {
        guard let (id, request, handle) = pending.removeValue(forKey: token) else { return }
        let pdu: ATTPDU =
            switch (response, request) {
            case (.error(let code), _): .errorResponse(request: request, handle: handle, error: ATTErrorCode(code))
            case (.value(let value), .readRequest):
                .readResponse(value: Array(value.prefix((centrals[id]?.mtu ?? ATTPDU.defaultMTU) - 1)))
            case (.value(let value), .readBlobRequest): .readBlobResponse(value: value)
            case (.value, _): .writeResponse
            }
        write(id, .toCentral, pdu, at: now)
    }

    private mutating func writeCCCD(_ id: CentralID, _ uuid: BluetoothUUID, _ on: Bool, at now: MonotonicInstant) {
        if on { centrals[id]?.subscriptions.insert(uuid) } else { centrals[id]?.subscriptions.remove(uuid) }
        guard let value = table.valueHandle(of: uuid), let handle = table.cccdHandle(of: value) else { return }
        exchange(id, .writeRequest(handle: handle, value: [on ? 1 : 0, 0]), .writeResponse, at: now)
    }

    private mutating func exchange(_ id: CentralID, _ request: ATTPDU, _ response: ATTPDU, at now: MonotonicInstant) {
        write(id, .toPeripheral, request, at: now)
        write(id, .toCentral, response, at: now)
    }

    private mutating func write(_ id: CentralID, _ direction: PDUDirection, _ pdu: ATTPDU, at now: MonotonicInstant) {
        write(id, .pdu(direction, pdu.encoded), at: now)
    }

    private mutating func write(_ id: CentralID, _ event: LinkObservation.Event, at now: MonotonicInstant) {
        guard let central = centrals[id] else { return }
        observations.append(LinkObservation(connection: central.connection, at: now, event: event))
    }

    /// The PDUs of a discovery between `GATTClient` and `GATTServer` at MTU 23.
    private static func discovery(of application: GATTApplication) throws(LinkError) -> [(PDUDirection, [UInt8])] {
        var server = try GATTServer(application)
        var client = GATTClient(maximumMTU: ATTPDU.defaultMTU)
        let id = CentralID("")
        let now = MonotonicInstant(nanoseconds: 0)
        var pdus: [(PDUDirection, [UInt8])] = []
        var toServer = (client.handle(.start, at: now) + client.handle(.request(.discover), at: now))[...]
        _ = server.handle(.opened(id), at: now)
        while let effect = toServer.popFirst() {
            guard case .send(let request) = effect else { continue }
            pdus.append((.toPeripheral, request))
            for case .send(_, let response) in server.handle(.received(id, request), at: now) {
                pdus.append((.toCentral, response))
                toServer += client.handle(.received(response), at: now)
            }
        }
        // The MTU exchange is omitted here. It is recorded when the stack reports it.
        return Array(pdus.dropFirst(2))
    }
}
