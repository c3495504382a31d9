/// A PDU of the Attribute Protocol (Bluetooth Core 5.4, Vol 3 Part F, 3.4). All fields are little-endian.
///
/// Every PDU that GATT uses has a case. Other PDUs are `unknown`.
package enum ATTPDU: Hashable, Sendable {
    case errorResponse(request: ATTOpcode, handle: UInt16, error: ATTErrorCode)
    /// `mtu`: the largest PDU that the client can receive, in bytes.
    case exchangeMTURequest(mtu: UInt16)
    case exchangeMTUResponse(mtu: UInt16)
    case findInformationRequest(ATTHandleRange)
    case findInformationResponse([ATTInformation])
    case findByTypeValueRequest(ATTHandleRange, type: UInt16, value: [UInt8])
    /// Each range starts at a matching attribute and ends at the last attribute of its group.
    case findByTypeValueResponse([ATTHandleRange])
    case readByTypeRequest(ATTHandleRange, type: BluetoothUUID)
    /// The items, at least one; all values have the same length.
    case readByTypeResponse([ATTHandleValue])
    case readRequest(handle: UInt16)
    case readResponse(value: [UInt8])
    case readBlobRequest(handle: UInt16, offset: UInt16)
    case readBlobResponse(value: [UInt8])
    case readMultipleRequest(handles: [UInt16])
    /// The concatenated values. The client must know their lengths.
    case readMultipleResponse(values: [UInt8])
    case readByGroupTypeRequest(ATTHandleRange, type: BluetoothUUID)
    /// The items, at least one; all values have the same length.
    case readByGroupTypeResponse([ATTGroupValue])
    case writeRequest(handle: UInt16, value: [UInt8])
    case writeResponse
    case writeCommand(handle: UInt16, value: [UInt8])
    /// `signature` has 12 bytes.
    case signedWriteCommand(handle: UInt16, value: [UInt8], signature: [UInt8])
    case prepareWriteRequest(handle: UInt16, offset: UInt16, value: [UInt8])
    case prepareWriteResponse(handle: UInt16, offset: UInt16, value: [UInt8])
    /// `flags` is 0 to cancel the prepared writes, 1 to execute them.
    case executeWriteRequest(flags: UInt8)
    case executeWriteResponse
    case readMultipleVariableRequest(handles: [UInt16])
    case readMultipleVariableResponse([ATTLengthValue])
    case notification(handle: UInt16, value: [UInt8])
    case multipleNotification([ATTHandleValue])
    case indication(handle: UInt16, value: [UInt8])
    case confirmation
    case unknown(ATTOpcode, parameters: [UInt8])

    /// The ATT MTU before an exchange, in bytes.
    package static let defaultMTU = 23
    /// The largest useful MTU: a value of 512 bytes and the longest header.
    package static let maximumMTU = 517
    /// The maximum length of an attribute value, in bytes.
    package static let maximumValueLength = 512

    package var opcode: ATTOpcode {
        switch self {
        case .errorResponse: .errorResponse
        case .exchangeMTURequest: .exchangeMTURequest
        case .exchangeMTUResponse: .exchangeMTUResponse
        case .findInformationRequest: .findInformationRequest
        case .findInformationResponse: .findInformationResponse
        case .findByTypeValueRequest: .findByTypeValueRequest
        case .findByTypeValueResponse: .findByTypeValueResponse
        case .readByTypeRequest: .readByTypeRequest
        case .readByTypeResponse: .readByTypeResponse
        case .readRequest: .readRequest
        case .readResponse: .readResponse
        case .readBlobRequest: .readBlobRequest
        case .readBlobResponse: .readBlobResponse
        case .readMultipleRequest: .readMultipleRequest
        case .readMultipleResponse: .readMultipleResponse
        case .readByGroupTypeRequest: .readByGroupTypeRequest
        case .readByGroupTypeResponse: .readByGroupTypeResponse
        case .writeRequest: .writeRequest
        case .writeResponse: .writeResponse
        case .writeCommand: .writeCommand
        case .signedWriteCommand: .signedWriteCommand
        case .prepareWriteRequest: .prepareWriteRequest
        case .prepareWriteResponse: .prepareWriteResponse
        case .executeWriteRequest: .executeWriteRequest
        case .executeWriteResponse: .executeWriteResponse
        case .readMultipleVariableRequest: .readMultipleVariableRequest
        case .readMultipleVariableResponse: .readMultipleVariableResponse
        case .notification: .notification
        case .multipleNotification: .multipleNotification
        case .indication: .indication
        case .confirmation: .confirmation
        case .unknown(let opcode, _): opcode
        }
    }
}

/// A handle range of a request or response. The server validates it.
package struct ATTHandleRange: Hashable, Sendable {
    package var first: UInt16
    package var last: UInt16
    package init(_ first: UInt16, _ last: UInt16) {
        self.first = first
        self.last = last
    }
}

package struct ATTInformation: Hashable, Sendable {
    package var handle: UInt16
    package var type: BluetoothUUID
    package init(_ handle: UInt16, _ type: BluetoothUUID) {
        self.handle = handle
        self.type = type
    }
}

package struct ATTHandleValue: Hashable, Sendable {
    package var handle: UInt16
    /// The value, truncated to the PDU's size.
    package var value: [UInt8]
    package init(_ handle: UInt16, _ value: [UInt8]) {
        self.handle = handle
        self.value = value
    }
}

package struct ATTGroupValue: Hashable, Sendable {
    package var handle: UInt16
    package var end: UInt16
    /// The value of the declaration: the service's UUID.
    package var value: [UInt8]
    package init(_ handle: UInt16, _ end: UInt16, _ value: [UInt8]) {
        self.handle = handle
        self.end = end
        self.value = value
    }
}

/// A value of a Read Multiple Variable Response. A truncated last value has less than `length` bytes.
package struct ATTLengthValue: Hashable, Sendable {
    /// The length of the whole value, in bytes.
    package var length: UInt16
    package var value: [UInt8]
    package init(length: UInt16, _ value: [UInt8]) {
        self.length = length
        self.value = value
    }
}
