import Bluetooth
import BottleProtocol

/// Who stands behind one side of a connection, across all connections with the same address.
///
/// Holds what outlives a connection: name, model, the attribute table last discovered, and which drinks were seen.
package final class BottlePeer {
    /// `nil` where the capture does not show it.
    package internal(set) var address: BluetoothAddress?
    /// Number of the first connection with it, to tell peers without an address apart.
    package let firstConnection: Int
    /// As advertised, or read from 2A00.
    package internal(set) var name: String?
    /// As the snapshot said, else as the name suggests.
    package internal(set) var model: BottleModel?
    /// The profile that its table or its traffic fits; `nil` while none is known.
    package internal(set) var profile: BottleProfile?
    /// How the response characteristic was found; `nil`: this is no bottle, as far as is known.
    package internal(set) var basis: AttributionBasis?
    /// Where its frames come from.
    package internal(set) var responseHandle: UInt16?
    /// The attribute table, as last discovered.
    package internal(set) var table = AttributeTable()
    /// Battery in percent, from the last snapshot or report.
    package internal(set) var batteryPercent: Int?
    /// Frames came from it.
    package internal(set) var hasSpoken = false
    /// How many commands were written to it.
    package internal(set) var commandCount = 0
    /// Its account in the ledger of `DrinkReader`.
    var account: DrinkLedger.Account?
    /// Its address is a private one, that changes: it tells nobody apart.
    var isAddressPrivate = false
    /// Whether the rest of the capture was asked what it is called.
    var hasForesight = false
    /// Under which `PeerBook` knows it.
    var keys: [PeerBook.Key] = []
    /// The capturing host itself.
    package let isHost: Bool
    /// Connections with it that are open now.
    var openConnections = 0

    init(address: BluetoothAddress?, firstConnection: Int, isHost: Bool) {
        self.address = address
        self.isHost = isHost
        self.firstConnection = firstConnection
    }

    /// For people: the address, or else the name, or else which connection it was. Nothing in it moves a terminal's
    /// cursor.
    package var label: String {
        if let address { return address.description }
        if isHost { return "the capturing host" }
        return "\(name.map { $0.withoutControls } ?? "connection \(firstConnection)") (no address)"
    }

    /// Whether this is a bottle, as far as is known: it speaks like one, or is named like one. Other gadgets use the
    /// same UUIDs.
    package var isBottle: Bool { hasSpoken || name.map(BottleName.isBottle) == true }

    func note(_ profile: BottleProfile?, _ basis: AttributionBasis) {
        if let profile { self.profile = profile }
        self.basis = basis
    }

    func learn(from message: Frame) {
        guard let meaning = try? BottleMessage(decoding: message) else { return }
        switch meaning {
        case .snapshot(let snapshot):
            if let told = snapshot.model { model = told }
            batteryPercent = snapshot.batteryPercent
        case .report(let entries):
            for entry in entries where entry.type == .battery { batteryPercent = entry.byte.map(Int.init) }
        default: break
        }
    }

    func learn(name: String) {
        guard !name.isEmpty, self.name != name else { return }
        self.name = name
        if model == nil { model = BottleModel(advertisedName: name) }
    }
}

extension String {
    /// Names come from the air: nothing in them may end a line or colour a terminal.
    package var withoutControls: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.filter { scalar in
                    // Cc: C0, C1; Zl and Zp: line separators; Bidi_Control: what turns the direction of text.
                    ![.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
                        && !scalar.properties.isBidiControl
                }))
    }
}

/// How it is known which characteristic carries a bottle's responses.
package enum AttributionBasis: String, Sendable, CaseIterable {
    /// Discovery on the same connection (or the characteristic's name, in text captures).
    case discovered
    /// Discovery on an earlier connection to the same address.
    case carriedOver = "carried over"
    /// Handles given by the caller.
    case given
    /// The shape of the frames; no discovery is in the capture.
    case guessed
}
