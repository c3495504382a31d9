/// The first byte of an ATT PDU (Bluetooth Core 5.4, Vol 3 Part F, 3.4.8): an open set.
///
/// ```
/// bit 7: an authentication signature follows · bit 6: a command, never answered · bits 0-5: the method
/// ```
package struct ATTOpcode: RawRepresentable, Hashable, Sendable {
    /// The byte as it stands in the PDU.
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The opcode of that byte, known or not.
    package init(_ rawValue: UInt8) { self.rawValue = rawValue }

    /// Server: a request was refused, with handle and `ATTErrorCode`.
    package static let errorResponse = Self(0x01)
    /// Client: the largest PDU that it takes.
    package static let exchangeMTURequest = Self(0x02)
    /// Server: the largest PDU that it takes.
    package static let exchangeMTUResponse = Self(0x03)
    /// Client: handles and types of a range.
    package static let findInformationRequest = Self(0x04)
    /// Server: pairs of handle and type.
    package static let findInformationResponse = Self(0x05)
    /// Client: groups of a type with a given value.
    package static let findByTypeValueRequest = Self(0x06)
    /// Server: handle ranges of these groups.
    package static let findByTypeValueResponse = Self(0x07)
    /// Client: attributes of a type with their values.
    package static let readByTypeRequest = Self(0x08)
    /// Server: handles with values of one length.
    package static let readByTypeResponse = Self(0x09)
    /// Client: the value at a handle.
    package static let readRequest = Self(0x0A)
    /// Server: the value, from its beginning.
    package static let readResponse = Self(0x0B)
    /// Client: a value from an offset on.
    package static let readBlobRequest = Self(0x0C)
    /// Server: the value from that offset on.
    package static let readBlobResponse = Self(0x0D)
    /// Client: several values of known lengths.
    package static let readMultipleRequest = Self(0x0E)
    /// Server: these values without boundaries.
    package static let readMultipleResponse = Self(0x0F)
    /// Client: the groups (services) of a range.
    package static let readByGroupTypeRequest = Self(0x10)
    /// Server: groups with their last handles and values.
    package static let readByGroupTypeResponse = Self(0x11)
    /// Client: a value that is to be confirmed.
    package static let writeRequest = Self(0x12)
    /// Server: the value was written.
    package static let writeResponse = Self(0x13)
    /// Client: a part of a long value, to be kept until it is executed.
    package static let prepareWriteRequest = Self(0x16)
    /// Server: the part, repeated for comparison.
    package static let prepareWriteResponse = Self(0x17)
    /// Client: write what was prepared, or drop it.
    package static let executeWriteRequest = Self(0x18)
    /// Server: done.
    package static let executeWriteResponse = Self(0x19)
    /// Server: a value by itself, never confirmed.
    package static let notification = Self(0x1B)
    /// Server: a value by itself, to be confirmed.
    package static let indication = Self(0x1D)
    /// Client: an indication has arrived.
    package static let confirmation = Self(0x1E)
    /// Client: several values, each with its length.
    package static let readMultipleVariableRequest = Self(0x20)
    /// Server: these values, each behind its length.
    package static let readMultipleVariableResponse = Self(0x21)
    /// Server: several values by themselves, each with handle and length.
    package static let multipleNotification = Self(0x23)
    /// Client: a value that is never confirmed.
    package static let writeCommand = Self(0x52)
    /// Client: a value with a signature, never confirmed.
    package static let signedWriteCommand = Self(0xD2)

    /// Commands are never answered, known or not.
    package var isCommand: Bool { rawValue & 0x40 != 0 }

    /// The response that this request asks for; `nil` for everything that is no request.
    package var response: ATTOpcode? {
        Self.requests.contains(self) ? ATTOpcode(rawValue + 1) : nil
    }

    /// Whether this answers a request: a response, or the error response.
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
    /// The specification's name: `Write Request`; `Opcode 0x7F` where it has none.
    package var description: String {
        Self.names[self] ?? "Opcode 0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
    }
}
