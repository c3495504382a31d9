extension ATTPDU {
    /// Decodes one whole PDU, opcode first. Throws for a PDU that is too short or too long. See `encoded` for layouts.
    package init(decoding bytes: [UInt8]) throws(MalformedPDU) {
        var reader = ByteReader(bytes)
        let opcode = ATTOpcode(try reader.byte("opcode"))
        self = try Self.parameters(of: opcode, &reader)
        try reader.end()
    }

    private static func parameters(of opcode: ATTOpcode, _ reader: inout ByteReader) throws(MalformedPDU) -> ATTPDU {
        switch opcode {
        case .errorResponse:
            .errorResponse(
                request: ATTOpcode(try reader.byte("request opcode")), handle: try reader.uint16("handle"),
                error: ATTErrorCode(try reader.byte("error code")))
        case .exchangeMTURequest: .exchangeMTURequest(mtu: try reader.uint16("MTU"))
        case .exchangeMTUResponse: .exchangeMTUResponse(mtu: try reader.uint16("MTU"))
        case .findInformationRequest: .findInformationRequest(try reader.range())
        case .findInformationResponse: .findInformationResponse(try reader.information())
        case .findByTypeValueRequest:
            .findByTypeValueRequest(try reader.range(), type: try reader.uint16("attribute type"), value: reader.rest())
        case .findByTypeValueResponse: .findByTypeValueResponse(try reader.ranges())
        case .readByTypeRequest: .readByTypeRequest(try reader.range(), type: try reader.uuid("attribute type"))
        case .readByTypeResponse: .readByTypeResponse(try reader.equalLengthValues())
        case .readRequest: .readRequest(handle: try reader.uint16("handle"))
        case .readResponse: .readResponse(value: reader.rest())
        case .readBlobRequest:
            .readBlobRequest(handle: try reader.uint16("handle"), offset: try reader.uint16("value offset"))
        case .readBlobResponse: .readBlobResponse(value: reader.rest())
        case .readMultipleRequest: .readMultipleRequest(handles: try reader.handles())
        case .readMultipleResponse: .readMultipleResponse(values: reader.rest())
        case .readByGroupTypeRequest:
            .readByGroupTypeRequest(try reader.range(), type: try reader.uuid("attribute group type"))
        case .readByGroupTypeResponse: .readByGroupTypeResponse(try reader.groups())
        case .writeRequest: .writeRequest(handle: try reader.uint16("handle"), value: reader.rest())
        case .writeResponse: .writeResponse
        case .writeCommand: .writeCommand(handle: try reader.uint16("handle"), value: reader.rest())
        case .signedWriteCommand: try reader.signedWrite()
        case .prepareWriteRequest:
            .prepareWriteRequest(
                handle: try reader.uint16("handle"), offset: try reader.uint16("value offset"), value: reader.rest())
        case .prepareWriteResponse:
            .prepareWriteResponse(
                handle: try reader.uint16("handle"), offset: try reader.uint16("value offset"), value: reader.rest())
        case .executeWriteRequest: .executeWriteRequest(flags: try reader.byte("flags"))
        case .executeWriteResponse: .executeWriteResponse
        case .readMultipleVariableRequest: .readMultipleVariableRequest(handles: try reader.handles())
        case .readMultipleVariableResponse: .readMultipleVariableResponse(try reader.lengthValues())
        case .notification: .notification(handle: try reader.uint16("handle"), value: reader.rest())
        case .multipleNotification: .multipleNotification(try reader.handleLengthValues())
        case .indication: .indication(handle: try reader.uint16("handle"), value: reader.rest())
        case .confirmation: .confirmation
        default: .unknown(opcode, parameters: reader.rest())
        }
    }
}

extension ByteReader {
    fileprivate mutating func range() throws(MalformedPDU) -> ATTHandleRange {
        ATTHandleRange(try uint16("starting handle"), try uint16("ending handle"))
    }

    fileprivate mutating func ranges() throws(MalformedPDU) -> [ATTHandleRange] {
        try list("handles information list", itemSize: 4) { (reader) throws(MalformedPDU) in
            ATTHandleRange(try reader.uint16("found handle"), try reader.uint16("group end handle"))
        }
    }

    fileprivate mutating func handles() throws(MalformedPDU) -> [UInt16] {
        guard remaining >= 4 else {
            throw MalformedPDU(field: "set of handles", offset: offset, needed: 4, found: remaining)
        }
        return try list("set of handles", itemSize: 2) { (reader) throws(MalformedPDU) in try reader.uint16("handle") }
    }

    /// Decodes the information list. Format 1 has 16-bit types, format 2 has 128-bit types.
    fileprivate mutating func information() throws(MalformedPDU) -> [ATTInformation] {
        let start = offset
        let format = try byte("format")
        guard format == 1 || format == 2 else {
            throw MalformedPDU(field: "format (1 or 2)", offset: start, needed: 1, found: Int(format))
        }
        let typeSize = format == 1 ? 2 : 16
        return try list("information data", itemSize: 2 + typeSize) { (reader) throws(MalformedPDU) in
            let handle = try reader.uint16("handle")
            let at = reader.offset
            guard let type = BluetoothUUID(littleEndian: try reader.bytes(typeSize, "attribute type")) else {
                throw MalformedPDU(field: "attribute type", offset: at, needed: typeSize, found: typeSize)
            }
            return ATTInformation(handle, type)
        }
    }

    /// Decodes a list with one length byte for all items. The length includes the handle.
    fileprivate mutating func equalLengthValues() throws(MalformedPDU) -> [ATTHandleValue] {
        let size = try itemSize(atLeast: 2)
        return try list("attribute data list", itemSize: size) { (reader) throws(MalformedPDU) in
            ATTHandleValue(try reader.uint16("handle"), try reader.bytes(size - 2, "attribute value"))
        }
    }

    fileprivate mutating func groups() throws(MalformedPDU) -> [ATTGroupValue] {
        let size = try itemSize(atLeast: 4)
        return try list("attribute data list", itemSize: size) { (reader) throws(MalformedPDU) in
            ATTGroupValue(
                try reader.uint16("handle"), try reader.uint16("end group handle"),
                try reader.bytes(size - 4, "attribute value"))
        }
    }

    private mutating func itemSize(atLeast least: Int) throws(MalformedPDU) -> Int {
        let start = offset
        let size = Int(try byte("length"))
        guard size >= least else { throw MalformedPDU(field: "length", offset: start, needed: least, found: size) }
        return size
    }

    /// Decodes a list with one length field per value. Only the last value can be shorter than its length.
    fileprivate mutating func lengthValues() throws(MalformedPDU) -> [ATTLengthValue] {
        var list: [ATTLengthValue] = []
        repeat {
            let length = try uint16("value length")
            list.append(ATTLengthValue(length: length, try bytes(min(Int(length), remaining), "attribute value")))
        } while remaining > 0
        return list
    }

    fileprivate mutating func handleLengthValues() throws(MalformedPDU) -> [ATTHandleValue] {
        var list: [ATTHandleValue] = []
        repeat {
            let handle = try uint16("handle")
            let length = try uint16("value length")
            list.append(ATTHandleValue(handle, try bytes(Int(length), "attribute value")))
        } while remaining > 0
        return list
    }

    fileprivate mutating func signedWrite() throws(MalformedPDU) -> ATTPDU {
        let handle = try uint16("handle")
        let value = try bytes(max(0, remaining - 12), "attribute value")
        return .signedWriteCommand(handle: handle, value: value, signature: try bytes(12, "authentication signature"))
    }
}
