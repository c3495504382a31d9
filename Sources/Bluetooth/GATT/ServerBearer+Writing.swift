// Handles writes. The server handles subscriptions itself. Other writes go to the application as one whole value.
extension ServerBearer {
    private enum Target {
        case value(LocalCharacteristic)
        case cccd(of: UInt16, CharacteristicProperties)
        case refused(ATTErrorCode)
    }

    /// The target of a write to this handle. `property` is the property that this kind of write needs.
    private func target(_ handle: UInt16, _ property: CharacteristicProperties) -> Target {
        switch table[handle]?.content {
        case nil: .refused(.invalidHandle)
        case .value(let characteristic)
        where characteristic.acceptsAnyWrite || characteristic.properties.contains(property):
            .value(characteristic)
        case .cccd(let value, let properties): .cccd(of: value, properties)
        case .value, .service, .fixed: .refused(.writeNotPermitted)
        }
    }

    mutating func write(_ handle: UInt16, _ value: [UInt8]) {
        switch target(handle, .write) {
        case .refused(let error): refuse(.writeRequest, handle, error)
        case .value(let characteristic):
            guard value.count <= ATTPDU.maximumValueLength else {
                return refuse(.writeRequest, handle, .invalidAttributeValueLength)
            }
            let token = begin(.write, handle)
            report(.write(id, characteristic.id, value: value, token: token))
        case .cccd(let valueHandle, let properties):
            if let error = Self.cccdError(value, properties) { return refuse(.writeRequest, handle, error) }
            // Send the response before any notification of this subscription.
            send(.writeResponse)
            setCCCD(valueHandle, value)
        }
    }

    mutating func writeWithoutResponse(_ handle: UInt16, _ value: [UInt8]) {
        switch target(handle, .writeWithoutResponse) {
        case .refused(let error): log("its write without response to handle \(handle) is ignored: \(error)")
        case .value(let characteristic):
            guard value.count <= ATTPDU.maximumValueLength else {
                return log("its write without response of \(value.count) bytes is ignored: over 512")
            }
            report(.write(id, characteristic.id, value: value, token: nil))
        case .cccd(let valueHandle, let properties):
            if let error = Self.cccdError(value, properties) {
                return log("its subscription without response is ignored: \(error)")
            }
            setCCCD(valueHandle, value)
        }
    }

    // MARK: Long writes

    mutating func prepareWrite(_ handle: UInt16, _ offset: UInt16, _ value: [UInt8]) {
        if case .refused(let error) = target(handle, .write) { return refuse(.prepareWriteRequest, handle, error) }
        guard prepareQueue.count < Limit.preparedWrites,
            prepareQueue.reduce(value.count, { $0 + $1.value.count }) <= Limit.preparedBytes
        else {
            log("prepares too many writes; the queue is full")
            return refuse(.prepareWriteRequest, handle, .prepareQueueFull)
        }
        prepareQueue.append(PreparedWrite(handle: handle, offset: Int(offset), value: value))
        send(.prepareWriteResponse(handle: handle, offset: offset, value: value))
    }

    mutating func executeWrite(_ flags: UInt8) {
        let parts = prepareQueue
        // The queue is empty after any Execute Write Request (Vol 3 Part F, 3.4.6.3).
        prepareQueue = []
        guard flags <= 1 else { return refuse(.executeWriteRequest, 0, .invalidPDU) }
        guard flags == 1 else { return send(.executeWriteResponse) }
        do throws(WriteError) {
            let writes = try Self.join(parts)
            for write in writes {
                guard case .cccd(_, let properties) = target(write.handle, .write),
                    let error = Self.cccdError(write.value, properties)
                else { continue }
                throw WriteError(handle: write.handle, error: error)
            }
            execute(writes[...])
        } catch {
            refuse(.executeWriteRequest, error.handle, error.error)
        }
    }

    mutating func execute(_ writes: ArraySlice<ATTHandleValue>) {
        var rest = writes
        while let write = rest.first {
            switch target(write.handle, .write) {
            case .refused(let error): return refuse(.executeWriteRequest, write.handle, error)
            case .cccd(let valueHandle, _): setCCCD(valueHandle, write.value)
            case .value(let characteristic):
                let token = begin(.execute(rest: rest), write.handle)
                return report(.write(id, characteristic.id, value: write.value, token: token))
            }
            rest = rest.dropFirst()
        }
        send(.executeWriteResponse)
    }

    private struct WriteError: Error {
        var handle: UInt16
        var error: ATTErrorCode
    }

    /// Joins the parts of each attribute. A part must start inside or directly after the earlier parts.
    private static func join(_ parts: [PreparedWrite]) throws(WriteError) -> [ATTHandleValue] {
        var writes: [ATTHandleValue] = []
        for part in parts {
            if writes.last?.handle != part.handle || part.offset == 0 && !part.value.isEmpty {
                writes.append(ATTHandleValue(part.handle, []))
            }
            let last = writes.count - 1
            var value = writes[last].value
            guard part.offset <= value.count else { throw WriteError(handle: part.handle, error: .invalidOffset) }
            value.replaceSubrange(part.offset..<min(part.offset + part.value.count, value.count), with: part.value)
            guard value.count <= ATTPDU.maximumValueLength else {
                throw WriteError(handle: part.handle, error: .invalidAttributeValueLength)
            }
            writes[last].value = value
        }
        return writes
    }

    // MARK: Subscriptions

    /// Checks a Client Characteristic Configuration: bit 0 notifications, bit 1 indications, others reserved. The
    /// characteristic's properties must allow the bits.
    private static func cccdError(_ value: [UInt8], _ properties: CharacteristicProperties) -> ATTErrorCode? {
        guard value.count == 2 else { return .invalidAttributeValueLength }
        let supportedBits: UInt8 = (properties.contains(.notify) ? 1 : 0) | (properties.contains(.indicate) ? 2 : 0)
        return value[1] == 0 && value[0] & ~supportedBits == 0 ? nil : .cccdImproperlyConfigured
    }

    private mutating func setCCCD(_ valueHandle: UInt16, _ value: [UInt8]) {
        let newBits = UInt16(value.first ?? 0)
        let oldBits = cccdValues[valueHandle] ?? 0
        cccdValues[valueHandle] = newBits == 0 ? nil : newBits
        guard case .value(let characteristic) = table[valueHandle]?.content, (oldBits == 0) != (newBits == 0) else {
            return
        }
        // The link handles Service Changed itself.
        guard characteristic.uuid != GATTTable.serviceChanged || characteristic.constant == nil else { return }
        report(newBits == 0 ? .unsubscribed(id, characteristic.id) : .subscribed(id, characteristic.id))
    }
}
