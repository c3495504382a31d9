/// The server's state of one connected central: decodes its PDUs and responds.
struct ServerBearer: Sendable {
    enum Limit {
        /// The maximum number of requests that wait for the previous response.
        static let waitingRequests = 8
        /// The maximum number of prepared writes, enough for one value at MTU 23.
        static let preparedWrites = 64
        static let preparedBytes = 1024
        /// The maximum number of values that a central has not received yet.
        static let waitingValues = 4096
        static let valuesPerFlush = 32
        static let logLines = 20
        /// The transaction timeout (Core 5.4, Vol 3 Part F, 3.3.3).
        static let transaction = Duration.seconds(30)
        /// The application's time limit. The central receives an error response before its own timeout of 30 s.
        static let applicationResponse = Duration.seconds(25)
    }

    /// A request that the application answers.
    struct Transaction: Sendable {
        enum Step: Sendable {
            case read
            /// A Read Blob. With `isPartial`, the application supplies the bytes from the request's offset on.
            case blob(isPartial: Bool)
            case byType
            /// A Read Multiple with the values read so far. The application next supplies the value of `rest.first`.
            case multiple(values: [[UInt8]], rest: ArraySlice<UInt16>, isVariable: Bool)
            case write
            /// The prepared writes to execute. The application next handles `rest.first`.
            case execute(rest: ArraySlice<ATTHandleValue>)

            var request: ATTOpcode {
                switch self {
                case .read: .readRequest
                case .blob: .readBlobRequest
                case .byType: .readByTypeRequest
                case .multiple(_, _, isVariable: false): .readMultipleRequest
                case .multiple(_, _, isVariable: true): .readMultipleVariableRequest
                case .write: .writeRequest
                case .execute: .executeWriteRequest
                }
            }
        }

        var step: Step
        var handle: UInt16
        var token: UInt64
        var deadline: MonotonicInstant
    }

    struct PreparedWrite: Sendable {
        var handle: UInt16
        var offset: Int
        var value: [UInt8]
    }

    private struct QueuedValue: Sendable {
        var delivery: UInt64
        var handle: UInt16
        var value: [UInt8]
        var isIndication: Bool
    }

    let id: CentralID
    let table: GATTTable
    private let maximumMTU: Int
    var mtu = ATTPDU.defaultMTU
    var now = MonotonicInstant(nanoseconds: 0)
    /// The Client Characteristic Configuration by value handle; 0 if absent.
    var cccdValues: [UInt16: UInt16] = [:]
    /// The prepared writes, in order (Vol 3 Part F, 3.4.6).
    var prepareQueue: [PreparedWrite] = []
    var transaction: Transaction?
    private var lastToken: UInt64
    private var waiting: [ATTPDU] = []
    /// The application's last value for a read; later Read Blob requests use it.
    var longRead: ATTHandleValue?
    private var queuedValues: [QueuedValue] = []
    private var indication: (delivery: UInt64, deadline: MonotonicInstant)?
    private var congestedUntil: MonotonicInstant?
    /// The time of the next `tick` at which sending continues; `nil` if no values wait for it.
    private var continueAt: MonotonicInstant?
    private var logLines = 0
    private(set) var isClosed = false

    /// The effects of the current input, and the identifiers of the values that it delivered.
    var effects: [GATTServer.Effect] = []
    var deliveryIDs: [UInt64] = []

    /// - Parameter number: a unique number, so that tokens differ from those of other bearers.
    init(_ id: CentralID, number: UInt64, _ table: GATTTable, maximumMTU: Int) {
        self.id = id
        self.table = table
        self.maximumMTU = maximumMTU
        lastToken = (number - 1) << 32
    }

    var deadline: MonotonicInstant? {
        [congestedUntil, continueAt, indication?.deadline, transaction?.deadline].compactMap { $0 }.min()
    }

