/// One PDU of the Attribute Protocol (Bluetooth Core 5.4, Vol 3 Part F, 3.4): opcode and what follows, all
/// little-endian.
///
/// Every PDU that GATT uses has a case; whatever else arrives survives as `unknown`.
package enum ATTPDU: Hashable, Sendable {
    case errorResponse(request: ATTOpcode, handle: UInt16, error: ATTErrorCode)
    /// The largest PDU that the client takes, in bytes.
    case exchangeMTURequest(mtu: UInt16)
    case exchangeMTUResponse(mtu: UInt16)
    case findInformationRequest(ATTHandleRange)
    case findInformationResponse([ATTInformation])
    /// Attributes of a 16-bit type with exactly this value.
    case findByTypeValueRequest(ATTHandleRange, type: UInt16, value: [UInt8])
    /// From each found attribute to the end of its group.
    case findByTypeValueResponse([ATTHandleRange])
    case readByTypeRequest(ATTHandleRange, type: BluetoothUUID)
    /// Not empty, all values of one length.
    case readByTypeResponse([ATTHandleValue])
    case readRequest(handle: UInt16)
    case readResponse(value: [UInt8])
    case readBlobRequest(handle: UInt16, offset: UInt16)
    case readBlobResponse(value: [UInt8])
    /// At least two handles.
    case readMultipleRequest(handles: [UInt16])
    /// The values one after the other; only who asked knows where one ends.
    case readMultipleResponse(values: [UInt8])
    case readByGroupTypeRequest(ATTHandleRange, type: BluetoothUUID)
    /// Not empty, all values of one length.
    case readByGroupTypeResponse([ATTGroupValue])
    case writeRequest(handle: UInt16, value: [UInt8])
    case writeResponse
    case writeCommand(handle: UInt16, value: [UInt8])
    /// `signature` has 12 bytes.
    case signedWriteCommand(handle: UInt16, value: [UInt8], signature: [UInt8])
    case prepareWriteRequest(handle: UInt16, offset: UInt16, value: [UInt8])
    case prepareWriteResponse(handle: UInt16, offset: UInt16, value: [UInt8])
    /// 0: forget everything prepared; 1: write it.
    case executeWriteRequest(flags: UInt8)
    case executeWriteResponse
    /// At least two handles.
    case readMultipleVariableRequest(handles: [UInt16])
    case readMultipleVariableResponse([ATTLengthValue])
    case notification(handle: UInt16, value: [UInt8])
    case multipleNotification([ATTHandleValue])
    case indication(handle: UInt16, value: [UInt8])
    case confirmation
    /// An opcode that this codec does not know, with everything after it.
    case unknown(ATTOpcode, parameters: [UInt8])

    /// The ATT MTU before (or without) an exchange, in bytes.
    package static let defaultMTU = 23
    /// The largest MTU of use: a whole attribute value and the header around it.
    package static let maximumMTU = 517
    /// No attribute value is longer, in bytes.
    package static let maximumValueLength = 512

    /// Its first byte on the wire.
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

/// Handles `first...last` as a request or response names them; whether they make sense is the server's question.
package struct ATTHandleRange: Hashable, Sendable {
    /// The first handle that is meant.
    package var first: UInt16
    /// The last handle that is meant, itself included.
    package var last: UInt16
    /// From the first through the last.
    package init(_ first: UInt16, _ last: UInt16) {
        self.first = first
        self.last = last
    }
}

/// An attribute's handle and type.
package struct ATTInformation: Hashable, Sendable {
    /// The attribute's handle.
    package var handle: UInt16
    /// The attribute's type.
    package var type: BluetoothUUID
    /// An attribute of that type at that handle.
    package init(_ handle: UInt16, _ type: BluetoothUUID) {
        self.handle = handle
        self.type = type
    }
}

/// An attribute's handle and value.
package struct ATTHandleValue: Hashable, Sendable {
    /// The attribute's handle.
    package var handle: UInt16
    /// The value, or as much of it as fits into the PDU.
    package var value: [UInt8]
    /// A value at that handle.
    package init(_ handle: UInt16, _ value: [UInt8]) {
        self.handle = handle
        self.value = value
    }
}

/// A group (a service): the handle of its declaration, its last handle, the declaration's value.
package struct ATTGroupValue: Hashable, Sendable {
    /// Handle of the group's declaration.
    package var handle: UInt16
    /// Handle of its last attribute.
    package var end: UInt16
    /// Value of the declaration: a service's UUID.
    package var value: [UInt8]
    /// A group from its declaration through its last attribute.
    package init(_ handle: UInt16, _ end: UInt16, _ value: [UInt8]) {
        self.handle = handle
        self.end = end
        self.value = value
    }
}

/// A value of a Read Multiple Variable Response. The last one may be cut: then `length` is more than `value.count`.
package struct ATTLengthValue: Hashable, Sendable {
    /// The length of the whole value, in bytes.
    package var length: UInt16
    /// As much of the value as came.
    package var value: [UInt8]
    /// A value, and the length that the server says it has.
    package init(length: UInt16, _ value: [UInt8]) {
        self.length = length
        self.value = value
    }
}
