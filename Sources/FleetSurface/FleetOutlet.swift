import FleetWire
import Outgoing
import Packing
import Pauses
import Store
import Synchronization
import TrackerCore
import TrackerDesk

/// Tells a person's drinks to a fleet for as long as a service runs: what changed since it was switched on, in order,
/// in batches.
///
/// Where it stands is kept in the store, and moves only when the fleet has answered that a batch is committed: so
/// nothing is forgotten, and what is told twice counts once there. A store that was put back from a backup tells on in
/// another generation, and what the fleet was told since the backup is told again as it is here now. Behind the drinks
/// it tells which records lie in doubt. Nobody waits for it.
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
        /// Tells whenever the store is written, by whatever program; `nil` where nothing does: then it is looked at all
        /// the time.
        public var watch: StoreWatch?
        /// Random, for who this store is to the fleet.
        public var makeID: @Sendable () -> String
        /// Takes what a person should hear.
        public var say: @Sendable (Word) -> Void
        /// From 0 to 1.
        public var chance: @Sendable () -> Double
        /// How long the fleet may take.
        public var limit: Duration

        public init(
            store: TrackerStore, person: String?, plan: @escaping @Sendable () -> FleetPlan?,
            home: @escaping @Sendable () -> OutletHome?, watch: StoreWatch? = nil,
            makeID: @escaping @Sendable () -> String, say: @escaping @Sendable (Word) -> Void,
            chance: @escaping @Sendable () -> Double = { .random(in: 0...1) },
            limit: Duration = .seconds(40)
        ) {
            (self.store, self.person, self.plan, self.home, self.watch) = (store, person, plan, home, watch)
            (self.makeID, self.say, self.chance, self.limit) = (makeID, say, chance, limit)
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
    public static let name = TrackerStore.fleetOutlet
    /// So many entries are told at once: far less than a fleet takes.
    static let batchLimit = 1000
    /// A fleet that is switched off and has not got so many changes is not forgotten.
    private static let mostWaiting = 20_000
    /// How often it looks for doubts where nobody pokes.
    private static let doubtsEvery = Duration.seconds(60)

    private let around: Surroundings
    /// The store has had this outlet.
    private nonisolated let isKnown = Mutex(false)
    private var plan: FleetPlan?
    private var batch = FleetOutlet.batchLimit
    /// So many smaller ones were taken since.
    private var taken = 0
    private var backoff = Backoff(first: .seconds(1), longest: .seconds(300))
    private var restsUntil: ContinuousClock.Instant?
    private var lastTrouble: String?
    private var pause: Task<Void, Never>?
    private var isPoked = false
    /// This fleet knows how to unpack.
    private var packs = true
    /// This fleet wants to know what lies in doubt.
    private var takesDoubts = true
    private var looksForDoubts = ContinuousClock.now
    /// The fleet does not know them, whatever it was told.
    private var isAskedForDoubts = false

    /// For a person; nothing happens before it runs.
    public init(_ around: Surroundings) { self.around = around }

    /// From here on what is stored is to be told. To be called before the first poll.
    public nonisolated func prepare() {
        if around.plan() != nil { _ = try? open() }
    }

    /// Goes on until its task is cancelled.
    public func run() async {
        let waking = DayFollower.waking(around.watch) { [weak self] in await self?.wake() }
        defer { waking?.cancel() }
        while !Task.isCancelled {
            isPoked = false
            var isTold = false
            var length = DayFollower.lookEvery(isTold: around.watch != nil)
            do {
                if try lookAtPlan() { isTold = try await tellAll() }
                if isTold { try await tellDoubts() }
            } catch {
                await trouble("\(error)", after: nil)
                length = DayFollower.lookOften
            }
            // A rest that is over is none where all was told: only doubts were refused then.
            if let left = restsUntil.map({ $0 - .now }), !isTold || left > .zero { length = min(length, left) }
            await rest(max(.milliseconds(10), length))
        }
    }

    /// Something was stored, or the plan is another one: looks at once.
    public func poke() {
        looksForDoubts = .now
        wake()
    }

    /// Somebody wrote: looks at once, but for doubts no oftener than otherwise.
    private func wake() {
        isPoked = true
        pause?.cancel()
    }

    /// Something stands between it and the fleet.
    var isInTrouble: Bool { lastTrouble != nil }

    // MARK: - Telling

    /// - Returns: whether all of it was told.
    private func tellAll() async throws -> Bool {
        // A lost answer is one; what goes on like this is a trouble, and has to rest.
        var repeats = 0
        while !Task.isCancelled, let plan {
            if let restsUntil, restsUntil > .now { return false }
            let outlet = try open()
            let generation = try generation()
            let changes = try around.store.changes(for: Self.name, limit: batch)
            guard let last = changes.last else { return true }
            let records = try around.store.records(ofDrinks: changes.map(\.key))
            let entries = changes.map { entry($0, outlet.id, generation, records[$0.key]) }
            let standing = FleetStanding(
                store: outlet.id, generation: generation, place: Self.place(outlet, in: generation))
            try around.store.tellingFleet(through: last.sequence)
            guard
                let answer = await post(
                    plan.address, try FleetLines.bytes(entries), plan, standing, doubts: try doubtsTold())
            else { return false }
            // Only this means that it is stored there for good.
            guard answer.status == 200, FleetAnswer.has(entries.count, in: answer.body) else {
                if isTooMuch(answer) { continue }
                if answer.status == 409, repeats < 2, let ahead = FleetStanding.Ahead(answer.body),
                    ahead.generation > generation
                {
                    repeats += 1
                    guard try await tellAgain(ahead, outlet, plan) else { return false }
                    continue
                }
                await refused(answer, plan)
                return false
            }
            try around.store.delivered(Self.name, through: last.sequence, as: outlet.id)
            if FleetAnswer.asksForDoubts(answer.body) { askForDoubts() }
            succeeded()
            grow()
            repeats = 0
        }
        return false
    }

    /// The fleet was told what this store does not know of: it was put back from a backup. Of what is there the fleet
    /// is told how it is now; what is not there stays as it was told, since of that the fleet may have the only copy.
    /// The generation is noted last: who is stopped before does all of it once more.
    private func tellAgain(_ ahead: FleetStanding.Ahead, _ outlet: Outlet, _ plan: FleetPlan) async throws -> Bool {
        let place = Self.place(outlet, in: ahead.generation)
        let standing = FleetStanding(store: outlet.id, generation: ahead.generation, place: place)
        var rest = ahead.keys[...]
        while !rest.isEmpty {
            let now = batch
            let changes = try rest.prefix(now).compactMap { key in
                try around.store.drinks(named: key).first { $0.drink.key == key }.map {
                    DrinkChange(sequence: place, key: key, drink: $0)
                }
            }
            guard !changes.isEmpty else {
                rest = rest.dropFirst(now)
                continue
            }
            let records = try around.store.records(ofDrinks: changes.map(\.key))
            let entries = changes.map { entry($0, outlet.id, ahead.generation, records[$0.key]) }
            guard let answer = await post(plan.address, try FleetLines.bytes(entries), plan, standing) else {
                return false
            }
            if isTooMuch(answer) { continue }
            guard answer.status == 200, FleetAnswer.has(entries.count, in: answer.body) else {
                await refused(answer, plan)
                return false
            }
            rest = rest.dropFirst(now)
        }
        let before = try around.store.keptTopics(of: Self.name).filter { $0.hasPrefix(Self.generationMark) }
        try around.store.noteKept([Self.generationMark + "\(ahead.generation)"], of: Self.name)
        try around.store.forgetKept(before, of: Self.name)
        // It names no more than so many.
        if ahead.keys.count >= FleetStanding.Ahead.keyLimit { try around.store.tellFleetAgain() }
        // It may know others than those of the backup.
        askForDoubts()
        return true
    }

    /// Up to where the fleet knows all. What is told again in another generation is told at that place, and places
    /// begin at 1.
    private static func place(_ outlet: Outlet, in generation: Int) -> Int64 {
        generation == 0 ? outlet.position : max(1, outlet.position)
    }

    /// A fleet that takes less at once is told less at once, until it may take more again.
    private func isTooMuch(_ answer: OutgoingAnswer) -> Bool {
        guard answer.status == 413, batch > 1 else { return false }
        (batch, taken) = (max(1, batch / 8), 0)
        return true
    }

    /// What a proxy takes at once hardly ever changes, so it is seldom asked.
    private func grow() {
        guard batch < Self.batchLimit else { return }
        taken += 1
        if taken >= Self.triesMore { (batch, taken) = (min(Self.batchLimit, batch * 2), 0) }
    }

    private static let triesMore = 16

    private func askForDoubts() { (isAskedForDoubts, looksForDoubts) = (true, .now) }

    private static let generationMark = "generation "
    private static let doubtsMark = "doubts "

    /// In which it tells.
    private func generation() throws -> Int {
        try around.store.keptTopics(of: Self.name).compactMap {
            $0.hasPrefix(Self.generationMark) ? Int($0.dropFirst(Self.generationMark.count)) : nil
        }.max() ?? 0
    }

    /// What it called the doubts that the fleet was told last; `nil` where it was told none.
    private func doubtsTold() throws -> String? {
        let known = try around.store.keptTopics(of: Self.name).filter { $0.hasPrefix(Self.doubtsMark) }
        return known.count == 1
            ? known.first.map { String($0.dropFirst(Self.doubtsMark.count)) }.flatMap {
                FleetStanding.isMark($0) ? $0 : nil
            } : nil
    }

    /// All that lie in doubt, and when the person's days begin, where that is other than this fleet was told, or it
    /// asks for it.
    private func tellDoubts() async throws {
        guard let plan, takesDoubts, looksForDoubts <= .now else { return }
        looksForDoubts = .now + Self.doubtsEvery
        let doubts = try around.store.doubtfulRecords(limit: FleetDoubt.limit).map { row in
            FleetDoubt(
                bottle: row.bottle, raw: Self.hex(row.raw), wall: row.wall, ml: row.amountMl,
                reason: row.reason ?? "unknown", received: row.received)
        }
        let body = try FleetLines.bytes(doubts.filter { $0.raw.count == 26 })
        // The hour at which days begin as long as nobody chose another need not be told.
        let boundary = try around.store.settings().boundaryHour
        let whole = boundary == Settings().boundaryHour ? body : body + Array("boundary \(boundary)".utf8)
        // Another fleet was told nothing yet, nor of somebody who was called otherwise.
        var told = Array(plan.address.utf8) + [0]
        if let person = around.person { told += Array(person.utf8) + [0] }
        let name = Self.fingerprint(told + whole)
        let mark = Self.doubtsMark + name
        let known = try around.store.keptTopics(of: Self.name).filter { $0.hasPrefix(Self.doubtsMark) }
        guard isAskedForDoubts || known != [mark] && !(known.isEmpty && whole.isEmpty) else { return }
        guard
            let answer = await post(
                plan.doubts(of: around.person, in: try open().id, boundary: boundary), body, plan, nil, doubts: name)
        else { return }
        switch answer.status {
        case 200 where FleetAnswer.hasDoubts(in: answer.body):
            isAskedForDoubts = false
            succeeded()
            try around.store.noteKept([mark], of: Self.name)
            try around.store.forgetKept(known.filter { $0 != mark }, of: Self.name)
        // An older fleet.
        case 404, 405: takesDoubts = false
        default:
            await refused(answer, plan)
            // What is wrong with doubts alone holds up no drinks.
            if answer.status == 400 { restsUntil = nil }
        }
    }

    /// Fowler, Noll and Vo's FNV-1a: whether it is the same as before, not whether somebody forged it.
    private static func fingerprint(_ bytes: [UInt8]) -> String {
        String(bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }, radix: 16)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }

    /// - Returns: `nil` where nobody answered, which was said; and where another fleet is named meanwhile, or none: the
    ///   one before may have taken its time to answer.
    private func post(
        _ address: String, _ body: [UInt8], _ plan: FleetPlan, _ standing: FleetStanding?, doubts: String? = nil
    ) async -> OutgoingAnswer? {
        guard around.plan() == plan else { return nil }
        let token: String
        do { token = try Self.credential(plan.tokenFile) } catch {
            await trouble(error.description, after: nil)
            return nil
        }
        var headers = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/x-ndjson")]
        if let standing { headers.append((FleetStanding.field, standing.text)) }
        if let doubts { headers.append((FleetStanding.doubtsField, doubts)) }
        let client = OutgoingClient(limit: around.limit, answerLimit: 8 << 20)
        do {
            if packs, body.count > Self.packedFrom, let packed = try? Gzip.pack(body) {
                let answer = try await client.send(
                    OutgoingRequest("POST", address, headers: headers + [("Content-Encoding", "gzip")], body: packed))
                // An older fleet takes it as it is.
                guard answer.status == 415 else { return answer }
                packs = false
            }
            return try await client.send(OutgoingRequest("POST", address, headers: headers, body: body))
        } catch {
            await trouble("\(error)", after: nil)
            return nil
        }
    }

    /// Less is sent as it is.
    private static let packedFrom = 1000

    private func succeeded() {
        backoff.reset()
        restsUntil = nil
        if lastTrouble != nil { around.say(.goesOn) }
        lastTrouble = nil
    }

    private func refused(_ answer: OutgoingAnswer, _ plan: FleetPlan) async {
        let seconds = answer.header("Retry-After").flatMap(Int.init).map { min(max(0, $0), 3600) }
        let words =
            answer.status == 200
            ? """
            , but not as a fleet does: something else is at that address, or stands before it. Nothing counts as \
            told
            """
            : Self.words(answer.body)
        await trouble(
            "The fleet at \(plan) answered with status \(answer.status)\(words)", after: seconds.map { .seconds($0) })
    }

    private func entry(_ change: DrinkChange, _ store: String, _ generation: Int, _ record: DrinkRecord?) -> FleetEntry
    {
        let fact = change.drink.map {
            FleetEntry.Fact(
                at: $0.at, zone: $0.zone, day: $0.localDay, ml: $0.ml, isDeleted: $0.isDeleted, changed: $0.updatedAt)
        }
        let bytes = record.map { record in
            FleetEntry.Record(raw: Self.hex(record.raw), received: record.received)
        }
        return FleetEntry(
            person: around.person, store: store, generation: generation, place: change.sequence, key: change.key,
            drink: fact, record: bytes)
    }

    // MARK: - Parts

    /// A store that was copied tells as somebody else: two that counted their changes under one name would overtake
    /// each other.
    @discardableResult
    private nonisolated func open() throws -> Outlet {
        let newID = { [around] in String(around.makeID().filter { $0 != "-" }.prefix(24)) }
        // Who is called otherwise is somebody else there.
        let person: [UInt8] = around.person.map { [0] + Array($0.utf8) } ?? []
        let peer = around.plan().map { Self.fingerprint(Array($0.address.utf8) + person) }
        // A store that has none any more was purged: what was drunk since is news.
        let outlet = try isKnown.withLock { isKnown in
            let outlet = try around.store.openOutlet(Self.name, tellsAll: isKnown, telling: peer, makeID: newID)
            isKnown = true
            return outlet
        }
        guard let here = around.home(), try around.store.standing(of: Self.name, at: here) != .known else {
            return outlet
        }
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
        (packs, takesDoubts, looksForDoubts, isAskedForDoubts) = (true, true, .now, false)
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
        guard !token.isEmpty, token.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw NoCredential(description: "The first line of \(file) is no credential of a fleet")
        }
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
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
    }
}
