import Bluetooth

extension ProxyHost {
    mutating func enqueue(_ request: CentralRequest) {
        guard case .connected? = session?.phase else {
            return emit(request.failed(LinkError(.invalidState, "not connected")))
        }
        guard let count = session?.waiting.count, count < Limit.waitingRequests else {
            let error = LinkError(.invalidState, "too many pending requests (\(Limit.waitingRequests))")
            return emit(request.failed(error))
        }
        session?.waiting.append(request)
        startNext()
    }

    private mutating func startNext() {
        while case .connected? = session?.phase, session?.current == nil, session?.waiting.isEmpty == false {
            guard let request = session?.waiting.removeFirst() else { return }
            start(request)
        }
    }

    private mutating func start(_ request: CentralRequest) {
        guard let session else { return }
        let address = session.address
        switch request {
        case .discover where session.isDiscovered: emit(.discovered(session.services.map(\.service)))
        case .discover: expect(.discover, of: request, .services(address))
        case .read(let handle): expect(.read(handle), of: request, .read(address, handle))
        case .write(let handle, let value, withResponse: true):
            expect(.write(handle), of: request, .write(address, handle, value, isAnswered: true))
        case .write(let handle, let value, withResponse: false):
            send(.write(address, handle, value, isAnswered: false))
            emit(.wrote(handle: handle))
        case .subscribe(let handle):
            func fail(_ sentence: String) { emit(.subscribeFailed(handle: handle, LinkError(.invalidState, sentence))) }
            guard let found = session.characteristic(handle) else {
                return fail("handle \(handle) is not a discovered characteristic value")
            }
            guard !found.properties.isDisjoint(with: [.notify, .indicate]) else {
                return fail("the characteristic at handle \(handle) supports neither notifications nor indications")
            }
            guard found.cccdHandle != nil else {
                return fail("the characteristic at handle \(handle) has no Client Characteristic Configuration")
            }
            expect(.forward(handle), of: request, .notify(address, handle))
        case .startScan, .stopScan, .connect, .disconnect, .clearCache, .powerCycle: break
        }
    }

    private mutating func expect(
        _ operation: ProxySession.Operation, of request: CentralRequest, _ message: ProxyRequest
    ) {
        session?.current = (operation, request, now.advanced(by: Limit.operation))
        send(message)
    }

    private mutating func finishRequest(_ event: CentralEvent) {
        session?.current = nil
        emit(event)
        startNext()
    }

    /// Handles a message about the connection. Messages of other connections or finished requests are ignored.
    mutating func processRequestMessage(_ message: ProxyMessage) {
        guard let session, case .connected = session.phase else { return }
        let (address, current) = (session.address, session.current?.operation)
        switch message {
        case .notified(address, let handle, let value): emit(.notification(handle: handle, value: value))
        case .services(address, let found) where current == .discover:
            self.session?.services += found.prefix(max(0, Limit.services - session.services.count))
        case .servicesDone(address) where current == .discover:
            self.session?.isDiscovered = true
            finishRequest(.discovered(session.services.map(\.service)))
        case .read(address, let handle, let value) where current == .read(handle):
            finishRequest(.read(handle: handle, value: value))
        case .written(address, let handle) where handle == current?.handle:
            switch current {
            case .write: finishRequest(.wrote(handle: handle))
            case .writeCCCD(let value, _): finishRequest(.subscribed(handle: value))
            default: break
            }
        case .subscribed(address, let handle) where current == .forward(handle): writeCCCD(handle)
        case .failed(address, let handle, let error):
            guard let current, let request = session.current?.request, current == .discover || handle == current.handle
            else { return }
            finishRequest(request.failed(Self.requestError(handle, error, endpoint)))
        default: break
        }
    }

    /// Enables notifications at the peer after the proxy has started to forward them.
    private mutating func writeCCCD(_ handle: UInt16) {
        guard let session, let found = session.characteristic(handle), let cccd = found.cccdHandle else {
            return
        }
        expect(
            .writeCCCD(handle, cccd: cccd), of: .subscribe(handle: handle),
            .writeDescriptor(session.address, cccd, found.properties.contains(.notify) ? [1, 0] : [2, 0]))
    }

    /// Errors 1 to 127 are ATT error codes (Core 5.4, Vol 3 Part F, table 3.4); others are the device's own.
    private static func requestError(_ handle: UInt16, _ error: Int, _ endpoint: NetworkEndpoint) -> LinkError {
        if (1...0x7F).contains(error) {
            return LinkError(
                .refused, "the peer rejected a request for handle \(handle): \(ATTErrorCode(UInt8(error)))",
                attError: UInt8(error))
        }
        return LinkError(
            .system, "\(endpoint) failed to perform a request for handle \(handle) (error \(error))", isTransient: true)
    }
}
