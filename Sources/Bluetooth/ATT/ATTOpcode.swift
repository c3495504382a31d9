/// The first byte of an ATT PDU (Bluetooth Core 5.4, Vol 3 Part F, 3.4.8).
///
/// ```
/// bit 7: an authentication signature follows · bit 6: a command without response · bits 0-5: the method
/// ```
package struct ATTOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package init(_ rawValue: UInt8) { self.rawValue = rawValue }

    package static let errorResponse = Self(0x01)
    package static let exchangeMTURequest = Self(0x02)
    package static let exchangeMTUResponse = Self(0x03)
    package static let findInformationRequest = Self(0x04)
    package static let findInformationResponse = Self(0x05)
    package static let findByTypeValueRequest = Self(0x06)
    package static let findByTypeValueResponse = Self(0x07)
    package static let readByTypeRequest = Self(0x08)
    package static let readByTypeResponse = Self(0x09)
    package static let readRequest = Self(0x0A)
    package static let readResponse = Self(0x0B)
    package static let readBlobRequest = Self(0x0C)
    package static let readBlobResponse = Self(0x0D)
    package static let readMultipleRequest = Self(0x0E)
    package static let readMultipleResponse = Self(0x0F)
    package static let readByGroupTypeRequest = Self(0x10)
    package static let readByGroupTypeResponse = Self(0x11)
    package static let writeRequest = Self(0x12)
    package static let writeResponse = Self(0x13)
    package static let prepareWriteRequest = Self(0x16)
    package static let prepareWriteResponse = Self(0x17)
    package static let executeWriteRequest = Self(0x18)
    package static let executeWriteResponse = Self(0x19)
    package static let notification = Self(0x1B)
    package static let indication = Self(0x1D)
    package static let confirmation = Self(0x1E)
    /// Reads several values; the response has the length of each.
    package static let readMultipleVariableRequest = Self(0x20)
    package static let readMultipleVariableResponse = Self(0x21)
    /// Several notifications in one PDU, each with its handle and length.
    package static let multipleNotification = Self(0x23)
    package static let writeCommand = Self(0x52)
    package static let signedWriteCommand = Self(0xD2)

    package var isCommand: Bool { rawValue & 0x40 != 0 }

    /// The response to this request; `nil` if this is not a request.
    package var response: ATTOpcode? {
        Self.requests.contains(self) ? ATTOpcode(rawValue + 1) : nil
    }

    package var isResponse: Bool {
        self == .errorResponse || (rawValue > 0 && Self.requests.contains(ATTOpcode(rawValue - 1)))
    }

    private static let requests: Set<ATTOpcode> = [
        .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
        .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
        .executeWriteRequest, .readMultipleVariableRequest,
    ]

    private static let names: [ATTOpcode: String] = [
        .errorResponse: "Error Response",
        .exchangeMTURequest: "Exchange MTU Request", .exchangeMTUResponse: "Exchange MTU Response",
        .findInformationRequest: "Find Information Request", .findInformationResponse: "Find Information Response",
        .findByTypeValueRequest: "Find By Type Value Request", .findByTypeValueResponse: "Find By Type Value Response",
        .readByTypeRequest: "Read By Type Request", .readByTypeResponse: "Read By Type Response",
        .readRequest: "Read Request", .readResponse: "Read Response",
        .readBlobRequest: "Read Blob Request", .readBlobResponse: "Read Blob Response",
        .readMultipleRequest: "Read Multiple Request", .readMultipleResponse: "Read Multiple Response",
        .readByGroupTypeRequest: "Read By Group Type Request", .readByGroupTypeResponse: "Read By Group Type Response",
        .writeRequest: "Write Request", .writeResponse: "Write Response",
        .prepareWriteRequest: "Prepare Write Request", .prepareWriteResponse: "Prepare Write Response",
        .executeWriteRequest: "Execute Write Request", .executeWriteResponse: "Execute Write Response",
        .notification: "Handle Value Notification", .indication: "Handle Value Indication",
        .confirmation: "Handle Value Confirmation",
        .readMultipleVariableRequest: "Read Multiple Variable Request",
        .readMultipleVariableResponse: "Read Multiple Variable Response",
        .multipleNotification: "Multiple Handle Value Notification",
        .writeCommand: "Write Command", .signedWriteCommand: "Signed Write Command",
    ]
}

extension ATTOpcode: CustomStringConvertible {
    /// The name from the specification, such as `Write Request`, or `Opcode 0x7F` for an unknown opcode.
    package var description: String {
        Self.names[self] ?? "Opcode 0x" + rawValue.hexDigits
    }
}
