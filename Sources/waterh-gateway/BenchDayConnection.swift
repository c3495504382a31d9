import Bluetooth
import BottleProtocol

/// One connection to the bottle. It writes requests, and stores every event with its time.
actor BenchDayConnection {
    private let link: any CentralLink
    private let clock = MonotonicClock.system
    private var events: [(at: MonotonicInstant, event: CentralEvent)] = []
    /// The index of the first event that is not yet used as a response.
    private var position = 0
    private var isClosed = false
    private var failure: LinkError?
    private var pump: Task<Void, Never>?
    private(set) var mtu: Int?
    /// The attribute table, set after discovery.
    private(set) var table: Table?

    struct Table: Sendable {
        let profile: BottleProfile
        let command: RemoteCharacteristic
        let response: RemoteCharacteristic
    }

    /// The maximum number of stored notifications and advertisements, so that a bottle cannot fill the memory.
    private static let limit = 10_000

    init(_ link: any CentralLink) { self.link = link }

    func connect(find limit: Duration, _ isWanted: @escaping @Sendable (Advertisement) -> Bool) async throws
        -> Advertisement
    {
        let source = link.events
        pump = Task {
            for await event in source { self.take(event) }
            self.isClosed = true
        }
        let found: Advertisement = try await request(.startScan, "no bottle was seen", within: limit) {
            switch $0 {
            case .advertised(let seen): isWanted(seen) ? .success(seen) : nil
            case .scanFailed(let error), .unavailable(let error): .failure(error)
            default: nil
            }
        }
        link.perform(.stopScan)
        mtu = try await request(.connect(found.peer, limit: .seconds(10)), "connecting failed") {
            switch $0 {
            case .connected(_, let mtu): .success(mtu)
            case .connectFailed(let error): .failure(error)
            default: nil
            }
        }
        return found
    }

    /// Discovers and subscribes.
    /// - Returns: the serial number and the name, if readable.
    func prepare() async throws -> (serial: String?, name: String?) {
        let services: [RemoteService] = try await request(.discover, "the table was not read") {
            switch $0 {
            case .discovered(let services): .success(services)
            case .discoveryFailed(let error): .failure(error)
            default: nil
            }
        }
        let all = services.flatMap(\.characteristics)
        func find(_ uuid: UInt16) -> RemoteCharacteristic? { all.first { $0.uuid == BluetoothUUID(uuid) } }
        table =
            [BottleProfile.retail, .draft].lazy.compactMap { profile in
                guard let command = find(profile.commandCharacteristic),
                    let response = find(profile.responseCharacteristic)
                else { return nil }
                return Table(profile: profile, command: command, response: response)
            }.first
        guard let table else { throw LinkError(.protocolViolation, "It does not have a bottle's characteristics.") }
        var texts: [String?] = []
        for uuid: UInt16 in [0x2A25, 0x2A00] {
            guard let found = find(uuid), let bytes = try? await read(found) else { texts.append(nil); continue }
            texts.append(String(validating: bytes, as: UTF8.self))
        }
        let handle = table.response.handle
        try await request(.subscribe(handle: handle), "the subscription was not answered") {
            switch $0 {
            case .subscribed(handle): .success(())
            case .subscribeFailed(handle, let error): .failure(error)
            default: nil
            }
        }
        return (texts[0], texts[1])
    }

    func read(_ target: RemoteCharacteristic) async throws -> [UInt8] {
        let handle = target.handle
        return try await request(.read(handle: handle), "the read was not answered") {
            switch $0 {
            case .read(handle, let value): .success(value)
            case .readFailed(handle, let error): .failure(error)
            default: nil
            }
        }
    }

    func write(_ bytes: [UInt8]) async throws {
        guard let target = table?.command else { return }
        let handle = target.handle
        let withResponse = !target.properties.contains(.writeWithoutResponse)
        try await request(
            .write(handle: handle, value: bytes, withResponse: withResponse), "the write was not answered"
        ) {
            switch $0 {
            case .wrote(handle): .success(())
            case .writeFailed(handle, let error): .failure(error)
            default: nil
            }
        }
    }

    /// Scans for that long.
    /// - Returns: how many advertisements of the peer were seen.
    func scan(_ span: Duration, for peer: PeerID) async throws -> Int {
        let start = clock.now()
        link.perform(.startScan)
        defer { link.perform(.stopScan) }
        try await listen(from: start, within: span)
        return events.count { seen in
            if seen.at >= start, case .advertised(let advertisement) = seen.event {
                advertisement.peer == peer
            } else {
                false
            }
        }
    }

    /// The values of the response characteristic since `start`.
    func values(since start: MonotonicInstant) -> [BenchDayRecordedStep.Value] {
        events.compactMap { seen in
            guard seen.at >= start, case .notification(let handle, let bytes) = seen.event,
                handle == table?.response.handle
            else { return nil }
            return .init(after: start.duration(to: seen.at), bytes: bytes)
        }
    }

    /// Listens until `isDone`, until a pause of `quiet` after an event, or for all of `limit`.
    func listen(
        from start: MonotonicInstant, within limit: Duration, quiet: Duration? = nil,
        until isDone: @Sendable ([[UInt8]]) -> Bool = { _ in false }
    ) async throws {
        let end = clock.now().advanced(by: limit)
        while true {
            let came = values(since: start)
            if isDone(came.map(\.bytes)) { return }
            let due = quiet.flatMap { quiet in came.last.map { start.advanced(by: $0.after + quiet) } } ?? end
            guard clock.now() < due, came.count < Self.limit else { return }
            if let failure { throw failure }
            try await pause()
        }
    }

    func close() async {
        await link.close()
        pump?.cancel()
        isClosed = true
    }

    private func take(_ event: CentralEvent) {
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
    private func request<Answer: Sendable>(
        _ request: CentralRequest, _ what: String, within limit: Duration = .seconds(15),
        _ match: (CentralEvent) -> Result<Answer, LinkError>?
    ) async throws -> Answer {
        link.perform(request)
        let end = clock.now().advanced(by: limit)
        while true {
            while position < events.count {
                let event = events[position].event
                position += 1
                if let answer = match(event) { return try answer.get() }
            }
            if let failure { throw failure }
            guard !isClosed else { throw LinkError(.disconnected, "The link was closed: \(what).") }
            guard clock.now() < end else { throw LinkError(.timeout, "Time limit of \(limit) exceeded: \(what).") }
            try await pause()
        }
    }

    /// Pauses for 10 ms between checks of events. The times of events are those of arrival.
    private func pause() async throws { try await Task.sleep(for: .milliseconds(10)) }
}
