/// The discovery of all primary services, their characteristics and descriptors.
///
/// Every response must advance the handles, so that the discovery ends with any server. Source: Core 5.4, Vol 3 Part G,
/// 4.4.1, 4.6.1 and 4.7.1.
struct Discovery: Sendable {
    struct Result: Sendable {
        var properties: [UInt16: CharacteristicProperties] = [:]
        /// The handle of the Client Characteristic Configuration by value handle.
        var cccdHandles: [UInt16: UInt16] = [:]
    }

    private struct Service: Sendable {
        var range: ATTHandleRange
        var uuid: BluetoothUUID
        var characteristics: [Characteristic] = []
    }

    private struct Characteristic: Sendable {
        var declaration: UInt16
        var remote: RemoteCharacteristic
    }

    /// A handle range to search; `next` increases until it passes `last`.
    private struct Search: Sendable {
        var next: Int
        var last: UInt16
        var range: ATTHandleRange? { UInt16(exactly: next).flatMap { $0 <= last ? ATTHandleRange($0, last) : nil } }
    }

    private enum Phase: Sendable {
        case services
        case characteristics(service: Int)
        /// Searches for the descriptors of the characteristic value at handle `of`; `rest` has the remaining searches.
        case descriptors(of: UInt16, rest: ArraySlice<(value: UInt16, range: ATTHandleRange)>)
        case done
    }

    private var phase = Phase.services
    private var search = Search(next: 1, last: 0xFFFF)
    private var found: [Service] = []
    private(set) var result = Result()
    private var responses: Set<ATTPDU> = []

    var services: [RemoteService] {
        found.map {
            RemoteService(uuid: $0.uuid, handle: $0.range.first, characteristics: $0.characteristics.map(\.remote))
        }
    }

    mutating func nextRequest() -> ATTPDU? {
        while true {
            if let range = search.range {
                switch phase {
                case .services: return .readByGroupTypeRequest(range, type: GATTTable.primaryService)
                case .characteristics: return .readByTypeRequest(range, type: GATTTable.characteristic)
                case .descriptors: return .findInformationRequest(range)
                case .done: return nil
                }
            }
            switch phase {
            case .services: searchService(0)
            case .characteristics(let service): searchService(service + 1)
            case .descriptors(_, let rest): searchDescriptors(rest)
            case .done: return nil
            }
        }
    }

    /// Whether a response repeats an earlier one. Each request has a different handle range, and so has its response.
    /// An error for handle 0 names no range.
    func isRepeated(_ pdu: ATTPDU) -> Bool { responses.contains(pdu) }

    /// The peer has no more items in the requested range.
    mutating func nothingFound(_ pdu: ATTPDU) {
        if case .errorResponse(_, let handle, _) = pdu, handle != 0 { responses.insert(pdu) }
        search.next = 0x10000
    }

    mutating func receive(_ pdu: ATTPDU) throws(LinkError) {
        responses.insert(pdu)
        switch (phase, pdu) {
        case (.services, .readByGroupTypeResponse(let groups)):
            for group in groups { try addService(group) }
        case (.characteristics(let service), .readByTypeResponse(let values)):
            for value in values { try addCharacteristic(value, in: service) }
        case (.descriptors(let value, _), .findInformationResponse(let list)):
            for item in list {
                try advance(past: item.handle, to: item.handle, "descriptor")
                if item.type == GATTTable.cccd { result.cccdHandles[value] = item.handle }
            }
        default:
            throw LinkError(.protocolViolation, "unexpected response to a discovery request: \(pdu.opcode)")
        }
    }

    // MARK: Services

    private mutating func addService(_ group: ATTGroupValue) throws(LinkError) {
        guard let uuid = BluetoothUUID(littleEndian: group.value) else {
            throw Self.invalid("a service UUID of \(group.value.count) bytes at handle \(group.handle)")
        }
        try advance(past: group.handle, to: group.end, "service")
        guard found.count < GATTClient.Limit.services else { throw Self.invalid("more than \(found.count) services") }
        found.append(Service(range: ATTHandleRange(group.handle, group.end), uuid: uuid))
    }

