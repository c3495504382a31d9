/// The first byte of an ATT PDU (Bluetooth Core 5.4, Vol 3 Part F, 3.4.8): an open set.
///
/// ```
/// bit 7: an authentication signature follows · bit 6: a command, never answered · bits 0-5: the method
/// ```
public struct ATTOpcode: RawRepresentable, Hashable, Sendable {
    /// The byte as it stands in the PDU.
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The opcode of that byte, known or not.
    public init(_ rawValue: UInt8) { self.rawValue = rawValue }

    /// Server: a request was refused, with handle and `ATTErrorCode`.
    public static let errorResponse = Self(0x01)
    /// Client: the largest PDU that it takes.
    public static let exchangeMTURequest = Self(0x02)
    /// Server: the largest PDU that it takes.
    public static let exchangeMTUResponse = Self(0x03)
    /// Client: handles and types of a range.
    public static let findInformationRequest = Self(0x04)
    /// Server: pairs of handle and type.
    public static let findInformationResponse = Self(0x05)
    /// Client: groups of a type with a given value.
    public static let findByTypeValueRequest = Self(0x06)
    /// Server: handle ranges of these groups.
    public static let findByTypeValueResponse = Self(0x07)
    /// Client: attributes of a type with their values.
    public static let readByTypeRequest = Self(0x08)
    /// Server: handles with values of one length.
    public static let readByTypeResponse = Self(0x09)
    /// Client: the value at a handle.
    public static let readRequest = Self(0x0A)
    /// Server: the value, from its beginning.
    public static let readResponse = Self(0x0B)
    /// Client: a value from an offset on.
    public static let readBlobRequest = Self(0x0C)
    /// Server: the value from that offset on.
    public static let readBlobResponse = Self(0x0D)
    /// Client: several values of known lengths.
    public static let readMultipleRequest = Self(0x0E)
    /// Server: these values without boundaries.
    public static let readMultipleResponse = Self(0x0F)
    /// Client: the groups (services) of a range.
    public static let readByGroupTypeRequest = Self(0x10)
    /// Server: groups with their last handles and values.
    public static let readByGroupTypeResponse = Self(0x11)
    /// Client: a value that is to be confirmed.
    public static let writeRequest = Self(0x12)
    /// Server: the value was written.
    public static let writeResponse = Self(0x13)
    /// Client: a part of a long value, to be kept until it is executed.
    public static let prepareWriteRequest = Self(0x16)
    /// Server: the part, repeated for comparison.
    public static let prepareWriteResponse = Self(0x17)
    /// Client: write what was prepared, or drop it.
    public static let executeWriteRequest = Self(0x18)
    /// Server: done.
    public static let executeWriteResponse = Self(0x19)
    /// Server: a value by itself, never confirmed.
    public static let notification = Self(0x1B)
    /// Server: a value by itself, to be confirmed.
    public static let indication = Self(0x1D)
    /// Client: an indication has arrived.
    public static let confirmation = Self(0x1E)
    /// Client: several values, each with its length.
    public static let readMultipleVariableRequest = Self(0x20)
    /// Server: these values, each behind its length.
    public static let readMultipleVariableResponse = Self(0x21)
    /// Server: several values by themselves, each with handle and length.
    public static let multipleNotification = Self(0x23)
    /// Client: a value that is never confirmed.
    public static let writeCommand = Self(0x52)
    /// Client: a value with a signature, never confirmed.
    public static let signedWriteCommand = Self(0xD2)

    /// Commands are never answered, known or not.
    public var isCommand: Bool { rawValue & 0x40 != 0 }

    /// The response that this request asks for; `nil` for everything that is no request.
    public var response: ATTOpcode? {
        Self.requests.contains(self) ? ATTOpcode(rawValue + 1) : nil
    }

    /// Whether this answers a request: a response, or the error response.
    public var isResponse: Bool {
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
    public var description: String {
        Self.names[self] ?? "Opcode 0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
    }
}
