/// The first byte of an ATT PDU (Bluetooth Core 5.4, Vol 3 Part F, 3.4.8): an open set.
///
/// ```
/// bit 7: an authentication signature follows · bit 6: a command, never answered · bits 0-5: the method
/// ```
public struct ATTOpcode: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public init(_ rawValue: UInt8) { self.rawValue = rawValue }

    public static let errorResponse = Self(0x01)
    public static let exchangeMTURequest = Self(0x02)
    public static let exchangeMTUResponse = Self(0x03)
    public static let findInformationRequest = Self(0x04)
    public static let findInformationResponse = Self(0x05)
    public static let findByTypeValueRequest = Self(0x06)
    public static let findByTypeValueResponse = Self(0x07)
    public static let readByTypeRequest = Self(0x08)
    public static let readByTypeResponse = Self(0x09)
    public static let readRequest = Self(0x0A)
    public static let readResponse = Self(0x0B)
    public static let readBlobRequest = Self(0x0C)
    public static let readBlobResponse = Self(0x0D)
    public static let readMultipleRequest = Self(0x0E)
    public static let readMultipleResponse = Self(0x0F)
    public static let readByGroupTypeRequest = Self(0x10)
    public static let readByGroupTypeResponse = Self(0x11)
    public static let writeRequest = Self(0x12)
    public static let writeResponse = Self(0x13)
    public static let prepareWriteRequest = Self(0x16)
    public static let prepareWriteResponse = Self(0x17)
    public static let executeWriteRequest = Self(0x18)
    public static let executeWriteResponse = Self(0x19)
    public static let notification = Self(0x1B)
    public static let indication = Self(0x1D)
    public static let confirmation = Self(0x1E)
    public static let readMultipleVariableRequest = Self(0x20)
    public static let readMultipleVariableResponse = Self(0x21)
    public static let multipleNotification = Self(0x23)
    public static let writeCommand = Self(0x52)
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