    private mutating func searchService(_ index: Int) {
        guard found.indices.contains(index) else {
            return searchDescriptors(descriptorSearches()[...])
        }
        phase = .characteristics(service: index)
        search = Search(next: Int(found[index].range.first) + 1, last: found[index].range.last)
    }

    // MARK: Characteristics

    /// Parses a declaration's value: properties (1), value handle (2), UUID (2 or 16).
    private mutating func addCharacteristic(_ item: ATTHandleValue, in service: Int) throws(LinkError) {
        guard item.value.count >= 5, let uuid = BluetoothUUID(littleEndian: item.value.dropFirst(3)) else {
            throw Self.invalid("a characteristic declaration of \(item.value.count) bytes at handle \(item.handle)")
        }
        let handle = item.value.uint16(at: 1)
        try advance(past: item.handle, to: item.handle, "characteristic")
        guard handle > item.handle, handle <= found[service].range.last, result.properties[handle] == nil else {
            throw Self.invalid("a characteristic at handle \(item.handle) with its value at handle \(handle)")
        }
        guard result.properties.count < GATTClient.Limit.characteristics else {
            throw Self.invalid("more than \(result.properties.count) characteristics")
        }
        let properties = CharacteristicProperties(rawValue: item.value[0])
        result.properties[handle] = properties
        found[service].characteristics.append(
            Characteristic(
                declaration: item.handle,
                remote: RemoteCharacteristic(uuid: uuid, handle: handle, properties: properties)))
    }

    // MARK: Descriptors

    /// The handle ranges of descriptors: from after a value to the next declaration or the end of the service.
    private func descriptorSearches() -> [(value: UInt16, range: ATTHandleRange)] {
        found.flatMap { service in
            service.characteristics.enumerated().compactMap { index, characteristic in
                let value = characteristic.remote.handle
                let next = service.characteristics.dropFirst(index + 1).first?.declaration
                let last = next.map { $0 - 1 } ?? service.range.last
                return value < last ? (value, ATTHandleRange(value + 1, last)) : nil
            }
        }
    }

    private mutating func searchDescriptors(_ rest: ArraySlice<(value: UInt16, range: ATTHandleRange)>) {
        guard let first = rest.first else { return phase = .done }
        phase = .descriptors(of: first.value, rest: rest.dropFirst())
        search = Search(next: Int(first.range.first), last: first.range.last)
    }

    // MARK: Handle order

    /// Advances the search. A found item must be in the requested range and after all earlier ones.
    private mutating func advance(past handle: UInt16, to end: UInt16, _ item: String) throws(LinkError) {
        guard Int(handle) >= search.next, end >= handle, end <= search.last else {
            throw Self.invalid("a \(item) at handles \(handle) to \(end), requested \(search.next) to \(search.last)")
        }
        search.next = Int(end) + 1
    }

    private static func invalid(_ item: String) -> LinkError {
        LinkError(.protocolViolation, "the peer's attribute table is invalid: \(item)")
    }
}

extension GATTClient {
    mutating func advanceDiscovery(at now: MonotonicInstant) {
        guard case .discover(var discovery) = procedure else { return }
        let next = discovery.nextRequest()
        procedure = .discover(discovery)
        if let next { return request(next, at: now) }
        found = discovery.result
        finish(.discovered(discovery.services), at: now)
    }

    mutating func continueDiscovery(_ discovery: Discovery, _ pdu: ATTPDU, at now: MonotonicInstant) {
        var discovery = discovery
        do throws(LinkError) {
            switch pdu {
            // Some servers end a search with an error other than Attribute Not Found. The discovery fails without a
            // service.
            case .errorResponse(_, let handle, let error)
            where error != .attributeNotFound && discovery.services.isEmpty:
                throw Self.refused("discovery", handle, error)
            case .errorResponse: discovery.nothingFound(pdu)
            default: try discovery.receive(pdu)
            }
        } catch {
            return finish(.discoveryFailed(error), at: now)
        }
        procedure = .discover(discovery)
        advanceDiscovery(at: now)
    }
}
