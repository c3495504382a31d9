// Decodes PDUs, and answers requests that only need the table.
extension GATTServer {
    mutating func receive(_ bytes: [UInt8], on bearer: Int, at now: MonotonicInstant) {
        let opcode = ATTOpcode(bytes.first ?? 0)
        let pdu: ATTPDU
        do throws(MalformedPDU) {
            guard bytes.count <= bearers[bearer].mtu else {
                throw MalformedPDU(what: "a PDU of the MTU", offset: 0, needed: bearers[bearer].mtu, found: bytes.count)
            }
            pdu = try ATTPDU(decoding: bytes)
        } catch {
            log("sent a malformed \(bytes.isEmpty ? "PDU" : "\(opcode)"): \(error)", on: bearer)
            if opcode.response != nil { refuse(opcode, 0, .invalidPDU, on: bearer) }
            return
        }
        guard opcode.response != nil else { return receiveOther(pdu, on: bearer, at: now) }
        // ATT is sequential (Vol 3 Part F, 3.3.2). Requests of a client that does not wait are queued, up to a limit.
        guard bearers[bearer].transaction != nil else { return serve(pdu, on: bearer, at: now) }
        guard bearers[bearer].waiting.count < Limit.waitingRequests else {
            return close(bearer, because: "sends requests without waiting for the responses")
        }
        bearers[bearer].waiting.append(pdu)
    }

    private mutating func receiveOther(_ pdu: ATTPDU, on bearer: Int, at now: MonotonicInstant) {
        switch pdu {
        case .writeCommand(let handle, let value):
            writeWithoutResponse(handle, value, on: bearer, at: now)
        case .confirmation:
            confirm(bearer, at: now)
        case .indication:
            log("sent an indication to a server; confirmed and ignored", on: bearer)
            send(.confirmation, on: bearer)
        case .unknown(let opcode, _) where !opcode.isCommand:
            log("sent the unknown request \(opcode)", on: bearer)
            refuse(opcode, 0, .requestNotSupported, on: bearer)
        default:
            log("sent \(pdu.opcode), which is not for a server; ignored", on: bearer)
        }
    }

    mutating func serve(_ pdu: ATTPDU, on bearer: Int, at now: MonotonicInstant) {
        switch pdu {
        case .exchangeMTURequest(let mtu): exchangeMTU(Int(mtu), on: bearer)
        case .findInformationRequest(let range): findInformation(range, on: bearer)
        case .findByTypeValueRequest(let range, let type, let value): findByTypeValue(range, type, value, on: bearer)
        case .readByTypeRequest(let range, let type): readByType(range, type, on: bearer, at: now)
        case .readByGroupTypeRequest(let range, let type): readByGroupType(range, type, on: bearer)
        case .readRequest(let handle): read(handle, on: bearer, at: now)
        case .readBlobRequest(let handle, let offset): readBlob(handle, Int(offset), on: bearer, at: now)
        case .readMultipleRequest(let handles): readMultiple(handles, variable: false, on: bearer, at: now)
        case .readMultipleVariableRequest(let handles): readMultiple(handles, variable: true, on: bearer, at: now)
        case .writeRequest(let handle, let value): write(handle, value, on: bearer, at: now)
        case .prepareWriteRequest(let handle, let offset, let value): prepareWrite(handle, offset, value, on: bearer)
        case .executeWriteRequest(let flags): executeWrite(flags, on: bearer, at: now)
        default: refuse(pdu.opcode, 0, .requestNotSupported, on: bearer)
        }
    }

    /// Sets the MTU to the smaller of both, but at least 23 (Vol 3 Part F, 3.4.2).
    private mutating func exchangeMTU(_ theirs: Int, on bearer: Int) {
        send(.exchangeMTUResponse(mtu: UInt16(maximumMTU)), on: bearer)
        let mtu = max(ATTPDU.defaultMTU, min(theirs, maximumMTU))
        guard mtu != bearers[bearer].mtu else { return }
        bearers[bearer].mtu = mtu
        emit(.event(.mtuChanged(bearers[bearer].id, mtu)))
    }

    /// Checks a handle range. It is invalid if it is empty or starts at handle 0.
    private mutating func check(_ range: ATTHandleRange, _ opcode: ATTOpcode, on bearer: Int) -> Bool {
        if range.first > 0, range.first <= range.last { return true }
        refuse(opcode, range.first, .invalidHandle, on: bearer)
        return false
    }

    private mutating func findInformation(_ range: ATTHandleRange, on bearer: Int) {
        guard check(range, .findInformationRequest, on: bearer) else { return }
        var found: [ATTInformation] = []
        for attribute in table.attributes(in: range) {
            let isShort = attribute.type.short != nil
            // The response has one format, so the list ends before a type of the other size.
            guard found.first.map({ ($0.type.short != nil) == isShort }) ?? true else { break }
            guard 2 + (found.count + 1) * (isShort ? 4 : 18) <= bearers[bearer].mtu else { break }
            found.append(ATTInformation(attribute.handle, attribute.type))
        }
        guard !found.isEmpty else {
            return refuse(.findInformationRequest, range.first, .attributeNotFound, on: bearer)
        }
        send(.findInformationResponse(found), on: bearer)
    }

    private mutating func findByTypeValue(_ range: ATTHandleRange, _ type: UInt16, _ value: [UInt8], on bearer: Int) {
        guard check(range, .findByTypeValueRequest, on: bearer) else { return }
        var found: [ATTHandleRange] = []
        for attribute in table.attributes(in: range) where attribute.type == BluetoothUUID(type) {
            guard 1 + (found.count + 1) * 4 <= bearers[bearer].mtu else { break }
            switch attribute.content {
            // A request can have a UUID in its 16-bit or 128-bit form.
            case .service(let uuid, let end) where BluetoothUUID(littleEndian: value) == uuid:
                found.append(ATTHandleRange(attribute.handle, end))
            case .fixed(let bytes) where bytes == value:
                found.append(ATTHandleRange(attribute.handle, attribute.handle))
            default: continue
            }
        }
        guard !found.isEmpty else {
            return refuse(.findByTypeValueRequest, range.first, .attributeNotFound, on: bearer)
        }
        send(.findByTypeValueResponse(found), on: bearer)
    }

    private mutating func readByGroupType(_ range: ATTHandleRange, _ type: BluetoothUUID, on bearer: Int) {
        guard check(range, .readByGroupTypeRequest, on: bearer) else { return }
        guard type == GATTTable.primaryService || type == GATTTable.secondaryService else {
            return refuse(.readByGroupTypeRequest, range.first, .unsupportedGroupType, on: bearer)
        }
        var found: [ATTGroupValue] = []
        for attribute in table.attributes(in: range) where attribute.type == type {
            guard case .service(let uuid, let end) = attribute.content else { continue }
            let value = uuid.littleEndian
            guard found.first.map({ $0.value.count == value.count }) ?? true,
                2 + (found.count + 1) * (4 + value.count) <= bearers[bearer].mtu
            else { break }
            found.append(ATTGroupValue(attribute.handle, end, value))
        }
        guard !found.isEmpty else {
            return refuse(.readByGroupTypeRequest, range.first, .attributeNotFound, on: bearer)
        }
        send(.readByGroupTypeResponse(found), on: bearer)
    }
}
