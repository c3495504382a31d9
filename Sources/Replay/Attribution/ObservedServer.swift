import Bluetooth
import BottleProtocol

/// One GATT server on one connection: its attributes, the client's pending requests, and the roles of its handles.
final class ObservedServer {
    var peer: BottlePeer
    let connection: ObservedConnection
    /// Whether the server is the capturing host, as in a recording on the computer that emulates the bottle.
    let isHost: Bool
    let table = AttributeTable()
    /// The table from discovery on another connection to the same address, which can still be open.
    private let earlierTable: AttributeTable
    /// The client's request on each bearer that has no response yet.
    private var pending: [UInt16: (request: ATTPDU, observation: ATTObservation)] = [:]
    /// The maximum number of bearers that are followed.
    private static let maximumBearers = 64
    /// The value that is being read in parts.
    var reading: PartialValue?
    /// The values that are being written in parts.
    var preparing: [PartialValue] = []
    let log = LogDecoder()
    var guess = GuessedRoles()

    private var roles: [UInt16: HandleRole] = [:]
    private var lastHandle: UInt16 = 0
    private var lastRole: HandleRole?
    /// The types as text by handle; empty if unknown.
    private var typeTexts: [UInt16: [UInt8]] = [:]
    private var cachedText: (handle: UInt16, text: [UInt8])?

    init(peer: BottlePeer, connection: ObservedConnection, isHost: Bool) {
        self.peer = peer
        self.connection = connection
        self.isHost = isHost
        earlierTable = peer.table
    }

    /// Stores a request until its response.
    func setPending(_ request: ATTPDU, _ observation: ATTObservation) {
        guard pending.count < Self.maximumBearers || pending[observation.bearer] != nil else { return }
        pending[observation.bearer] = (request, observation)
    }

    func pendingRequest(_ bearer: UInt16) -> ATTPDU? { pending[bearer]?.request }

    /// Removes and returns the request of a response; `nil` if it is not in the capture.
    func takeRequest(of response: ATTPDU, _ bearer: UInt16) -> (request: ATTPDU, observation: ATTObservation)? {
        guard let sent = pending[bearer], response.isResponse(to: sent.request) else { return nil }
        return pending.removeValue(forKey: bearer)
    }

    /// The role of a handle. Cached, because a large capture has hundreds of thousands of values of one handle.
    @inline(__always)
    func role(of handle: UInt16, _ handles: HandleOptions) -> HandleRole {
        if handle == lastHandle, let lastRole { return lastRole }
        let role =
            roles[handle] ?? discoveredRole(handle, handles) ?? handles.role(of: handle) ?? guess.role(of: handle)
            ?? .unknown
        roles[handle] = role
        lastHandle = handle
        lastRole = role
        return role
    }

    /// The role by discovery on this connection, or else on an earlier one. A table with a bottle's characteristics
    /// counts as complete, so its unknown handles are `other`.
    private func discoveredRole(_ handle: UInt16, _ handles: HandleOptions) -> HandleRole? {
        if let role = Self.role(of: handle, in: table, .discovered) {
            // A handle given by the user takes precedence over a discovered 128-bit UUID.
            let isVendor = role == .other && table.type(at: handle)?.short == nil
            return isVendor ? handles.role(of: handle) ?? role : role
        }
        if table.hasBottle { return .other }
        return Self.role(of: handle, in: earlierTable, .carriedOver) ?? (earlierTable.hasBottle ? .other : nil)
    }

    /// The role of the handle in a table; `nil` if the table does not have the handle.
    private static func role(of handle: UInt16, in table: AttributeTable, _ basis: AttributionBasis) -> HandleRole? {
        guard let type = table.type(at: handle) else { return nil }
        for profile in BottleProfile.allCases {
            if type == BluetoothUUID(profile.responseCharacteristic), table.isIn(profile.responseService, handle) {
                return .response(profile, basis)
            }
            if type == BluetoothUUID(profile.commandCharacteristic), table.isIn(profile.commandService, handle) {
                return .command(profile, basis)
            }
        }
        return .other
    }

