import Bluetooth
import Foundation
import Testing

/// The reported events of a link, with waits that have a limit.
actor Inbox<Event: Sendable> {
    private(set) var all: [Event] = []
    private(set) var isFinished = false
    private var taken = 0
    private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastWaiter = 0

    init(_ events: AsyncStream<Event>) {
        Task {
            for await event in events { await self.append(event) }
            await self.finish()
        }
    }

    private func append(_ event: Event) {
        all.append(event)
        wake()
    }

    private func finish() {
        isFinished = true
        wake()
    }

    private func wake() {
        for waiter in waiters.values { waiter.resume() }
        waiters = [:]
    }

    private func wake(_ waiter: Int) { waiters.removeValue(forKey: waiter)?.resume() }

    private func pause(until deadline: ContinuousClock.Instant) async {
        lastWaiter += 1
        let waiter = lastWaiter
        let limit = Task {
            try? await Task.sleep(until: deadline)
            self.wake(waiter)
        }
        await withCheckedContinuation { waiters[waiter] = $0 }
        limit.cancel()
    }

    /// The next event that `match` accepts; skips earlier ones.
    func next<Result: Sendable>(
        within limit: Duration = .seconds(10), _ what: String = "event", _ match: @Sendable (Event) -> Result?
    ) async throws -> Result {
        let deadline = ContinuousClock.now + limit
        while true {
            while taken < all.count {
                taken += 1
                if let result = match(all[taken - 1]) { return result }
            }
            if isFinished || ContinuousClock.now >= deadline { throw Missing(what: what, all: all.map { "\($0)" }) }
            await pause(until: deadline)
        }
    }

    func waitUntilFinished(within limit: Duration = .seconds(10)) async throws {
        let deadline = ContinuousClock.now + limit
        while !isFinished {
            if ContinuousClock.now >= deadline { throw Missing(what: "the end", all: all.map { "\($0)" }) }
            await pause(until: deadline)
        }
    }

    struct Missing: Error {
        var what: String
        var all: [String]
    }
}

extension Inbox where Event: Equatable {
    func next(_ event: Event) async throws {
        _ = try await next("\(event)") { $0 == event ? true : nil }
    }
}

/// The links with the same required behaviour.
enum LinkKind: String, CaseIterable {
    case memory, socket, stream

    var socketKind: UnixSocket.Kind { self == .stream ? .stream : .unix }
}

/// A unique socket path within the system's length limit.
func temporarySocket() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("b\(UInt32.random(in: 0...(.max))).sock").path
}

/// Both ends of a link with their events.
struct LinkBench {
    let central: any CentralLink
    let peripheral: any PeripheralLink
    let centralEvents: Inbox<CentralEvent>
    let peripheralEvents: Inbox<PeripheralEvent>
    let peer: PeerID

    init(
        _ kind: LinkKind, central centralInstruments: LinkInstruments = LinkInstruments(),
        peripheral peripheralInstruments: LinkInstruments = LinkInstruments()
    ) throws {
        switch kind {
        case .memory:
            (central, peripheral) = MemoryLink.pair(central: centralInstruments, peripheral: peripheralInstruments)
            peer = PeerID("memory")
        case .socket, .stream:
            let socket = try UnixSocket(path: temporarySocket(), kind: kind.socketKind)
            central = ATTCentralLink(socket, instruments: centralInstruments)
            peripheral = ATTPeripheralLink(socket, acceptTimeout: .seconds(30), instruments: peripheralInstruments)
            peer = PeerID(socket.path)
        }
        centralEvents = Inbox(central.events)
        peripheralEvents = Inbox(peripheral.events)
    }

    /// Advertises and connects; returns the central's id at the peripheral.
    func connect(_ application: GATTApplication = smallBottle) async throws -> CentralID {
        try await peripheral.open(application)
        return try await reconnect()
    }

    func reconnect() async throws -> CentralID {
        central.perform(.connect(peer, limit: .seconds(5)))
        _ = try await centralEvents.next("connected") { if case .connected(_, let mtu) = $0 { mtu } else { nil } }
        return try await peripheralEvents.next("connected") {
            if case .connected(let central) = $0 { central } else { nil }
        }
    }

    func close() async {
        await central.close()
        await peripheral.close()
    }
}
