/// The state machine of a central on a link without a radio: finds the one peer, connects, and runs the GATT client.
///
/// Requests go in, and events and PDUs come out. Sockets, memory links and the simulation use this machine.
package struct CentralMachine: Sendable {
    package enum Input: Hashable, Sendable {
        case request(CentralRequest)
        case found(Advertisement)
        case notFound(LinkError)
        case opened
        case openFailed(LinkError)
        case received([UInt8])
        case closed(LinkError)
        case tick
    }

    package enum Effect: Hashable, Sendable {
        case scan
        case open(PeerID)
        case send([UInt8])
        case close
        case event(CentralEvent)
        case log(String)
    }

    private enum State {
        case idle
        case opening(PeerID, deadline: MonotonicInstant)
        /// The transport is open. `deadline` is that of the MTU exchange; `nil` after it.
        case open(PeerID, deadline: MonotonicInstant?, GATTClient)
    }

    private var state = State.idle
    /// Whether the last peer did not answer an Exchange MTU Request. Only the next attempt skips the exchange.
    private var skipsMTUExchange = false

    package init() {}

    /// The earliest time at which `tick` has an effect.
    package var nextDeadline: MonotonicInstant? {
        switch state {
        case .idle: nil
        case .opening(_, let deadline): deadline
        case .open(_, let deadline, let client): [deadline, client.nextDeadline].compactMap { $0 }.min()
        }
    }

    /// Handles one input and returns its effects in order. Time must not go backwards.
    package mutating func handle(_ input: Input, at now: MonotonicInstant) -> [Effect] {
        switch input {
        case .request(let request): return perform(request, at: now)
        case .found(let advertisement): return [.event(.advertised(advertisement))]
        case .notFound(let error): return [.event(.scanFailed(error))]
        case .opened:
            guard case .opening(let peer, let deadline) = state else { return [] }
            state = .open(peer, deadline: deadline, GATTClient())
            defer { skipsMTUExchange = false }
            return feed(skipsMTUExchange ? .startWithoutMTUExchange : .start, at: now)
        case .openFailed(let error): return end(error)
        case .received(let bytes): return feed(.received(bytes), at: now)
        case .closed(let error): return end(error)
        case .tick: return tick(at: now)
        }
    }

    private mutating func perform(_ request: CentralRequest, at now: MonotonicInstant) -> [Effect] {
        switch request {
        case .startScan: return [.scan]
        case .stopScan: return []
        case .connect(let peer, let limit):
            guard case .idle = state else {
                return [
                    .event(.connectFailed(LinkError(.invalidState, "this link is already connected or connecting")))
                ]
            }
            state = .opening(peer, deadline: now.advanced(by: limit))
            return [.open(peer)]
        case .disconnect:
            defer { state = .idle }
            if case .idle = state { return [.event(.disconnected(nil))] }
            return [.close, .event(.disconnected(nil))]
        case .clearCache: return [.event(.recovered("this link stores nothing about a peer"))]
        case .powerCycle: return [.event(.recovered("this link has no adapter to switch off and on"))]
        case .discover, .read, .write, .subscribe:
            if case .open(_, deadline: nil, _) = state { return feed(.request(request), at: now) }
            return [.event(request.failed(LinkError(.invalidState, "not connected")))]
        }
    }

    private mutating func tick(at now: MonotonicInstant) -> [Effect] {
        switch state {
        case .opening(_, let deadline) where deadline <= now:
            return [.close] + end(LinkError(.timeout, "the connection was not established in time", isTransient: true))
        case .open(_, let deadline?, _) where deadline <= now:
            skipsMTUExchange = true
            let sentence =
                "the peer accepted the connection but does not respond; it might be connected to another central"
            return [.close] + end(LinkError(.timeout, sentence, isTransient: true))
        default:
            return feed(.tick, at: now)
        }
    }

    private mutating func feed(_ input: GATTClient.Input, at now: MonotonicInstant) -> [Effect] {
        guard case .open(let peer, let deadline, var client) = state else { return [] }
        let clientEffects = client.handle(input, at: now)
        state = .open(peer, deadline: deadline, client)
        var effects: [Effect] = []
        for effect in clientEffects {
            switch effect {
            case .send(let bytes): effects.append(.send(bytes))
            case .event(let event): effects.append(.event(event))
            case .log(let line): effects.append(.log(line))
            case .ended(let error): effects += [.close] + end(error)
            case .ready(let mtu):
                state = .open(peer, deadline: nil, client)
                effects.append(.event(.connected(peer, mtu: mtu)))
            }
        }
        return effects
    }

    private mutating func end(_ error: LinkError) -> [Effect] {
        defer { state = .idle }
        switch state {
        case .idle: return []
        case .opening, .open(_, deadline: _?, _): return [.event(.connectFailed(error))]
        case .open: return [.event(.disconnected(error))]
        }
    }
}
