/// What the server remembers of one connected central; gone with the connection.
struct ServerBearer: Sendable {
    let id: CentralID
    var mtu = ATTPDU.defaultMTU
    /// Client Characteristic Configuration by value handle; absent: 0.
    var configurations: [UInt16: UInt16] = [:]
    /// Parts of a long write, in the order in which they came.
    var prepared: [PreparedPart] = []
    /// The request whose answer the application still owes.
    var transaction: Transaction?
    /// Requests that came before the last one was answered.
    var waiting: [ATTPDU] = []
    /// The last value that the application gave to a read: the following blobs are cut from it.
    var longRead: ATTHandleValue?
    /// Values that have not left yet.
    var outbox: [Outgoing] = []
    /// The indication that is not confirmed yet.
    var indication: (delivery: UInt64, deadline: MonotonicInstant)?
    /// Set while the way to the central is full.
    var congestedUntil: MonotonicInstant?
    /// Set while values wait only for the next `tick`.
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

/// A request on its way through the application.
struct Transaction: Sendable {
    enum Step: Sendable {
        case read(UInt16)
        /// `offset` of the blob; `partial`: the application was asked for what begins there.
        case blob(UInt16, offset: Int, partial: Bool)
        case byType(UInt16)
        /// Values so far; the application is asked for the first of `rest`.
        case multiple(values: [[UInt8]], rest: ArraySlice<UInt16>, variable: Bool)
        case write(UInt16)
        /// The application is asked to take the first of `rest`.
        case execute(rest: ArraySlice<ATTHandleValue>)
    }

    var request: ATTOpcode
    /// The attribute that the application is asked about.
    var handle: UInt16
    var step: Step
    var token: UInt64
    var deadline: MonotonicInstant
}

/// A value on its way to one subscriber.
struct Outgoing: Sendable {
    var delivery: UInt64
    var handle: UInt16
    var value: [UInt8]
    var isIndication: Bool
}

/// A value handed to `notify`, and who has not got it yet.
struct Delivery: Sendable {
    var id: UInt64
    var characteristic: BluetoothUUID
    var awaited: Set<CentralID>
}