    mutating func expire() {
        if let congestedUntil, congestedUntil <= now {
            close(because: "has not received data for 30 s")
        } else if continueAt != nil {
            flush()
        } else if let indication, indication.deadline <= now {
            close(because: "did not confirm an indication in 30 s")
        } else if let transaction, transaction.deadline <= now {
            log("its \(transaction.step.request) was not answered by the peripheral in 25 s")
            finish(.error(ATTErrorCode.unlikelyError.rawValue))
        }
    }

    // MARK: Effects

    mutating func send(_ pdu: ATTPDU) { effects.append(.send(id, pdu.encoded)) }

    mutating func report(_ event: PeripheralEvent) { effects.append(.event(event)) }

    mutating func refuse(_ request: ATTOpcode, _ handle: UInt16, _ error: ATTErrorCode) {
        send(.errorResponse(request: request, handle: handle, error: error))
    }

    /// Logs at most 20 lines per bearer, so that a central cannot fill the disk.
    mutating func log(_ line: String) {
        guard logLines <= Limit.logLines else { return }
        logLines += 1
        let text = logLines > Limit.logLines ? "further messages are not logged" : line
        effects.append(.log("central \(id): \(text)"))
    }

    /// Closes the bearer. `reason` is set if the central caused the end.
    mutating func close(because reason: String? = nil) {
        if let reason { effects.append(.log("central \(id): \(reason); disconnected")) }
        effects.append(.close(id))
        isClosed = true
    }

    // MARK: Requests

    mutating func receive(_ bytes: [UInt8]) {
        let opcode = ATTOpcode(bytes.first ?? 0)
        let pdu: ATTPDU
        do throws(MalformedPDU) {
            guard bytes.count <= mtu else {
                throw MalformedPDU(field: "a PDU within the MTU", offset: 0, needed: mtu, found: bytes.count)
            }
            pdu = try ATTPDU(decoding: bytes)
        } catch {
            log("sent a malformed \(bytes.isEmpty ? "PDU" : "\(opcode)"): \(error)")
            if opcode.response != nil { refuse(opcode, 0, .invalidPDU) }
            return
        }
        guard opcode.response != nil else { return receiveOther(pdu) }
        // ATT is sequential (Vol 3 Part F, 3.3.2). Requests of a client that does not wait are queued, up to a limit.
        guard transaction != nil else { return serve(pdu) }
        guard waiting.count < Limit.waitingRequests else {
            return close(because: "sends requests without waiting for the responses")
        }
        waiting.append(pdu)
    }

    private mutating func receiveOther(_ pdu: ATTPDU) {
        switch pdu {
        case .writeCommand(let handle, let value): writeWithoutResponse(handle, value)
        case .confirmation: confirm()
        case .indication:
            log("sent an indication to a server; confirmed and ignored")
            send(.confirmation)
        case .unknown(let opcode, _) where !opcode.isCommand:
            log("sent the unknown request \(opcode)")
            refuse(opcode, 0, .requestNotSupported)
        default: log("sent \(pdu.opcode), which is not for a server; ignored")
        }
    }

    private mutating func serve(_ pdu: ATTPDU) {
        switch pdu {
        case .exchangeMTURequest(let mtu): exchangeMTU(Int(mtu))
        case .findInformationRequest(let range): findInformation(range)
        case .findByTypeValueRequest(let range, let type, let value): findByTypeValue(range, type, value)
        case .readByTypeRequest(let range, let type): readByType(range, type)
        case .readByGroupTypeRequest(let range, let type): readByGroupType(range, type)
        case .readRequest(let handle): read(handle)
        case .readBlobRequest(let handle, let offset): readBlob(handle, Int(offset))
        case .readMultipleRequest(let handles): readMultiple([], handles[...], isVariable: false)
        case .readMultipleVariableRequest(let handles): readMultiple([], handles[...], isVariable: true)
        case .writeRequest(let handle, let value): write(handle, value)
        case .prepareWriteRequest(let handle, let offset, let value): prepareWrite(handle, offset, value)
        case .executeWriteRequest(let flags): executeWrite(flags)
        default: refuse(pdu.opcode, 0, .requestNotSupported)
        }
    }

