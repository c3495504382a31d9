/// The GATT server of a peripheral on sockets, memory or HCI: ATT PDUs of all bearers on one side, `PeripheralEvent`
/// and `PeripheralRequest` on the other.
///
/// Each central's requests, prepared writes, unsent values, log lines and confirmation times are limited.
/// `disconnected` ends a central's subscriptions without `unsubscribed` events. Source: Core 5.4, Vol 3 Parts F and G.
package struct GATTServer: Sendable {
    package enum Input: Hashable, Sendable {
        case opened(CentralID)
        case closed(CentralID)
        case received(CentralID, [UInt8])
        case request(PeripheralRequest)
        /// The bearer is congested: values wait until `drained`.
        case congested(CentralID)
        case drained(CentralID)
        case tick
    }

    /// An effect, to be performed in order.
    package enum Effect: Hashable, Sendable {
        case send(CentralID, [UInt8])
        case event(PeripheralEvent)
        /// Close this bearer. The server has already sent `disconnected`.
        case close(CentralID)
        case advertise(Bool)
        case log(String)
    }

    enum Limit {
        /// The maximum number of requests that wait for the previous response.
        static let waitingRequests = 8
        /// The maximum number of parts of a prepared write, enough for one value at MTU 23.
        static let preparedParts = 64
        static let preparedBytes = 1024
        /// The maximum number of values that a central has not received yet.
        static let waitingValues = 4096
        static let valuesInOneGo = 32
        static let logLines = 20
        /// The transaction timeout (Core 5.4, Vol 3 Part F, 3.3.3).
        static let transaction = Duration.seconds(30)
        /// The application's time limit. The central receives an error response before its own timeout of 30 s.
        static let answer = Duration.seconds(25)
    }

    package let table: GATTTable
    package let maximumMTU: Int
    var bearers: [ServerBearer] = []
    /// The values of `notify` that some subscriber has not received yet, oldest first.
    var deliveries: [Delivery] = []
    var lastDelivery: UInt64 = 0
    var lastToken: UInt64 = 0
    private var effects: [Effect] = []

    /// - Parameter maximumMTU: the offered MTU; `nil` for the application's.
    package init(_ application: GATTApplication, maximumMTU: Int? = nil) throws(LinkError) {
        table = try GATTTable(application)
        self.maximumMTU = min(max(maximumMTU ?? application.maximumMTU, ATTPDU.defaultMTU), ATTPDU.maximumMTU)
    }

    /// The earliest time at which `tick` has an effect.
    package var nextDeadline: MonotonicInstant? {
        bearers.compactMap(\.deadline).min()
    }

    /// Handles one input and returns its effects in order. Time must not go backwards.
    package mutating func handle(_ input: Input, at now: MonotonicInstant) -> [Effect] {
        switch input {
        case .opened(let id):
            guard index(of: id) == nil else { break }
            bearers.append(ServerBearer(id: id))
            emit(.event(.connected(id)))
        case .closed(let id):
            if let bearer = index(of: id) { forget(bearer) }
        case .received(let id, let bytes):
            if let bearer = index(of: id) { receive(bytes, on: bearer, at: now) }
        case .request(let request):
            perform(request, at: now)
        case .congested(let id):
            if let bearer = index(of: id) { wait(bearer, at: now) }
        case .drained(let id):
            guard let bearer = index(of: id) else { break }
            bearers[bearer].congestedUntil = nil
            flush(bearer, at: now)
        case .tick:
            expire(at: now)
        }
        completeDeliveries()
        defer { effects = [] }
        return effects
    }

    private mutating func wait(_ bearer: Int, at now: MonotonicInstant) {
        bearers[bearer].congestedUntil = now.advanced(by: Limit.transaction)
        bearers[bearer].continueAt = nil
    }

    private mutating func perform(_ request: PeripheralRequest, at now: MonotonicInstant) {
        switch request {
        case .respond(let token, let response): answer(token, response, at: now)
        case .notify(let uuid, let value): notify(uuid, value, at: now)
        case .disconnect(let id): if let bearer = index(of: id) { close(bearer) }
        case .advertise(let visible): emit(.advertise(visible))
        }
    }

    // MARK: Bearers

    func index(of id: CentralID) -> Int? { bearers.firstIndex { $0.id == id } }

    mutating func emit(_ effect: Effect) { effects.append(effect) }

    mutating func send(_ pdu: ATTPDU, on bearer: Int) {
        emit(.send(bearers[bearer].id, pdu.encoded))
    }

    mutating func refuse(_ request: ATTOpcode, _ handle: UInt16, _ error: ATTErrorCode, on bearer: Int) {
        send(.errorResponse(request: request, handle: handle, error: error), on: bearer)
    }

    /// Logs at most 20 lines per bearer, so that a central cannot fill the disk.
    mutating func log(_ line: String, on bearer: Int) {
        bearers[bearer].logLines += 1
        switch bearers[bearer].logLines {
        case ...Limit.logLines: emit(.log("central \(bearers[bearer].id): \(line)"))
        case Limit.logLines + 1: emit(.log("central \(bearers[bearer].id): further messages are not logged"))
        default: bearers[bearer].logLines = Limit.logLines + 2
        }
    }

    /// Closes a bearer. `reason` is set if the central caused the end.
    mutating func close(_ bearer: Int, because reason: String? = nil) {
        if let reason { emit(.log("central \(bearers[bearer].id): \(reason); disconnected")) }
        emit(.close(bearers[bearer].id))
        forget(bearer)
    }

    private mutating func forget(_ bearer: Int) {
        let id = bearers.remove(at: bearer).id
        for index in deliveries.indices { deliveries[index].awaited.remove(id) }
        emit(.event(.disconnected(id)))
    }

    private mutating func expire(at now: MonotonicInstant) {
        for id in bearers.map(\.id) {
            guard let bearer = index(of: id) else { continue }
            if let until = bearers[bearer].congestedUntil, until <= now {
                close(bearer, because: "has not received data for 30 s")
            } else if bearers[bearer].continueAt != nil {
                flush(bearer, at: now)
            } else if let indication = bearers[bearer].indication, indication.deadline <= now {
                close(bearer, because: "did not confirm an indication in 30 s")
            } else if let transaction = bearers[bearer].transaction, transaction.deadline <= now {
                log("its \(transaction.request) was not answered by the peripheral in 25 s", on: bearer)
                finish(bearer, .error(ATTErrorCode.unlikelyError.rawValue), at: now)
            }
        }
    }
}
