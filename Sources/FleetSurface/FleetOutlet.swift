import FleetWire
import Outgoing
import Pauses
import Store
import Synchronization
import TrackerCore
import TrackerDesk

/// Tells a person's drinks to a fleet for as long as a service runs: what changed since it was switched on, in order, in batches.
///
/// Where it stands is kept in the store, and moves only when the fleet has answered that a batch is committed: so nothing is forgotten, and what is told twice counts
/// once there. Nobody waits for it.
public actor FleetOutlet {
    /// What it is used in.
    public struct Surroundings: Sendable {
        /// The person's store.
        public var store: TrackerStore
        /// As listed; `nil` where nobody is.
        public var person: String?
        /// What is in force; `nil`: there is no fleet.
        public var plan: @Sendable () -> FleetPlan?
        /// Where the store lies; `nil` where that says nothing.
        public var home: @Sendable () -> OutletHome?
        /// Random, for who this store is to the fleet.
        public var makeID: @Sendable () -> String
        /// Takes what a person should hear.
        public var say: @Sendable (Word) -> Void
        /// From 0 to 1.
        public var chance: @Sendable () -> Double
        /// How long the fleet may take.
        public var limit: Duration

        public init(
            store: TrackerStore, person: String?, plan: @escaping @Sendable () -> FleetPlan?, home: @escaping @Sendable () -> OutletHome?,
            makeID: @escaping @Sendable () -> String, say: @escaping @Sendable (Word) -> Void, chance: @escaping @Sendable () -> Double = { .random(in: 0...1) },
            limit: Duration = .seconds(40)
        ) {
            (self.store, self.person, self.plan, self.home, self.makeID, self.say, self.chance, self.limit) = (store, person, plan, home, makeID, say, chance, limit)
        }
    }

    /// What there is to say to people; each once, until it changes.
    public enum Word: Hashable, Sendable {
        case on(String)
        case trouble(String)
        case goesOn
        case off
    }

    /// In the store.
    public static let name = "fleet"
    /// So many entries are told at once: far less than a fleet takes.
    static let batchLimit = 1000
    /// A fleet that is switched off and has not got so many changes is not forgotten.
    private static let mostWaiting = 20_000
    /// How often settings are looked at, and what another program stored.
    private static let lookEvery = Duration.seconds(3)

    private let around: Surroundings
    /// The store has had this outlet.
    private nonisolated let isKnown = Mutex(false)
    private var plan: FleetPlan?
    private var batch = FleetOutlet.batchLimit
    private var backoff = Backoff(first: .seconds(1), longest: .seconds(300))
    private var restsUntil: ContinuousClock.Instant?
    private var lastTrouble: String?
    private var pause: Task<Void, Never>?
    private var isPoked = false

    /// For a person; nothing happens before it runs.
    public init(_ around: Surroundings) { self.around = around }

    /// From here on what is stored is to be told. To be called before the first poll.
    public nonisolated func prepare() {
        if around.plan() != nil { _ = try? open() }
    }

    /// Goes on until its task is cancelled.
    public func run() async {
        while !Task.isCancelled {
            isPoked = false
            do {
                if try lookAtPlan() { try await tellAll() }
            } catch {
                await trouble("\(error)", after: nil)
            }
            await rest(max(.milliseconds(10), min(Self.lookEvery, restsUntil.map { $0 - .now } ?? Self.lookEvery)))
        }
    }

    /// Something was stored, or the plan is another one: looks at once.
    public func poke() {
        isPoked = true
        pause?.cancel()
    }

    /// Something stands between it and the fleet.
    var isInTrouble: Bool { lastTrouble != nil }

    // MARK: - Telling

    private func tellAll() async throws {
        while !Task.isCancelled, let plan {
            if let restsUntil, restsUntil > .now { return }
            let changes = try around.store.changes(for: Self.name, limit: batch)
            guard let last = changes.last else { return }
            let outlet = try open()
            let records = try around.store.records(ofDrinks: changes.map(\.key))
            let entries = changes.map { entry($0, outlet.id, records[$0.key]) }
            let token: String
            do { token = try Self.credential(plan.tokenFile) } catch { return await trouble(error.description, after: nil) }
            let request = OutgoingRequest(
                "POST", plan.address, headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/x-ndjson")], body: try FleetLines.bytes(entries))
            let answer: OutgoingAnswer
            do { answer = try await OutgoingClient(limit: around.limit, answerLimit: 64 << 10).send(request) } catch {
                return await trouble("\(error)", after: nil)
            }
            // Only this means that it is stored there for good.
            guard answer.status == 200 else {
                // A fleet that takes less at once is told less at once.
                if answer.status == 413, batch > 1 {
                    batch = max(1, batch / 8)
                    continue
                }
                let seconds = answer.header("Retry-After").flatMap(Int.init).map { min(max(0, $0), 3600) }
                return await trouble("\(plan) answered with status \(answer.status)\(Self.words(answer.body))", after: seconds.map { .seconds($0) })
            }
            try around.store.delivered(Self.name, through: last.sequence)
            backoff.reset()
            restsUntil = nil
            if lastTrouble != nil { around.say(.goesOn) }
            lastTrouble = nil
        }
    }

    private func entry(_ change: DrinkChange, _ store: String, _ record: DrinkRecord?) -> FleetEntry {
        let fact = change.drink.map {
            FleetEntry.Fact(at: $0.at, zone: $0.zone, day: $0.localDay, ml: $0.ml, isDeleted: $0.isDeleted, changed: $0.updatedAt)
        }
        let bytes = record.map { record in
            FleetEntry.Record(raw: record.raw.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(), received: record.received)
        }
        return FleetEntry(person: around.person, store: store, place: change.sequence, key: change.key, drink: fact, record: bytes)
    }

    // MARK: - Parts

    /// A store that was copied tells as somebody else: two that counted their changes under one name would overtake each other.
    @discardableResult
    private nonisolated func open() throws -> Outlet {
        let newID = { [around] in String(around.makeID().filter { $0 != "-" }.prefix(24)) }
        // A store that has none any more was purged: what was drunk since is news.
        let outlet = try isKnown.withLock { isKnown in
            let outlet = try around.store.openOutlet(Self.name, tellsAll: isKnown, makeID: newID)
            isKnown = true
            return outlet
        }
        guard let here = around.home(), try around.store.standing(of: Self.name, at: here) != .known else { return outlet }
        try around.store.beginAnew(Self.name, id: newID(), at: here)
        return try around.store.openOutlet(Self.name, makeID: newID)
    }

    /// - Returns: whether there is anybody to tell.
    private func lookAtPlan() throws -> Bool {
        let new = around.plan()
        if new == nil { try around.store.closeOutlet(Self.name, sparing: Self.mostWaiting) } else { try open() }
        guard new != plan else { return new != nil }
        if let new { around.say(.on("\(new)")) } else { around.say(.off) }
        plan = new
        (lastTrouble, restsUntil, batch) = (nil, nil, Self.batchLimit)
        backoff.reset()
        return new != nil
    }

    private func trouble(_ words: String, after seconds: Duration?) async {
        restsUntil = .now + max(seconds ?? .zero, backoff.next(chance: around.chance()))
        guard words != lastTrouble, !Task.isCancelled else { return }
        lastTrouble = words
        around.say(.trouble(words))
    }

    private struct NoCredential: Error, CustomStringConvertible {
        let description: String
    }

    private static func credential(_ file: String?) throws(NoCredential) -> String {
        guard let file else { throw NoCredential(description: "No file is named that holds the fleet's credential") }
        let text: String
        do {
            text = String(decoding: try SmallFile.read(file, limit: 8192), as: UTF8.self)
        } catch {
            throw NoCredential(description: "The file \(file), which holds the fleet's credential, \(error.words)")
        }
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        let token = String(line.drop { $0 == " " }.prefix { $0 != " " })
        guard !token.isEmpty, token.utf8.allSatisfy({ (33...126).contains($0) }) else { throw NoCredential(description: "The first line of \(file) is no credential of a fleet") }
        return token
    }

    /// What the fleet says of it.
    private static func words(_ body: [UInt8]) -> String {
        guard let problem = FleetAnswer.detail(body) else { return "" }
        return ": " + problem
    }

    private func rest(_ length: Duration) async {
        guard !isPoked, !Task.isCancelled else { return }
        let pause = Task { _ = try? await Task.sleep(for: length) }
        self.pause = pause
        await withTaskCancellationHandler { await pause.value } onCancel: { pause.cancel() }
    }
}
