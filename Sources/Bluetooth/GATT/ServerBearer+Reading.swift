// Serves discovery and reads: from the table if it has the bytes, else from the application, one request at a time.
extension ServerBearer {
    private enum Source {
        case bytes([UInt8])
        case application(LocalCharacteristic)
        case refused(ATTErrorCode)
    }

    private func source(_ handle: UInt16) -> Source {
        guard let attribute = table[handle] else { return .refused(.invalidHandle) }
        switch attribute.content {
        case .service(let uuid, _): return .bytes(uuid.littleEndian)
        case .fixed(let bytes): return .bytes(bytes)
        case .cccd(let value, _): return .bytes((cccdValues[value] ?? 0).littleEndianBytes(2))
        case .value(let characteristic):
            guard characteristic.properties.contains(.read) || characteristic.acceptsAnyRead else {
                return .refused(.readNotPermitted)
            }
            return characteristic.constant.map { .bytes($0) } ?? .application(characteristic)
        }
    }

    private mutating func requestValue(
        _ characteristic: LocalCharacteristic, offset: Int = 0, _ step: Transaction.Step, _ handle: UInt16
    ) {
        let token = begin(step, handle)
        report(.read(id, characteristic.id, offset: offset, token: token))
    }

    func truncated(_ value: [UInt8]) -> [UInt8] { Array(value.prefix(mtu - 1)) }

    mutating func read(_ handle: UInt16) {
        switch source(handle) {
        case .refused(let error): refuse(.readRequest, handle, error)
        case .bytes(let value): send(.readResponse(value: truncated(value)))
        case .application(let characteristic):
            longRead = nil
            requestValue(characteristic, .read, handle)
        }
    }

    mutating func readBlob(_ handle: UInt16, _ offset: Int) {
        switch source(handle) {
        case .refused(let error): refuse(.readBlobRequest, handle, error)
        case .bytes(let value): sendBlob(value, handle, offset)
        case .application(let characteristic):
            if offset > 0, let longRead, longRead.handle == handle { return sendBlob(longRead.value, handle, offset) }
            requestValue(characteristic, offset: offset, .blob(isPartial: offset > 0), handle)
        }
    }

    /// Sends a part of a long value. An offset at the end gives an empty part; a larger offset is an error.
    private mutating func sendBlob(_ value: [UInt8], _ handle: UInt16, _ offset: Int) {
        guard offset <= value.count else { return refuse(.readBlobRequest, handle, .invalidOffset) }
        send(.readBlobResponse(value: truncated(Array(value[offset...]))))
    }

    /// Reads the values of several attributes. If the application must supply a value, this method returns, and is
    /// called again with the application's response.
    /// - Parameters:
    ///   - initialValues: the values read so far.
    ///   - handles: the handles of the other attributes.
    mutating func readMultiple(_ initialValues: [[UInt8]], _ handles: ArraySlice<UInt16>, isVariable: Bool) {
        var values = initialValues
        var rest = handles
        while let handle = rest.first {
            let step = Transaction.Step.multiple(values: values, rest: rest, isVariable: isVariable)
            switch source(handle) {
            case .refused(let error): return refuse(step.request, handle, error)
            case .bytes(let value): values.append(value)
            case .application(let characteristic): return requestValue(characteristic, step, handle)
            }
            rest = rest.dropFirst()
        }
        guard isVariable else { return send(.readMultipleResponse(values: truncated(Array(values.joined())))) }
        let capacity = mtu - 1
        var list: [ATTLengthValue] = []
        var used = 0
        for value in values where used + 2 < capacity || list.isEmpty {
            let part = Array(value.prefix(capacity - used - 2))
            list.append(ATTLengthValue(length: UInt16(clamping: value.count), part))
            used += 2 + part.count
        }
        send(.readMultipleVariableResponse(list))
    }

    // MARK: Discovery

    /// The attributes of a range, or `nil` after an error response: a range is invalid if it is empty or starts at 0.
    private mutating func attributes(_ range: ATTHandleRange, _ request: ATTOpcode) -> ArraySlice<GATTTable.Attribute>?
    {
        if range.first > 0, range.first <= range.last { return table.attributes(in: range) }
        refuse(request, range.first, .invalidHandle)
        return nil
    }

