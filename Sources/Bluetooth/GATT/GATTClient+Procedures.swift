// The GATT procedures (Core 5.4, Vol 3 Part G, 4) except discovery. Each has a first request and a continuation.
extension GATTClient {
    mutating func start(_ request: CentralRequest, at now: MonotonicInstant) {
        switch request {
        case .discover:
            begin(.discover(Discovery()), at: now)
            advanceDiscovery(at: now)
        case .read(let handle):
            begin(.read(handle: handle, value: []), at: now)
            self.request(.readRequest(handle: handle), at: now)
        case .write(let handle, let value, let withResponse):
            write(handle, value, withResponse: withResponse, at: now)
        case .subscribe(let handle):
            subscribe(handle, at: now)
        case .startScan, .stopScan, .connect, .disconnect, .clearCache, .powerCycle:
            emit(.event(request.failed(LinkError(.invalidState, "not supported by a GATT client"))))
        }
    }

    mutating func proceed(with pdu: ATTPDU, at now: MonotonicInstant) {
        var refusal: ATTErrorCode?
        if case .errorResponse(_, _, let error) = pdu { refusal = error }
        switch procedure {
        case .exchangeMTU: finishMTUExchange(pdu)
        case .discover(let discovery): continueDiscovery(discovery, pdu, at: now)
        case .read(let handle, let value): proceedReading(handle, value, pdu, at: now)
        case .write(let handle):
            finish(
                refusal.map { .writeFailed(handle: handle, Self.refused("the write", handle, $0)) }
                    ?? .wrote(handle: handle), at: now)
        case .subscribe(let handle):
            finish(
                refusal.map { .subscribeFailed(handle: handle, Self.refused("the subscription", handle, $0)) }
                    ?? .subscribed(handle: handle), at: now)
        case nil:
            break
        }
    }

    func isStale(_ pdu: ATTPDU) -> Bool {
        guard case .discover(let discovery) = procedure else { return false }
        return discovery.isRepeated(pdu)
    }

    static func refused(_ operation: String, _ handle: UInt16, _ error: ATTErrorCode) -> LinkError {
        LinkError(.refused, "the peer rejected \(operation) of handle \(handle): \(error)", attError: error.rawValue)
    }

    // MARK: MTU

    /// Ends the MTU exchange. If the server rejects it, the MTU stays at 23.
    private mutating func finishMTUExchange(_ pdu: ATTPDU) {
        if case .exchangeMTUResponse(let offered) = pdu {
            mtu = max(ATTPDU.defaultMTU, min(Int(offered), maximumMTU))
        } else {
            log("rejected the MTU exchange; the MTU stays 23")
        }
        becomeReady()
    }

    // MARK: Reading

    /// Sends Read Blob until a PDU is not full, because a full PDU might not be the whole value (Vol 3 Part G, 4.8.3).
    private mutating func proceedReading(_ handle: UInt16, _ received: [UInt8], _ pdu: ATTPDU, at now: MonotonicInstant)
    {
        switch pdu {
        // The PDU might be a repeated response to the previous read: read this handle again.
        case .readResponse(let part) where previousRead.map { $0.handle != handle && $0.part == part } == true:
            previousRead = nil
            request(.readRequest(handle: handle), at: now)
        case .readResponse(let part), .readBlobResponse(let part):
            previousRead = (handle, part)
            let value = received + part
            guard value.count <= ATTPDU.maximumValueLength else {
                let error = LinkError(.protocolViolation, "the value of handle \(handle) is longer than 512 bytes")
                return finish(.readFailed(handle: handle, error), at: now)
            }
            guard part.count >= mtu - 1, value.count < ATTPDU.maximumValueLength else {
                return finish(.read(handle: handle, value: value), at: now)
            }
            procedure = .read(handle: handle, value: value)
            request(.readBlobRequest(handle: handle, offset: UInt16(value.count)), at: now)
        case .errorResponse(_, _, .attributeNotLong) where !received.isEmpty,
            .errorResponse(_, _, .invalidOffset) where !received.isEmpty:
            finish(.read(handle: handle, value: received), at: now)
        case .errorResponse(_, _, let error):
            finish(.readFailed(handle: handle, Self.refused("the read", handle, error)), at: now)
        default:
            break
        }
    }

    // MARK: Writing

    /// Writes a value in one PDU. The gateway's commands fit in a PDU at MTU 23.
    private mutating func write(_ handle: UInt16, _ value: [UInt8], withResponse: Bool, at now: MonotonicInstant) {
        let maximum = min(mtu - 3, ATTPDU.maximumValueLength)
        guard value.count <= maximum else {
            let kind = withResponse ? "" : " without response"
            let error = LinkError(
                .invalidState, "cannot write \(value.count) bytes\(kind): the maximum is \(maximum) (MTU \(mtu))")
            return emit(.event(.writeFailed(handle: handle, error)))
        }
        guard withResponse else {
            emit(.send(ATTPDU.writeCommand(handle: handle, value: value).encoded))
            return emit(.event(.wrote(handle: handle)))
        }
        begin(.write(handle: handle), at: now)
        request(.writeRequest(handle: handle, value: value), at: now)
    }

    // MARK: Subscribing

    /// Enables notifications if the characteristic supports them, else indications (Vol 3 Part G, 3.3.3.3).
    private mutating func subscribe(_ handle: UInt16, at now: MonotonicInstant) {
        func fail(_ sentence: String) -> Effect {
            .event(.subscribeFailed(handle: handle, LinkError(.invalidState, sentence)))
        }
        guard let properties = found.properties[handle] else {
            return emit(fail("handle \(handle) is not a discovered characteristic value"))
        }
        guard !properties.isDisjoint(with: [.notify, .indicate]) else {
            return emit(fail("the characteristic at handle \(handle) supports neither notifications nor indications"))
        }
        guard let cccd = found.cccdHandles[handle] else {
            return emit(fail("the characteristic at handle \(handle) has no Client Characteristic Configuration"))
        }
        begin(.subscribe(handle: handle), at: now)
        request(.writeRequest(handle: cccd, value: [properties.contains(.notify) ? 1 : 2, 0]), at: now)
    }
}
