import Bluetooth
import BottleProtocol
import Captures

/// What concerns a bottle in a capture, found by `ConversationReader`.
enum BottleTraffic {
    /// The host wrote this to one of the bottle's characteristics.
    case command(HostCommand, value: [UInt8], characteristic: BluetoothUUID?)
    /// Whole records of the drink log.
    case records(RecordBatch)
    /// A whole answer or report.
    case message(Frame)
    /// Bytes from the response characteristic that are no part of a frame.
    case malformed([UInt8], DecodeFailure)
}

/// A value that passed on a connection, whole.
struct ObservedTransfer {
    var side: ServerSide
    var handle: UInt16
    /// Of the characteristic or descriptor, where it is known.
    var uuid: BluetoothUUID?
    var travel: ValueFacts.Travel
    var bytes: [UInt8]
    var frame: Int
    var time: Duration?

    /// Whether it belongs to a bottle's characteristics, as far as is known by now.
    var isBottles: Bool {
        switch side.role(of: handle, GivenHandles()) {
        case .response, .command: true
        case .other, .unknown: false
        }
    }

    /// The server's address, where it is the peer.
    var peer: BluetoothAddress? { side.isHost ? nil : side.connection.peer }
}

/// Where and when it was seen.
struct TrafficOrigin {
    var side: ServerSide
    var observation: ATTObservation
    /// The drinks of this side may count only if no bottle of the capture is found by discovery.
    var isDoubtful: Bool

    init(_ side: ServerSide, _ observation: ATTObservation) {
        self.side = side
        self.observation = observation
        isDoubtful = side.guess.isOneSided
    }
}