    /// Sends a list of attributes, or an error if it is empty.
    private mutating func send<Item>(
        _ list: [Item], of range: ATTHandleRange, _ request: ATTOpcode, _ response: ([Item]) -> ATTPDU
    ) {
        if list.isEmpty { refuse(request, range.first, .attributeNotFound) } else { send(response(list)) }
    }

    /// The longest value of a Read By Type Response: its length byte includes the handle.
    var maximumReadByTypeLength: Int { min(mtu - 4, 253) }

    mutating func readByType(_ range: ATTHandleRange, _ type: BluetoothUUID) {
        guard let attributes = attributes(range, .readByTypeRequest) else { return }
        var found: [ATTHandleValue] = []
        list: for attribute in attributes where attribute.type == type {
            switch source(attribute.handle) {
            // Only the first attribute can cause an error or a request (Vol 3 Part F, 3.4.4.1).
            case .refused where !found.isEmpty, .application where !found.isEmpty: break list
            case .refused(let error): return refuse(.readByTypeRequest, attribute.handle, error)
            case .application(let characteristic): return requestValue(characteristic, .byType, attribute.handle)
            case .bytes(let bytes):
                let value = Array(bytes.prefix(maximumReadByTypeLength))
                guard found.first.map({ $0.value.count == value.count }) ?? true,
                    2 + (found.count + 1) * (2 + value.count) <= mtu
                else { break list }
                found.append(ATTHandleValue(attribute.handle, value))
            }
        }
        send(found, of: range, .readByTypeRequest) { .readByTypeResponse($0) }
    }

    mutating func findInformation(_ range: ATTHandleRange) {
        guard let attributes = attributes(range, .findInformationRequest) else { return }
        var found: [ATTInformation] = []
        for attribute in attributes {
            let isShort = attribute.type.short != nil
            // The response has one format, so the list ends before a type of the other size.
            guard found.first.map({ ($0.type.short != nil) == isShort }) ?? true,
                2 + (found.count + 1) * (isShort ? 4 : 18) <= mtu
            else { break }
            found.append(ATTInformation(attribute.handle, attribute.type))
        }
        send(found, of: range, .findInformationRequest) { .findInformationResponse($0) }
    }

    mutating func findByTypeValue(_ range: ATTHandleRange, _ type: UInt16, _ value: [UInt8]) {
        guard let attributes = attributes(range, .findByTypeValueRequest) else { return }
        var found: [ATTHandleRange] = []
        for attribute in attributes where attribute.type == BluetoothUUID(type) {
            guard 1 + (found.count + 1) * 4 <= mtu else { break }
            switch attribute.content {
            // A request can have a UUID in its 16-bit or 128-bit form.
            case .service(let uuid, let end) where BluetoothUUID(littleEndian: value) == uuid:
                found.append(ATTHandleRange(attribute.handle, end))
            case .fixed(let bytes) where bytes == value:
                found.append(ATTHandleRange(attribute.handle, attribute.handle))
            default: continue
            }
        }
        send(found, of: range, .findByTypeValueRequest) { .findByTypeValueResponse($0) }
    }

    mutating func readByGroupType(_ range: ATTHandleRange, _ type: BluetoothUUID) {
        guard let attributes = attributes(range, .readByGroupTypeRequest) else { return }
        guard type == GATTTable.primaryService || type == GATTTable.secondaryService else {
            return refuse(.readByGroupTypeRequest, range.first, .unsupportedGroupType)
        }
        var found: [ATTGroupValue] = []
        for attribute in attributes where attribute.type == type {
            guard case .service(let uuid, let end) = attribute.content else { continue }
            let value = uuid.littleEndian
            guard found.first.map({ $0.value.count == value.count }) ?? true,
                2 + (found.count + 1) * (4 + value.count) <= mtu
            else { break }
            found.append(ATTGroupValue(attribute.handle, end, value))
        }
        send(found, of: range, .readByGroupTypeRequest) { .readByGroupTypeResponse($0) }
    }
}
