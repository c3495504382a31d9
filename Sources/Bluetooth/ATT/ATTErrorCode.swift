/// Why a request was not fulfilled (Bluetooth Core 5.4, Vol 3 Part F, table 3.4, and Core Specification Supplement,
/// Part B): an open set; 0x80-0x9F belong to the application.
public struct ATTErrorCode: RawRepresentable, Hashable, Sendable {
    /// The error byte of an Error Response.
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The code of that number, known or not.
    public init(_ rawValue: UInt8) { self.rawValue = rawValue }

    /// There is no attribute at this handle, or the range is none.
    public static let invalidHandle = Self(0x01)
    /// The value cannot be read.
    public static let readNotPermitted = Self(0x02)
    /// The value cannot be written.
    public static let writeNotPermitted = Self(0x03)
    /// The PDU is malformed.
    public static let invalidPDU = Self(0x04)
    /// The link must be authenticated first.
    public static let insufficientAuthentication = Self(0x05)
    /// The server does not support this request.
    public static let requestNotSupported = Self(0x06)
    /// The offset lies behind the end of the value.
    public static let invalidOffset = Self(0x07)
    /// The client is not allowed to do this.
    public static let insufficientAuthorization = Self(0x08)
    /// Too many prepared writes wait.
    public static let prepareQueueFull = Self(0x09)
    /// No attribute in the range fits.
    public static let attributeNotFound = Self(0x0A)
    /// The value cannot be read on with Read Blob.
    public static let attributeNotLong = Self(0x0B)
    /// The encryption key is too short.
    public static let encryptionKeySizeTooShort = Self(0x0C)
    /// The value has a length that the attribute does not take.
    public static let invalidAttributeValueLength = Self(0x0D)
    /// Something that no other code says.
    public static let unlikelyError = Self(0x0E)
    /// The link must be encrypted first.
    public static let insufficientEncryption = Self(0x0F)
    /// The type is none that groups attributes.
    public static let unsupportedGroupType = Self(0x10)
    /// The server has run out of memory or the like.
    public static let insufficientResources = Self(0x11)
    /// The client's picture of the table is out of date.
    public static let databaseOutOfSync = Self(0x12)
    /// The value is not allowed here.
    public static let valueNotAllowed = Self(0x13)
    /// The profile refuses the write.
    public static let writeRequestRejected = Self(0xFC)
    /// Notifications were not switched on as they have to be.
    public static let cccdImproperlyConfigured = Self(0xFD)
    /// The same procedure is under way already.
    public static let procedureAlreadyInProgress = Self(0xFE)
    /// The value is outside its range.
    public static let outOfRange = Self(0xFF)

    private static let names: [ATTErrorCode: String] = [
        .invalidHandle: "Invalid Handle", .readNotPermitted: "Read Not Permitted",
        .writeNotPermitted: "Write Not Permitted",
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
