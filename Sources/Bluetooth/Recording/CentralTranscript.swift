/// Records the GATT operations of a central as ATT PDUs, for links whose stack handles the PDUs (bluetoothd).
///
/// The requests and values are recorded in their order and direction. PDUs of the stack (MTU exchange, discovery) are
/// synthesised as `GATTClient` would send them. The Client Characteristic Configuration is assumed to be at value
/// handle + 1.
package struct CentralTranscript: Sendable {
    private var connection = 0
    private var isConnected = false
    private var commands: Set<UInt16> = []

    package init() {}

    package mutating func record(_ request: CentralRequest, at now: MonotonicInstant) -> [LinkObservation] {
        guard isConnected else { return [] }
        switch request {
        case .read(let handle): return [pdu(.toPeripheral, .readRequest(handle: handle), now)]
        case .write(let handle, let value, withResponse: true):
            commands.remove(handle)
            return [pdu(.toPeripheral, .writeRequest(handle: handle, value: value), now)]
        case .write(let handle, let value, withResponse: false):
            commands.insert(handle)
            return [pdu(.toPeripheral, .writeCommand(handle: handle, value: value), now)]
        case .subscribe(let handle):
            return [pdu(.toPeripheral, .writeRequest(handle: handle &+ 1, value: [1, 0]), now)]
        case .startScan, .stopScan, .connect, .discover, .disconnect, .clearCache, .powerCycle: return []
        }
    }

    package mutating func record(_ event: CentralEvent, at now: MonotonicInstant) -> [LinkObservation] {
        if case .connected = event {
            (connection, isConnected, commands) = (connection + 1, true, [])
            return [LinkObservation(connection: connection, at: now, event: .connected)]
        }
        guard isConnected else { return [] }
        switch event {
        case .mtuChanged(let mtu):
            let size = UInt16(clamping: mtu)
            return exchange(.exchangeMTURequest(mtu: size), .exchangeMTUResponse(mtu: size), now)
        case .discovered(let services): return discovery(services, now)
        case .read(_, let value): return [pdu(.toCentral, .readResponse(value: value), now)]
        case .wrote(let handle): return commands.remove(handle) == nil ? [pdu(.toCentral, .writeResponse, now)] : []
        case .subscribed: return [pdu(.toCentral, .writeResponse, now)]
        case .notification(let handle, let value):
            return [pdu(.toCentral, .notification(handle: handle, value: value), now)]
        case .disconnected:
            isConnected = false
            return [LinkObservation(connection: connection, at: now, event: .disconnected)]
        case .connected, .advertised, .scanFailed, .connectFailed, .discoveryFailed, .readFailed, .writeFailed,
            .subscribeFailed, .recovered, .warning, .unavailable, .available:
            return []
        }
    }

    private func pdu(_ direction: PDUDirection, _ pdu: ATTPDU, _ now: MonotonicInstant) -> LinkObservation {
        LinkObservation(connection: connection, at: now, event: .pdu(direction, pdu.encoded))
    }

    private func exchange(_ request: ATTPDU, _ response: ATTPDU, _ now: MonotonicInstant) -> [LinkObservation] {
        [pdu(.toPeripheral, request, now), pdu(.toCentral, response, now)]
    }

    /// The declarations of services and characteristics (Core 5.4, Vol 3 Part G, 3.1 and 3.3.1): type 2800, and 2803
    /// within each.
    private func discovery(_ services: [RemoteService], _ now: MonotonicInstant) -> [LinkObservation] {
        var observations: [LinkObservation] = []
        let services = services.sorted { $0.handle < $1.handle }
        for (index, service) in services.enumerated() {
            let end = index + 1 < services.count ? max(service.handle, services[index + 1].handle &- 1) : 0xFFFF
            observations += exchange(
                .readByGroupTypeRequest(ATTHandleRange(service.handle, 0xFFFF), type: GATTTable.primaryService),
                .readByGroupTypeResponse([ATTGroupValue(service.handle, end, service.uuid.littleEndian)]), now)
            for characteristic in service.characteristics.sorted(by: { $0.handle < $1.handle })
            where characteristic.handle > 1 {
                let declaration = characteristic.handle - 1
                let value =
                    [characteristic.properties.rawValue] + characteristic.handle.littleEndianBytes(2)
                    + characteristic.uuid.littleEndian
                observations += exchange(
                    .readByTypeRequest(ATTHandleRange(declaration, end), type: GATTTable.characteristic),
                    .readByTypeResponse([ATTHandleValue(declaration, value)]), now)
            }
        }
        return observations
    }
}
