/// The server's state of one connected central.
struct ServerBearer: Sendable {
    let id: CentralID
    var mtu = ATTPDU.defaultMTU
    /// The Client Characteristic Configuration by value handle; 0 if absent.
    var configurations: [UInt16: UInt16] = [:]
    /// The parts of a long write, in order.
    var prepared: [PreparedPart] = []
    var transaction: Transaction?
    var waiting: [ATTPDU] = []
    /// The application's last value for a read; later Read Blob requests use it.
    var longRead: ATTHandleValue?
    var outbox: [Outgoing] = []
    var indication: (delivery: UInt64, deadline: MonotonicInstant)?
    var congestedUntil: MonotonicInstant?
    /// The time of the next `tick` at which sending continues; `nil` if no values wait for it.
    var continueAt: MonotonicInstant?
    var logLines = 0

    init(id: CentralID) {
        self.id = id
    }

    var deadline: MonotonicInstant? {
        [congestedUntil, continueAt, indication?.deadline, transaction?.deadline].compactMap { $0 }.min()
    }

    var mayLeave: Bool { congestedUntil == nil && indication == nil && !outbox.isEmpty }

    var preparedBytes: Int { prepared.reduce(0) { $0 + $1.value.count } }
}

struct PreparedPart: Sendable {
    var handle: UInt16
    var offset: Int
    var value: [UInt8]
}

struct Transaction: Sendable {
    enum Step: Sendable {
        case read(UInt16)
        /// A Read Blob. With `partial`, the application supplies the bytes from `offset` on.
        case blob(UInt16, offset: Int, partial: Bool)
        case byType(UInt16)
        /// The values so far. The application supplies the first of `rest`.
        case multiple(values: [[UInt8]], rest: ArraySlice<UInt16>, variable: Bool)
        case write(UInt16)
        /// The application handles the first of `rest`.
        case execute(rest: ArraySlice<ATTHandleValue>)
    }

    var request: ATTOpcode
    var handle: UInt16
    var step: Step
    var token: UInt64
    var deadline: MonotonicInstant
}

struct Outgoing: Sendable {
    var delivery: UInt64
    var handle: UInt16
    var value: [UInt8]
    var isIndication: Bool
}

/// A value of `notify` with the subscribers that have not received it.
struct Delivery: Sendable {
    var id: UInt64
    var characteristic: BluetoothUUID
    var awaited: Set<CentralID>
}
