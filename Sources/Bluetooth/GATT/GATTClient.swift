/// The GATT client on one ATT bearer: requests and PDUs in, PDUs and events out.
///
/// One request is outstanding at a time. A response that takes more than 30 s ends the bearer, because a later response
/// could not be assigned (Core 5.4, Vol 3 Part F, 3.3.3). A malformed PDU also ends it. An unexpected response is
/// ignored: some servers respond twice, or late.
package struct GATTClient: Sendable {
    package enum Input: Hashable, Sendable {
        case start
        /// The bearer is open. Skip the MTU exchange, because the peer does not answer it.
        case startWithoutMTUExchange
        case received([UInt8])
        /// `discover`, `read`, `write` or `subscribe`. Requests run one at a time.
        case request(CentralRequest)
        case tick
    }

    package enum Effect: Hashable, Sendable {
        case send([UInt8])
        /// The MTU is known. The client processes requests from now on.
        case ready(mtu: Int)
        case event(CentralEvent)
        /// The bearer is unusable. No effect follows.
        case ended(LinkError)
        case log(String)
    }

    enum Limit {
        /// The transaction timeout (Core 5.4, Vol 3 Part F, 3.3.3).
        static let transaction = Duration.seconds(30)
        /// The time limit of a whole discovery or long read.
        static let procedure = Duration.seconds(60)
        static let waitingRequests = 64
        static let services = 256
        static let characteristics = 2048
        static let logLines = 20
    }

    enum Procedure: Sendable {
        case exchangeMTU
        case discover(Discovery)
        case read(handle: UInt16, value: [UInt8])
        case write(handle: UInt16)
        case subscribe(handle: UInt16)
    }

    /// The offered ATT MTU (23–517).
    package let maximumMTU: Int
    package internal(set) var mtu = ATTPDU.defaultMTU
    var found = Discovery.Result()
    var procedure: Procedure?
    /// The last response to a read: its first or latest part.
    var previousRead: (handle: UInt16, part: [UInt8])?
    private var pending: (request: ATTPDU, deadline: MonotonicInstant)?
    private var procedureDeadline: MonotonicInstant?
    private var waiting: [CentralRequest] = []
    private var isReady = false
    private var hasEnded = false
    private var logLines = 0
    private var effects: [Effect] = []

    package init(maximumMTU: Int = ATTPDU.maximumMTU) {
        self.maximumMTU = min(max(maximumMTU, ATTPDU.defaultMTU), ATTPDU.maximumMTU)
    }

    /// The earliest time at which `tick` has an effect.
    package var nextDeadline: MonotonicInstant? {
        hasEnded ? nil : [pending?.deadline, pending == nil ? nil : procedureDeadline].compactMap { $0 }.min()
    }

    /// Handles one input and returns its effects in order. Time must not go backwards. No effect follows `ended`.
    package mutating func handle(_ input: Input, at now: MonotonicInstant) -> [Effect] {
        guard !hasEnded else { return [] }
        switch input {
        case .start:
            begin(.exchangeMTU, at: now)
            request(.exchangeMTURequest(mtu: UInt16(maximumMTU)), at: now)
        case .startWithoutMTUExchange:
            becomeReady()
        case .received(let bytes):
            receive(bytes, at: now)
        case .request(let request):
            enqueue(request, at: now)
        case .tick:
            expire(at: now)
        }
        defer { effects = [] }
        return effects
    }

    // MARK: Requests

    private mutating func enqueue(_ request: CentralRequest, at now: MonotonicInstant) {
        guard waiting.count < Limit.waitingRequests else {
            let error = LinkError(.invalidState, "too many pending requests (\(waiting.count))")
            return emit(.event(request.failed(error)))
        }
        waiting.append(request)
        startNext(at: now)
    }

    func canStart() -> Bool { isReady && !hasEnded && procedure == nil && !waiting.isEmpty }

    mutating func startNext(at now: MonotonicInstant) {
        while canStart() { start(waiting.removeFirst(), at: now) }
    }

    mutating func begin(_ new: Procedure, at now: MonotonicInstant) {
        procedure = new
        procedureDeadline = now.advanced(by: Limit.procedure)
    }

    /// Sends a request. `proceed` handles its response.
    mutating func request(_ pdu: ATTPDU, at now: MonotonicInstant) {
        pending = (pdu, now.advanced(by: Limit.transaction))
        emit(.send(pdu.encoded))
    }

    mutating func finish(_ event: CentralEvent, at now: MonotonicInstant) {
        procedure = nil
        emit(.event(event))
    }

    mutating func becomeReady() {
        procedure = nil
        isReady = true
        emit(.ready(mtu: mtu))
    }

    // MARK: Received PDUs

    private mutating func receive(_ bytes: [UInt8], at now: MonotonicInstant) {
        let pdu: ATTPDU
        do throws(MalformedPDU) {
            guard bytes.count <= maximumMTU else {
                throw MalformedPDU(field: "a PDU within the MTU", offset: 0, needed: maximumMTU, found: bytes.count)
            }
            pdu = try ATTPDU(decoding: bytes)
        } catch {
            let name = bytes.first.map { "\(ATTOpcode($0))" } ?? "PDU"
            return end(LinkError(.protocolViolation, "the peer sent a malformed \(name)", cause: "\(error)"))
        }
        if bytes.count > mtu { log("sent \(bytes.count) bytes with MTU \(mtu); accepted") }
        switch pdu {
        case .notification(let handle, let value):
            deliver(handle, value)
        case .multipleNotification(let list):
            for item in list { deliver(item.handle, item.value) }
        case .indication(let handle, let value):
            emit(.send(ATTPDU.confirmation.encoded))
            deliver(handle, value)
        case _ where pdu.opcode.isResponse:
            receiveResponse(pdu, at: now)
        default:
            receiveRequest(pdu)
        }
    }

    private mutating func receiveResponse(_ pdu: ATTPDU, at now: MonotonicInstant) {
        guard let pending else { return log("sent \(pdu.opcode) without a request; ignored") }
        let request = pending.request.opcode
        let answered: ATTOpcode? = if case .errorResponse(let request, _, _) = pdu { request } else { nil }
        guard answered == request || pdu.opcode == request.response else {
            let answerText = answered.map { "an error for \($0)" } ?? "\(pdu.opcode)"
            return log("answered \(request) with \(answerText); ignored")
        }
        guard !isStale(pdu), !pdu.isError(notOf: pending.request) else {
            return log("answered \(request) with the response to an earlier request; ignored")
        }
        self.pending = nil
        proceed(with: pdu, at: now)
        startNext(at: now)
    }

    /// Answers requests of the peer's client with an empty attribute table, so that it does not wait.
    private mutating func receiveRequest(_ pdu: ATTPDU) {
        let opcode = pdu.opcode
        switch pdu {
        case .exchangeMTURequest:
            return emit(.send(ATTPDU.exchangeMTUResponse(mtu: UInt16(maximumMTU)).encoded))
        case .findInformationRequest(let range), .findByTypeValueRequest(let range, _, _),
            .readByTypeRequest(let range, _), .readByGroupTypeRequest(let range, _):
            emit(.send(ATTPDU.errorResponse(request: opcode, handle: range.first, error: .attributeNotFound).encoded))
        case .readRequest(let handle), .readBlobRequest(let handle, _), .writeRequest(let handle, _),
            .prepareWriteRequest(let handle, _, _):
            emit(.send(ATTPDU.errorResponse(request: opcode, handle: handle, error: .invalidHandle).encoded))
        case _ where opcode.isCommand || opcode == .confirmation:
            log("sent \(opcode) to a client; ignored")
        default:
            log("sent the request \(opcode) to a client; rejected")
            emit(.send(ATTPDU.errorResponse(request: opcode, handle: 0, error: .requestNotSupported).encoded))
        }
    }

    private mutating func deliver(_ handle: UInt16, _ value: [UInt8]) {
        guard isReady else { return log("sent a value of handle \(handle) before the MTU exchange; ignored") }
        emit(.event(.notification(handle: handle, value: value)))
    }

    // MARK: End of the bearer

    private mutating func expire(at now: MonotonicInstant) {
        guard let pending, let deadline = nextDeadline, deadline <= now else { return }
        let lateOperation =
            pending.deadline <= now
            ? "\(pending.request.opcode) was not answered in 30 s" : "the peer responds too slowly"
        end(LinkError(.timeout, "\(lateOperation); the connection is unusable", isTransient: true))
    }

    mutating func end(_ error: LinkError) {
        hasEnded = true
        procedure = nil
        pending = nil
        waiting = []
        emit(.ended(error))
    }

    mutating func emit(_ effect: Effect) { effects.append(effect) }

    /// Logs at most 20 lines per connection, so that a peer cannot fill the disk.
    mutating func log(_ line: String) {
        guard logLines <= Limit.logLines else { return }
        logLines += 1
        emit(.log(logLines > Limit.logLines ? "further messages about the peer are not logged" : "the peer \(line)"))
    }
}

extension ATTPDU {
    /// Whether this is an Error Response whose handle is not one of the request's (Core 5.4, Vol 3 Part F, 3.4.1.1).
    /// Handle 0 names none.
    fileprivate func isError(notOf request: ATTPDU) -> Bool {
        guard case .errorResponse(_, let handle, _) = self, handle != 0 else { return false }
        switch request {
        case .readRequest(let requestHandle), .readBlobRequest(let requestHandle, _),
            .writeRequest(let requestHandle, _):
            return handle != requestHandle
        case .findInformationRequest(let range), .readByTypeRequest(let range, _),
            .readByGroupTypeRequest(let range, _):
            return handle < range.first || handle > range.last
        default: return false
        }
    }
}
