import Bluetooth
import BottleProtocol

/// One GATT server as seen over one connection: its attributes, what its client has asked, and what the handles mean to
/// us.
final class ServerSide {
    var peer: BottlePeer
    let connection: ObservedConnection
    /// The server is the capturing host itself: the emulator's own recording, for one.
    let isHost: Bool
    /// What was discovered on this connection.
    var table = AttributeTable()
    /// Discovery on another connection to the same address, as a rule an earlier one.
    private(set) var carried: AttributeTable
    /// What discovery on this connection will have told by its end, where that is known already.
    private(set) var coming = AttributeTable()
    /// The client's request that has no answer yet.
    var pending: PendingRequest?
    /// A value that is being read in pieces.
    var reading: PartialValue?
    /// A value that is being written in pieces.
    var preparing: [PartialValue] = []
    /// Drink log in flight. One response characteristic a side. By pointer, because it is changed for every
    /// notification, and the runtime's check that nobody else changes it costs more than the change.
    let log: UnsafeMutablePointer<LogDecoder>
    /// Number of the first record that it had a part in.
    var firstFrame = 0
    /// Whether `ConversationReader.openLogs` holds this side.
    var isListedAsOpen = false
    var guess = GuessWork()
    /// Whether `learn(_ foresight)` was called, or there is nothing to learn.
    var hasForesight = false

    private var roles: [UInt16: HandleRole] = [:]
    private var lastHandle: UInt16 = 0
    private var lastRole: HandleRole?
    /// Types as text, for lists of PDUs. Empty: nothing is known.
    private var typeTexts: [UInt16: [UInt8]] = [:]
    /// The one asked for last; the next PDU mostly goes there, too.
    private var lastText: (handle: UInt16, text: [UInt8])?

    init(peer: BottlePeer, connection: ObservedConnection, isHost: Bool) {
        self.peer = peer
        self.connection = connection
        self.isHost = isHost
        carried = peer.table
        log = .allocate(capacity: 1)
        log.initialize(to: LogDecoder())
    }

    deinit {
        log.deinitialize(count: 1)
        log.deallocate()
    }

    /// What a handle means here. Remembered, because drinks come by the hundred thousand from one handle.
    @inline(__always)
    func role(of handle: UInt16, _ given: GivenHandles) -> HandleRole {
        if handle == lastHandle, let lastRole { return lastRole }
        let role = roles[handle] ?? resolve(handle, given)
        lastHandle = handle
        lastRole = role
        return role
    }

    private func resolve(_ handle: UInt16, _ given: GivenHandles) -> HandleRole {
        let role = discoveredRole(handle, given) ?? given.role(of: handle) ?? guess.role(of: handle) ?? .unknown
        roles[handle] = role
        return role
    }

    /// What discovery says: this connection's so far, then this connection's to come, then another's. The first one
    /// that knows a bottle knows all of it.
    private func discoveredRole(_ handle: UInt16, _ given: GivenHandles) -> HandleRole? {
        if let own = ownRole(handle, given) { return own }
        if table.hasBottle { return .other }
        if let late = Self.role(of: handle, in: coming, .discovered) { return late }
        if coming.hasBottle { return .other }
        if let other = Self.role(of: handle, in: carried, .carriedOver) { return other }
        return carried.hasBottle ? .other : nil
    }

    /// What this connection's discovery says. A handle that the caller names counts also where discovery shows a
    /// vendor's own UUID.
    private func ownRole(_ handle: UInt16, _ given: GivenHandles) -> HandleRole? {
        let role = Self.role(of: handle, in: table, .discovered)
        if role == .other, table.type(at: handle)?.short == nil, let named = given.role(of: handle) { return named }
        return role
    }

    /// `nil` where the table does not know the handle.
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

    /// The table or the guess has changed: roles are looked up anew.
    func forgetRoles() {
        roles.removeAll(keepingCapacity: true)
        typeTexts.removeAll(keepingCapacity: true)
        lastRole = nil
        lastText = nil
    }