    func resetRoles() {
        roles.removeAll(keepingCapacity: true)
        typeTexts.removeAll(keepingCapacity: true)
        lastRole = nil
        cachedText = nil
    }

    /// Whether the format of values can show a bottle, because no discovery does.
    var canGuess: Bool { !table.hasBottle && !earlierTable.hasBottle && guess.response == nil }

    /// The type of the attribute at a handle, by this connection's discovery or an earlier one.
    func type(at handle: UInt16) -> BluetoothUUID? { table.type(at: handle) ?? earlierTable.type(at: handle) }

    /// The type as text, `FFE4`.
    func typeText(at handle: UInt16) -> [UInt8]? {
        if let cachedText, cachedText.handle == handle { return cachedText.text.isEmpty ? nil : cachedText.text }
        let known = typeTexts[handle]
        let text = known ?? type(at: handle).map { Array($0.description.utf8) } ?? []
        if known == nil { typeTexts[handle] = text }
        cachedText = (handle, text)
        return text.isEmpty ? nil : text
    }
}

/// The role of an attribute handle in a bottle's profile.
enum HandleRole: Equatable {
    /// The response characteristic of a bottle. The profile is `nil` if unknown.
    case response(BottleProfile?, AttributionBasis)
    case command(BottleProfile?, AttributionBasis)
    /// Another attribute, by discovery.
    case other
    case unknown
}

/// The handles from `--command-handle` and `--response-handle`.
package struct HandleOptions: Sendable, Equatable {
    package var command: UInt16?
    package var response: UInt16?

    package init(command: UInt16? = nil, response: UInt16? = nil) {
        self.command = command
        self.response = response
    }

    package var isEmpty: Bool { command == nil && response == nil }

    func role(of handle: UInt16) -> HandleRole? {
        if handle == response { return .response(nil, .option) }
        if handle == command { return .command(nil, .option) }
        return nil
    }
}

/// The roles of handles by the format of their values, for a server without discovery.
struct GuessedRoles {
    var response: UInt16?
    var command: UInt16?
    /// Whether the capture has responses but no command. Another device can send the same bytes, so such drinks count
    /// only if the capture has no other bottle.
    var lacksCommand = false
    /// The first one-byte writes (at most four), which are draft commands if the device is a bottle.
    var shortWrites: [PartialValue] = []
    static let maximumShortWrites = 4

    func role(of handle: UInt16) -> HandleRole? {
        if handle == response { return .response(nil, .guessed) }
        if handle == command { return .command(nil, .guessed) }
        return nil
    }
}

/// Checks whether bytes have the format of a bottle's frames, for servers without discovery.
enum FrameFormat {
    /// A whole command: a GT frame of one type, an acknowledgement, a PT frame of whole entries.
    static func isCommand(_ value: [UInt8]) -> Bool {
        switch HostCommand(decoding: value) {
        case .unknown, .draftDump: false
        case .put(let entries): !entries.isEmpty
        default: true
        }
    }

    static func isMessage(_ value: [UInt8]) -> Bool {
        guard let frame = try? Frame(decoding: value), frame.operation == .response || frame.operation == .report else {
            return false
        }
        return (try? BottleMessage(decoding: frame)) != nil && !frame.payload.isEmpty
    }

    /// The start of a drink log: `50 54 length n 06 record…` with `n` = 1 + 13k within the length, and at least one
    /// whole record with a possible date.
    static func isLog(_ value: [UInt8]) -> Bool {
        guard value.count >= 6 + DrinkRecord.size, value[0] == 0x50, value[1] == 0x54, value[5] == 0x06 else {
            return false
        }
        let length = Int(value[2]) << 8 | Int(value[3]), entry = Int(value[4])
        guard entry >= 1 + DrinkRecord.size, (entry - 1) % DrinkRecord.size == 0, entry + 1 <= length else {
            return false
        }
        let records = value[6..<min(value.count, 5 + entry)]
        let starts = stride(
            from: records.startIndex, through: records.endIndex - DrinkRecord.size, by: DrinkRecord.size)
        let decoded = starts.map { try? DrinkRecord(decoding: records[$0...]) }
        return decoded.allSatisfy { $0 != nil } && decoded.contains { $0?.isSuspect == false }
    }
}
