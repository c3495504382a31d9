import Bluetooth
import BottleProtocol
import Gateway

/// One connection to the bottle. It sends requests, and stores every event with its time.
actor BenchDayConnection {
    private let link: any CentralLink
    private let clock = MonotonicClock.system
    private var events: [(at: MonotonicInstant, event: CentralEvent)] = []
    /// The index of the first event that has not been used as a response.
    private var position = 0
    private var failure: LinkError?
    private var eventTask: Task<Void, Never>?
    private(set) var mtu: Int?
    private(set) var profile: BottleProfile?
    private var command: RemoteCharacteristic?
    private var response: RemoteCharacteristic?

    /// The maximum number of stored notifications and advertisements, so that a bottle cannot fill the memory.
    private static let limit = 10_000

    init(_ link: any CentralLink) { self.link = link }

    /// Finds a bottle, connects, discovers the characteristics, reads serial number and name, and subscribes.
    func connect(within limit: Duration, _ isWanted: @escaping @Sendable (Advertisement) -> Bool) async throws
        -> (found: Advertisement, serial: String?, name: String?)
    {
        let source = link.events
        eventTask = Task {
            for await event in source { self.record(event) }
            failure = failure ?? LinkError(.disconnected, "The link was closed.")
        }
        let found = try await request(.startScan, "no bottle was seen", within: limit) {
            if case .advertised(let seen) = $0, isWanted(seen) { seen } else { nil }
        }
        link.perform(.stopScan)
        mtu = try await request(.connect(found.peer, limit: .seconds(10)), "connecting failed") {
            if case .connected(_, let mtu) = $0 { mtu } else { nil }
        }
        let services = try await request(.discover, "the services were not discovered") {
            if case .discovered(let services) = $0 { services } else { nil }
        }
        let pair: CharacteristicPair
        do throws(CharacteristicPair.NoMatchingProfile) {
            pair = try CharacteristicPair.all(in: services)[0]
        } catch {
            throw LinkError(
                .protocolViolation,
                "It does not have a bottle's characteristics: \(error.reasons.joined(separator: "; ")).")
        }
        (profile, command, response) = (pair.profile, pair.command, pair.response)
        let all = services.flatMap(\.characteristics)
        func find(_ uuid: BluetoothUUID) -> RemoteCharacteristic? { all.first { $0.uuid == uuid } }
        let (serial, name) = (try? await text(find(0x2A25)), try? await text(find(0x2A00)))
        try await request(.subscribe(handle: pair.response.handle), "no response to the subscription") {
            if case .subscribed = $0 { () } else { nil }
        }
        return (found, serial, name)
    }

    private func text(_ characteristic: RemoteCharacteristic?) async throws -> String? {
        String(validating: try await read(characteristic), as: UTF8.self)
    }

    func readResponse() async throws -> [UInt8] { try await read(response) }

    private func read(_ target: RemoteCharacteristic?) async throws -> [UInt8] {
        guard let target else { throw LinkError(.protocolViolation, "The bottle does not have this characteristic.") }
        return try await request(.read(handle: target.handle), "no response to the read") {
            if case .read(target.handle, let value) = $0 { value } else { nil }
        }
    }

    func write(_ bytes: [UInt8]) async throws {
        guard let command else { return }
        let withResponse = !command.properties.contains(.writeWithoutResponse)
        try await request(
            .write(handle: command.handle, value: bytes, withResponse: withResponse), "no response to the write"
        ) {
            if case .wrote = $0 { () } else { nil }
        }
    }

    /// Scans for `span` and returns the number of advertisements of the peer.
    func scan(_ span: Duration, for peer: PeerID) async throws -> Int {
        let start = clock.now()
        link.perform(.startScan)
        defer { link.perform(.stopScan) }
        try await listen(from: start, within: span)
        return events.count { seen in
            if seen.at >= start, case .advertised(let found) = seen.event { found.peer == peer } else { false }
        }
    }

    /// The values of the response characteristic since `start`.
    func values(since start: MonotonicInstant) -> [BenchDayStep.Value] {
        events.compactMap { seen in
            guard seen.at >= start, case .notification(let handle, let bytes) = seen.event, handle == response?.handle
            else { return nil }
            return .init(after: start.duration(to: seen.at), bytes: bytes)
        }
    }

    /// Waits for values until `isDone`, until `quiet` has passed without a value, or until `limit`.
    func listen(
        from start: MonotonicInstant, within limit: Duration, quiet: Duration? = nil,
        until isDone: @Sendable ([[UInt8]]) -> Bool = { _ in false }
    ) async throws {
        let end = clock.now().advanced(by: limit)
        while true {
            let received = values(since: start)
            if isDone(received.map(\.bytes)) { return }
            let due = quiet.flatMap { quiet in received.last.map { start.advanced(by: $0.after + quiet) } } ?? end
            guard clock.now() < due, received.count < Self.limit else { return }
            if let failure { throw failure }
            try await pause()
        }
    }

    func close() async {
        await link.close()
        eventTask?.cancel()
    }

    private func record(_ event: CentralEvent) {
        switch event {
        case .notification, .advertised: guard events.count < Self.limit else { return }
        case .mtuChanged(let size): mtu = size
        case .disconnected(let error):
            failure = error ?? LinkError(.disconnected, "The connection ended.", isTransient: true)
        default: break
        }
        events.append((clock.now(), event))
    }

    /// Waits for the event that answers the request.
    private func request<Answer>(
        _ request: CentralRequest, _ name: String, within limit: Duration = .seconds(15),
        _ answer: (CentralEvent) -> Answer?
    ) async throws -> Answer {
        link.perform(request)
        let end = clock.now().advanced(by: limit)
        while true {
            while position < events.count {
                let event = events[position].event
                position += 1
                if let error = event.requestError { throw error }
                if let answer = answer(event) { return answer }
            }
            if let failure { throw failure }
            guard clock.now() < end else { throw LinkError(.timeout, "Time limit of \(limit) exceeded: \(name).") }
            try await pause()
        }
    }

    /// Waits 10 ms before the next check of the stored events.
    private func pause() async throws { try await Task.sleep(for: .milliseconds(10)) }
}

extension CentralEvent {
    fileprivate var requestError: LinkError? {
        switch self {
        case .scanFailed(let error), .unavailable(let error), .connectFailed(let error), .discoveryFailed(let error),
            .readFailed(_, let error), .writeFailed(_, let error), .subscribeFailed(_, let error):
            error
        default: nil
        }
    }
}