    /// Takes what a reading ahead has told.
    func learn(_ foresight: Foresight) {
        if let coming = foresight.table(self) { self.coming = coming }
        if !carried.hasBottle, let other = foresight.otherTable(self) { carried = other }
        hasForesight = true
        forgetRoles()
    }

    /// Whether nothing is known about which characteristics there are.
    var mayGuess: Bool { !table.hasBottle && !coming.hasBottle && !carried.hasBottle && guess.response == nil }

    /// The type of the attribute at a handle, by this connection's discovery or an earlier one.
    func type(at handle: UInt16) -> BluetoothUUID? {
        table.type(at: handle) ?? coming.type(at: handle) ?? carried.type(at: handle)
    }

    /// The same as text, `FFE4`.
    func typeText(at handle: UInt16) -> [UInt8]? {
        if let lastText, lastText.handle == handle { return lastText.text.isEmpty ? nil : lastText.text }
        let known = typeTexts[handle]
        let text = known ?? type(at: handle).map { Array($0.description.utf8) } ?? []
        if known == nil { typeTexts[handle] = text }
        lastText = (handle, text)
        return text.isEmpty ? nil : text
    }
}

/// What a handle means to us.
enum HandleRole: Equatable {
    /// Carries frames from the bottle. `nil` profile: it could not be told.
    case response(BottleProfile?, AttributionBasis)
    /// Takes commands.
    case command(BottleProfile?, AttributionBasis)
    /// Something else, known by discovery.
    case other
    /// Nothing is known of it.
    case unknown
}

/// A value on its way in pieces (Read Blob, Prepare Write).
struct PartialValue {
    /// ATT offsets have 16 bits; no value is longer.
    static let longest = 65_536

    var handle: UInt16
    var bytes: [UInt8]
    /// Of the last piece.
    var observation: ATTObservation
}

/// `--command-handle` and `--response-handle`.
package struct GivenHandles: Sendable, Equatable {
    /// Handle of the command characteristic's value.
    package var command: UInt16?
    /// Handle of the response characteristic's value.
    package var response: UInt16?

    package init(command: UInt16? = nil, response: UInt16? = nil) {
        self.command = command
        self.response = response
    }

    /// None was given.
    package var isEmpty: Bool { command == nil && response == nil }

    func role(of handle: UInt16) -> HandleRole? {
        if handle == response { return .response(nil, .given) }
        if handle == command { return .command(nil, .given) }
        return nil
    }
}

/// What the shape of the traffic on a side without discovery suggests.
struct GuessWork {
    /// Where frames of a bottle were seen.
    var response: UInt16?
    /// Where commands to a bottle were seen.
    var command: UInt16?
    /// Only frames were seen, no command: another device may send the same bytes by chance or malice, so their drinks
    /// count only when no bottle of this capture was found by discovery.
    var isOneSided = false
    /// One-byte writes that are draft commands if this turns out to be a bottle.
    var shortWrites: [PartialValue] = []
    static let mostShortWrites = 4

    func role(of handle: UInt16) -> HandleRole? {
        if handle == response { return .response(nil, .guessed) }
        if handle == command { return .command(nil, .guessed) }
        return nil
    }
}

extension AttributeTable {
    /// Whether a bottle's response characteristic is among the characteristics.
    var hasBottle: Bool {
        characteristics.contains { handle, characteristic in
            BottleProfile.allCases.contains {
                characteristic.uuid == BluetoothUUID($0.responseCharacteristic) && isIn($0.responseService, handle)
            }
        }
    }

    /// Whether the handle lies in that service, as far as is known: FFE4 in somebody else's service is not the
    /// bottle's.
    func isIn(_ service: UInt16, _ handle: UInt16) -> Bool {
        guard let found = self.service(at: handle) else { return true }
        return found.uuid == BluetoothUUID(service)
    }
}
