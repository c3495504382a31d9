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
        /// The transport is open, and the MTU exchange is in progress.
        case exchangingMTU(PeerID, deadline: MonotonicInstant, GATTClient)
        case connected(PeerID, GATTClient)
    }

    private var state = State.idle
    /// Whether the last peer did not answer an Exchange MTU Request. Only the next attempt skips the exchange.
    private var skipsExchange = false

    package init() {}

    /// The earliest time at which `tick` has an effect.
    package var nextDeadline: MonotonicInstant? {
        switch state {
        case .idle: nil
        case .opening(_, let deadline): deadline
        case .exchangingMTU(_, let deadline, let client): min(deadline, client.nextDeadline ?? deadline)
        case .connected(_, let client): client.nextDeadline
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
            state = .exchangingMTU(peer, deadline: deadline, GATTClient())
            defer { skipsExchange = false }
            return feed(skipsExchange ? .startWithoutExchange : .start, at: now)
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
                return [.event(.connectFailed(LinkError(.outOfStep, "this link is already connected or connecting")))]
            }
            state = .opening(peer, deadline: now.advanced(by: limit))
            return [.open(peer)]
        case .disconnect:
            defer { state = .idle }
            if case .idle = state { return [.event(.disconnected(nil))] }
            return [.close, .event(.disconnected(nil))]
        case .forget: return [.event(.recovered("this link stores nothing about a peer"))]
        case .powerCycle: return [.event(.recovered("this link has no adapter to switch off and on"))]
        case .discover, .read, .write, .subscribe:
            if case .connected = state { return feed(.request(request), at: now) }
            guard case .event(let failure) = request.failure(LinkError(.outOfStep, "not connected")) else {
                return []
            }
            return [.event(failure)]
        }
    }

    private mutating func tick(at now: MonotonicInstant) -> [Effect] {
        switch state {
        case .opening(_, let deadline) where deadline <= now:
            return [.close] + end(LinkError(.timeout, "the connection was not established in time", isTransient: true))
        case .exchangingMTU(_, let deadline, _) where deadline <= now:
            skipsExchange = true
            let sentence =
                "the peer accepted the connection but does not respond; it might be connected to another central"
            return [.close] + end(LinkError(.timeout, sentence, isTransient: true))
        default:
            return feed(.tick, at: now)
        }
    }

    private mutating func feed(_ input: GATTClient.Input, at now: MonotonicInstant) -> [Effect] {
        var client: GATTClient
        let clientEffects: [GATTClient.Effect]
        switch state {
        case .idle, .opening:
            return []
        case .exchangingMTU(let peer, let deadline, let current):
            client = current
            clientEffects = client.handle(input, at: now)
            state = .exchangingMTU(peer, deadline: deadline, client)
        case .connected(let peer, let current):
            client = current
            clientEffects = client.handle(input, at: now)
            state = .connected(peer, client)
        }
        var effects: [Effect] = []
        for effect in clientEffects {
            switch effect {
            case .send(let bytes): effects.append(.send(bytes))
            case .event(let event): effects.append(.event(event))
            case .log(let line): effects.append(.log(line))
            case .ended(let error): effects += [.close] + end(error)
            case .ready(let mtu):
                guard case .exchangingMTU(let peer, _, _) = state else { continue }
                state = .connected(peer, client)
                effects.append(.event(.connected(peer, mtu: mtu)))
            }
        }
        return effects
    }

    private mutating func end(_ error: LinkError) -> [Effect] {
        defer { state = .idle }
        switch state {
        case .idle: return []
        case .opening, .exchangingMTU: return [.event(.connectFailed(error))]
        case .connected: return [.event(.disconnected(error))]
        }
    }
}
