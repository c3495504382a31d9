/// Why a request was not fulfilled (Bluetooth Core 5.4, Vol 3 Part F, table 3.4, and Core Specification Supplement,
/// Part B): an open set; 0x80-0x9F belong to the application.
public struct ATTErrorCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public init(_ rawValue: UInt8) { self.rawValue = rawValue }

    public static let invalidHandle = Self(0x01)
    public static let readNotPermitted = Self(0x02)
    public static let writeNotPermitted = Self(0x03)
    public static let invalidPDU = Self(0x04)
    public static let insufficientAuthentication = Self(0x05)
    public static let requestNotSupported = Self(0x06)
    public static let invalidOffset = Self(0x07)
    public static let insufficientAuthorization = Self(0x08)
    public static let prepareQueueFull = Self(0x09)
    public static let attributeNotFound = Self(0x0A)
    public static let attributeNotLong = Self(0x0B)
    public static let encryptionKeySizeTooShort = Self(0x0C)
    public static let invalidAttributeValueLength = Self(0x0D)
    public static let unlikelyError = Self(0x0E)
    public static let insufficientEncryption = Self(0x0F)
    public static let unsupportedGroupType = Self(0x10)
    public static let insufficientResources = Self(0x11)
    public static let databaseOutOfSync = Self(0x12)
    public static let valueNotAllowed = Self(0x13)
    public static let writeRequestRejected = Self(0xFC)
    public static let cccdImproperlyConfigured = Self(0xFD)
    public static let procedureAlreadyInProgress = Self(0xFE)
    public static let outOfRange = Self(0xFF)

    private static let names: [ATTErrorCode: String] = [
        .invalidHandle: "Invalid Handle", .readNotPermitted: "Read Not Permitted", .writeNotPermitted: "Write Not Permitted",
        .invalidPDU: "Invalid PDU", .insufficientAuthentication: "Insufficient Authentication",
        .requestNotSupported: "Request Not Supported", .invalidOffset: "Invalid Offset",
        .insufficientAuthorization: "Insufficient Authorization", .prepareQueueFull: "Prepare Queue Full",
        .attributeNotFound: "Attribute Not Found", .attributeNotLong: "Attribute Not Long",
        .encryptionKeySizeTooShort: "Encryption Key Size Too Short",
        .invalidAttributeValueLength: "Invalid Attribute Value Length", .unlikelyError: "Unlikely Error",
        .insufficientEncryption: "Insufficient Encryption", .unsupportedGroupType: "Unsupported Group Type",
        .insufficientResources: "Insufficient Resources", .databaseOutOfSync: "Database Out Of Sync",
        .valueNotAllowed: "Value Not Allowed", .writeRequestRejected: "Write Request Rejected",
        .cccdImproperlyConfigured: "Client Characteristic Configuration Descriptor Improperly Configured",
        .procedureAlreadyInProgress: "Procedure Already In Progress", .outOfRange: "Out Of Range",
    ]
}

extension ATTErrorCode: CustomStringConvertible {
    /// The specification's name and the number: `Invalid Handle (0x01)`.
    public var description: String {
        let number = "0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
        if let name = Self.names[self] { return "\(name) (\(number))" }
        return 0x80...0x9F ~= rawValue ? "application error \(number)" : "error \(number)"
    }
}