    /// Sets the MTU to the smaller of the values of client and server, but at least 23 (Vol 3 Part F, 3.4.2).
    private mutating func exchangeMTU(_ clientMTU: Int) {
        send(.exchangeMTUResponse(mtu: UInt16(maximumMTU)))
        let new = max(ATTPDU.defaultMTU, min(clientMTU, maximumMTU))
        guard new != mtu else { return }
        mtu = new
        report(.mtuChanged(id, new))
    }

    // MARK: Responses of the application

    /// Starts the transaction that `finish` ends, and returns its token.
    mutating func begin(_ step: Transaction.Step, _ handle: UInt16) -> UInt64 {
        lastToken += 1
        transaction = Transaction(
            step: step, handle: handle, token: lastToken, deadline: now.advanced(by: Limit.applicationResponse))
        return lastToken
    }

    /// Sends the application's response, then serves the next requests.
    mutating func finish(_ response: PeripheralRequest.Response) {
        guard let transaction else { return }
        self.transaction = nil
        switch response {
        case .error(let code): refuse(transaction.step.request, transaction.handle, ATTErrorCode(code))
        case .value(let response):
            let value = Array(response.prefix(ATTPDU.maximumValueLength))
            if value.count < response.count {
                log("the value for a \(transaction.step.request) has \(response.count) bytes; truncated to 512")
            }
            proceed(transaction, value)
        }
        while self.transaction == nil, !waiting.isEmpty { serve(waiting.removeFirst()) }
    }

    private mutating func proceed(_ transaction: Transaction, _ value: [UInt8]) {
        let handle = transaction.handle
        switch transaction.step {
        case .read:
            longRead = ATTHandleValue(handle, value)
            send(.readResponse(value: truncated(value)))
        case .blob(let isPartial):
            if !isPartial { longRead = ATTHandleValue(handle, value) }
            send(.readBlobResponse(value: truncated(value)))
        case .byType: send(.readByTypeResponse([ATTHandleValue(handle, Array(value.prefix(maximumReadByTypeLength)))]))
        case .multiple(let values, let rest, let isVariable):
            readMultiple(values + [value], rest.dropFirst(), isVariable: isVariable)
        case .write: send(.writeResponse)
        case .execute(let rest): execute(rest.dropFirst())
        }
    }

    // MARK: Notifications

    mutating func notify(_ handle: UInt16, _ value: [UInt8], delivery: UInt64) {
        guard queuedValues.count < Limit.waitingValues else {
            return close(because: "does not receive its notifications; \(Limit.waitingValues) are pending")
        }
        // A central that enabled both notifications and indications receives notifications.
        let isIndication = cccdValues[handle].map { $0 & 1 == 0 } ?? false
        queuedValues.append(QueuedValue(delivery: delivery, handle: handle, value: value, isIndication: isIndication))
        if continueAt == nil { flush() }
    }

    mutating func congested() {
        congestedUntil = now.advanced(by: Limit.transaction)
        continueAt = nil
    }

    mutating func drained() {
        congestedUntil = nil
        flush()
    }

    /// Sends queued values, except while the bearer is congested or an indication is unconfirmed. Each call sends a
    /// limited number, so that congestion is noticed; the next `tick` continues.
    private mutating func flush() {
        continueAt = nil
        var remaining = Limit.valuesPerFlush
        while congestedUntil == nil, indication == nil, !queuedValues.isEmpty {
            guard remaining > 0 else { return continueAt = now }
            remaining -= 1
            let next = queuedValues.removeFirst()
            // Truncated to the MTU (Vol 3 Part F, 3.4.7.1).
            let value = Array(next.value.prefix(mtu - 3))
            if next.isIndication {
                send(.indication(handle: next.handle, value: value))
                indication = (next.delivery, now.advanced(by: Limit.transaction))
            } else {
                send(.notification(handle: next.handle, value: value))
                deliveryIDs.append(next.delivery)
            }
        }
    }

    private mutating func confirm() {
        guard let indication else { return log("sent an unexpected confirmation; ignored") }
        self.indication = nil
        deliveryIDs.append(indication.delivery)
        flush()
    }
}
