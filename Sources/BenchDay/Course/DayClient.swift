import Bluetooth
import BottleProtocol

/// One connection to the bottle, with nothing between us and it: what is asked is written, and whatever comes is kept.
actor DayClient {
    private let link: any CentralLink
    private let clock: MonotonicClock
    private var pump: Task<Void, Never>?
    /// Answers to requests, oldest first.
    private var answers: [CentralEvent] = []
    private var notified: [(at: MonotonicInstant, handle: UInt16, bytes: [UInt8])] = []
    /// The last value of the step before: it may come a second time, and is no answer then.
    private var lastBefore: [UInt8]?
    private var waiter: CheckedContinuation<Void, Never>?
    private(set) var mtu: Int?
    private(set) var isCutOff = false
    private var isOver = false

    /// What one step may bring: a bottle that does not end must not fill our memory.
    private static let limit = 4096

    init(_ link: any CentralLink, clock: MonotonicClock) { (self.link, self.clock) = (link, clock) }

    // MARK: - Requests

    /// The first that is wanted, in the order of being seen.
    func find(within limit: Duration, _ isWanted: @Sendable (Advertisement) -> Bool) async throws -> Advertisement {
        begin()
        link.perform(.startScan)
        defer { link.perform(.stopScan) }
        return try await wait(limit, "No bottle was seen") {
            switch $0 {
            case .advertised(let seen): isWanted(seen) ? .success(seen) : nil
            case .scanFailed(let error), .unavailable(let error): .failure(error)
            default: nil
            }
        }
    }

    /// Goes on scanning, so that a recording of the air shows how often it advertises.
    func watch(for limit: Duration) async throws {
        link.perform(.startScan)
        defer { link.perform(.stopScan) }
        let end = clock.now().advanced(by: limit)
        while !isOver, clock.now() < end {
            try Task.checkCancellation()
            await rest(until: end)
        }
        // What was seen meanwhile answers nothing that is asked from here on.
        answers = []
    }

    func connect(_ peer: PeerID, within limit: Duration) async throws {
        link.perform(.connect(peer, limit: limit))
        mtu = try await wait(limit + .seconds(2), "The connection did not come about") {
            switch $0 {
            case .connected(_, let mtu): .success(mtu)
            case .connectFailed(let error): .failure(error)
            default: nil
            }
        }
    }

    func discover(within limit: Duration) async throws -> [RemoteService] {
        link.perform(.discover)
        return try await wait(limit, "The table was not read") {
            switch $0 {
            case .discovered(let services): .success(services)
            case .discoveryFailed(let error): .failure(error)
            default: nil
            }
        }
    }

    func read(_ handle: UInt16, within limit: Duration) async throws -> [UInt8] {
        link.perform(.read(handle: handle))
        return try await wait(limit, "The value was not read") {
            switch $0 {
            case .read(handle, let value): .success(value)
            case .readFailed(handle, let error): .failure(error)
            default: nil
            }
        }
    }

    func subscribe(_ handle: UInt16, within limit: Duration) async throws {
        link.perform(.subscribe(handle: handle))
        try await wait(limit, "The subscription was not answered") {
            switch $0 {
            case .subscribed(handle): .success(())
            case .subscribeFailed(handle, let error): .failure(error)
            default: nil
            }
        }
    }

    func write(_ bytes: [UInt8], to target: RemoteCharacteristic, within limit: Duration) async throws {
        let handle = target.handle
        link.perform(
            .write(handle: handle, value: bytes, withResponse: !target.properties.contains(.writeWithoutResponse)))
        try await wait(limit, "The write was not answered") {
            switch $0 {
            case .wrote(handle): .success(())
            case .writeFailed(handle, let error): .failure(error)
            default: nil
            }
        }
    }

    /// Hangs up and gives the link back; also after a cancellation.
    func close() async {
        await link.close()
        pump?.cancel()
        isOver = true
        wake()
    }

    // MARK: - Notifications

    /// From now on what comes counts as the next step's.
    func forget() {
        lastBefore = notified.last?.bytes ?? lastBefore
        notified = []
    }

    /// Whether a value of that characteristic has come by now.
    func hasCome(from handle: UInt16) -> Bool { notified.contains { $0.handle == handle } }

    /// Whether that value has come, and none that begins with those bytes.
    func hasCome(_ value: [UInt8], andNothingOf letters: [UInt8]) -> Bool {
        notified.contains { $0.bytes == value } && !notified.contains { $0.bytes.starts(with: letters) }
    }

    /// Waits until `isDone` of what came says so, nothing came for `quiet` after something had, or nothing at all
    /// within `limit`. Without `quiet` for all of `limit`.
    func listen(
        within limit: Duration, quiet: Duration? = nil, until isDone: @Sendable ([[UInt8]]) -> Bool = { _ in false }
    ) async throws {
        let end = clock.now().advanced(by: limit)
        while !isCutOff, !isOver, !isDone(new), notified.count < Self.limit {
            try Task.checkCancellation()
            let last = notified.last?.at
            let due = quiet.flatMap { quiet in last.map { $0.advanced(by: quiet) } } ?? end
            guard clock.now() < due else { return }
            await rest(until: due)
        }
    }

    /// What came, without a repeat of what came before.
    private var new: [[UInt8]] {
        let values = notified.map(\.bytes)
        return values.first == lastBefore ? Array(values.dropFirst()) : values
    }

    /// Waits until the bottle hangs up, or `limit` is over.
    func listenForEnd(within limit: Duration) async throws {
        let end = clock.now().advanced(by: limit)
        while !isCutOff, !isOver, clock.now() < end {
            try Task.checkCancellation()
            await rest(until: end)
        }
    }

    /// What came since `forget`, counted from `start`.
    func values(since start: MonotonicInstant, _ names: [UInt16: BluetoothUUID]) -> [DayValue] {
        notified.map {
            DayValue(
                after: max(.zero, start.duration(to: $0.at)), characteristic: names[$0.handle] ?? BluetoothUUID(0),
                bytes: $0.bytes)
        }
    }

    // MARK: - Waiting

    private func begin() {
        guard pump == nil else { return }
        let events = link.events
        pump = Task {
            for await event in events { self.take(event) }
            self.end()
        }
    }

    private func take(_ event: CentralEvent) {
        switch event {
        case .notification(let handle, let value):
            if notified.count < Self.limit { notified.append((clock.now(), handle, value)) }
        case .mtuChanged(let size): mtu = size
        case .disconnected(let error):
            isCutOff = isCutOff || error != nil
            answers.append(event)
        default:
            if answers.count < Self.limit { answers.append(event) }
        }
        wake()
    }

    private func end() {
        isOver = true
        wake()
    }

    private func wait<Answer>(_ limit: Duration, _ what: String, _ isIt: (CentralEvent) -> Result<Answer, LinkError>?)
        async throws -> Answer
    {
        let end = clock.now().advanced(by: limit)
        while true {
            try Task.checkCancellation()
            while !answers.isEmpty {
                let event = answers.removeFirst()
                if let answer = isIt(event) { return try answer.get() }
                if case .disconnected(let error?) = event { throw error }
            }
            guard !isOver else { throw LinkError(.disconnected, "\(what): the link was closed.") }
            guard clock.now() < end else { throw LinkError(.timeout, "\(what) in \(limit.components.seconds) s.") }
            await rest(until: end)
        }
    }

    /// Until something happens, `end`, or a cancellation.
    private func rest(until end: MonotonicInstant) async {
        let timer = Task { [clock] in
            // One that was given up wakes nobody: it would be the next rest's, which gives up its own timer then, and
            // so on without a pause.
            guard (try? await Task.sleep(for: max(.zero, clock.now().duration(to: end)))) != nil else { return }
            self.wake()
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wake()
                waiter = continuation
                if Task.isCancelled { wake() }
            }
        } onCancel: {
            Task { await self.wake() }
        }
        timer.cancel()
    }

    private func wake() {
        waiter?.resume()
        waiter = nil
    }
}
