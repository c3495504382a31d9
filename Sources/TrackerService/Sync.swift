import Foundation
import Store
import TrackerCore

/// Tells `sync.url` what the outbox holds and takes in what other devices wrote (tracker law E8).
///
/// Operations are `POST URL/OPERATION` with the entity as a JSON object (its `id`, `updatedAt`, `deviceId` and, for
/// tombstones, `deleted` among the keys): idempotent by id. Queries are `GET URL/QUERY?userId=…` and answer with a
/// list. Every request carries the credential, where there is one. 2xx with JSON, or with nothing, is done; 4xx parks
/// the item; everything else is tried again later, also 401 and 403, where the credential is wrong and not the item.
package struct SyncClient: Sendable {
    /// The server's address; operations and queries hang below it.
    package var base: URL
    /// `Authorization: Bearer TOKEN`.
    package var token: String?
    /// The server for people: what stands behind its name, in a query say, may be a secret.
    private var place: String { OutgoingURL.place(base.absoluteString) }
    /// Seconds that one request may take.
    package var timeoutSeconds: Double
    /// Years of sessions fit.
    private static let answerLimit = 16 << 20

    /// To that server, with its credential.
    package init(base: URL, token: String? = nil, timeoutSeconds: Double = 10) {
        self.base = base
        self.token = token
        self.timeoutSeconds = timeoutSeconds
    }

    /// What one pass did.
    package struct Pass: Hashable, Sendable {
        /// Changes that the server took.
        package var sent = 0
        /// Changes that it will never take.
        package var parked = 0
        /// What came in from other devices.
        package var merged = MergeOutcome()
        /// Why it stopped before the queue was empty.
        package var trouble: String?
        /// How the outbox stands afterwards.
        package var status: SyncStatus = .idle

        /// With nothing done.
        package init() {}
    }

    /// Sends everything that is due, then asks for what others wrote. Ends at the first failure that a later try may
    /// mend; the store remembers when that may be, and what to tell of this pass.
    /// - Throws: what the store throws, and nothing that a server can cause.
    package func pass(_ store: TrackerStore, now: @Sendable () -> Instant, zone: Zone) async throws -> Pass {
        var pass = Pass()
        while pass.trouble == nil, let item = try store.outbox().next(at: now()) {
            let outcome = await send(item)
            try store.finishSending(item, outcome, at: now())
            switch outcome {
            case .sent: pass.sent += 1
            case .refused(let status) where (400..<500).contains(status): pass.parked += 1
            default: pass.trouble = trouble(outcome, item.operation.rawValue)
            }
        }
        if pass.trouble == nil, let profile = try store.profile() {
            let context = WriteContext(
                now: now(), zone: zone, source: "http", makeID: { UUID().uuidString.lowercased() })
            do {
                pass.merged = try await pull(store, profile.userID, context)
            } catch let error as SyncTrouble {
                pass.trouble = error.description
            } catch let error as Refusal {
                pass.trouble = "The server at \(place) answers nonsense: \(error.description)"
            }
        }
        try store.finishSyncPass(pass.merged, trouble: pass.trouble, at: now())
        pass.status = try pass.trouble == nil ? store.syncReport().status : .offline
        return pass
    }

    /// Asks the server to forget the user: part of a purge.
    /// - Throws: `SyncTrouble` when it did not.
    package func deleteUser(_ id: String) async throws {
        let body = try JSONEncoder().encode(["id": id])
        let outcome = await post("deleteUser", body)
        guard outcome == .sent else { throw SyncTrouble(trouble(outcome, "deleteUser")) }
    }

    /// Sends one item.
    func send(_ item: OutboxItem) async -> SendOutcome { await post(item.operation.rawValue, Data(item.payload.utf8)) }

    private func post(_ operation: String, _ body: Data) async -> SendOutcome {
        let address = base.appendingPathComponent(operation).absoluteString
        guard let answer = await exchange("POST", address, [("Content-Type", "application/json")], Array(body)) else {
            return .unreachable
        }
        switch answer.status {
        case 200..<300: return isPlausible(answer) ? .sent : .nonsense
        case 300..<400: return .nonsense
        case 401, 403, 407: return .unauthorised(status: answer.status)
        default: return .refused(status: answer.status)
        }
    }

    /// The answer, whatever its status; `nil` where there was none, or one without an end.
    private func exchange(
        _ method: String, _ address: String, _ headers: [(name: String, value: String)] = [], _ body: [UInt8]? = nil
    ) async -> OutgoingAnswer? {
        let credential = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
        let client = OutgoingClient(
            limit: .seconds(timeoutSeconds), connectLimit: .seconds(timeoutSeconds), answerLimit: Self.answerLimit)
        return try? await client.send(OutgoingRequest(method, address, headers: headers + credential, body: body))
    }

    /// Nothing, or JSON: a network's login page is neither.
    private func isPlausible(_ answer: OutgoingAnswer) -> Bool {
        answer.body.isEmpty
            || (try? JSONSerialization.jsonObject(with: Data(answer.body), options: .fragmentsAllowed)) != nil
    }

    private func trouble(_ outcome: SendOutcome, _ name: String) -> String {
        switch outcome {
        case .sent: "The server at \(place) took \(name)."
        case .refused(let status): "The server at \(place) answered \(name) with status \(status)."
        case .unauthorised(let status):
            token == nil
                ? "The server at \(place) wants a credential (status \(status)): set sync.token or sync.tokenFile."
                : """
                The server at \(place) does not take the credential (status \(status)): set sync.token or \
                sync.tokenFile anew.
                """
        case .nonsense:
            """
            The server at \(place) answered \(name) with something that is no answer of a sync server; perhaps \
            this network wants a login first.
            """
        case .unreachable: "The server at \(place) cannot be reached."
        }
    }

    // MARK: - Queries

    private func pull(_ store: TrackerStore, _ userID: String, _ context: WriteContext) async throws -> MergeOutcome {
        var merged = MergeOutcome()
        merged.add(try store.merge(.preset, json: try await query("getUserPresets", ["userId": userID]), context))
        let active = try await query("getActiveSession", ["userId": userID])
        merged.add(try store.merge(.session, json: active, context))
        if let session = try store.activeSession(at: context.now)?.session {
            merged.add(
                try store.merge(.logEntry, json: try await query("getSessionLogs", ["sessionId": session.id]), context))
        }
        return merged
    }

    /// The answer as text; a server that knows no such query has nothing to say.
    private func query(_ name: String, _ parameters: [String: String]) async throws -> String {
        var components = URLComponents(url: base.appendingPathComponent(name), resolvingAgainstBaseURL: false)
        components?.queryItems = parameters.map { URLQueryItem(name: $0, value: $1) }
        guard let url = components?.url else {
            throw SyncTrouble("\(place) is no address that a query can be added to.")
        }
        guard let answer = await exchange("GET", url.absoluteString) else {
            throw SyncTrouble(trouble(.unreachable, name))
        }
        switch answer.status {
        case 200..<300:
            guard isPlausible(answer), !answer.body.isEmpty else { throw SyncTrouble(trouble(.nonsense, name)) }
            return String(decoding: answer.body, as: UTF8.self)
        case 300..<400: throw SyncTrouble(trouble(.nonsense, name))
        case 401, 403, 407: throw SyncTrouble(trouble(.unauthorised(status: answer.status), name))
        case 404: return "[]"
        default: throw SyncTrouble(trouble(.refused(status: answer.status), name))
        }
    }
}

extension SyncClient {
    /// The server that the settings name, with its credential; `nil` where they name none.
    /// - Throws: `SyncTrouble` where the credential's file cannot be read.
    package static func named(by settings: Settings, timeoutSeconds: Double = 10) throws -> SyncClient? {
        guard let base = settings.service.syncURL.flatMap({ URL(string: $0) }) else { return nil }
        let token = try settings.service.syncToken ?? settings.service.syncTokenFile.map(token(inFile:))
        return SyncClient(base: base, token: token, timeoutSeconds: timeoutSeconds)
    }

    /// The first line of a small file.
    private static func token(inFile path: String) throws -> String {
        let data: Data
        do { data = try SmallFile.read(path, limit: 8192) } catch {
            throw SyncTrouble("The file \(path), which sync.tokenFile names, \(error.words).")
        }
        let line = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        let token = line.trimmingCharacters(in: .whitespaces)
        guard Settings.isToken(token) else {
            throw SyncTrouble("The first line of \(path), which sync.tokenFile names, is no credential.")
        }
        return token
    }
}

/// Why the server could not be talked to, in a sentence.
package struct SyncTrouble: Problem, Hashable {
    /// What happened, and where.
    package var sentence: String
    /// Always `syncTrouble`.
    package var code: String { "syncTrouble" }
    /// Always `failed`.
    package var category: ProblemCategory { .failed }
    /// With these words.
    package init(_ sentence: String) { self.sentence = sentence }
}

extension MergeOutcome {
    mutating func add(_ other: MergeOutcome) {
        taken += other.taken
        kept += other.kept
        refused += other.refused
        refusals = Array((refusals + other.refusals).prefix(100))
    }
}

/// Tells `sync.url` what changed and takes in what other devices wrote, beside the polls: neither waits for the other.
package struct SyncLoop: Sendable {
    /// What there is to say to people.
    package enum Word: Hashable, Sendable {
        /// It does not work, with the reason; told once, until it changes.
        case trouble(String)
        /// It works again.
        case goesOn
        /// So many rows of the server cannot be taken.
        case refused(Int)
        /// Something that follows a commit went wrong.
        case afterCommit(String)
    }

    /// One exchange with a server.
    package typealias Exchange = @Sendable (_ store: TrackerStore, _ zone: Zone) async throws -> SyncClient.Pass
    /// The server that the settings name; `nil` where they name none.
    package typealias Connect = @Sendable (_ settings: Settings) throws -> Exchange?

    private let store: TrackerStore
    private let context: @Sendable () async -> WriteContext
    private let now: @Sendable () -> ContinuousClock.Instant
    private let connect: Connect
    private let tell: @Sendable (Word) -> Void

    /// How often it looks whether there is anything to tell, and how often it asks when there is not.
    package static let tick = Duration.seconds(20)
    /// How often other devices' changes are asked for.
    package static let askEvery = Duration.seconds(300)

    /// - Parameters:
    ///   - context: the moment and the zone of a write, read anew each time.
    ///   - now: for how often it asks.
    package init(
        store: TrackerStore, context: @escaping @Sendable () async -> WriteContext,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        connect: @escaping Connect, tell: @escaping @Sendable (Word) -> Void
    ) {
        self.store = store
        self.context = context
        self.now = now
        self.connect = connect
        self.tell = tell
    }

    /// The server over HTTP; `wall` is the time of what it is told.
    package static func overHTTP(wall: @escaping @Sendable () -> Instant) -> Connect {
        { settings in
            guard let client = try SyncClient.named(by: settings) else { return nil }
            return { store, zone in try await client.pass(store, now: wall, zone: zone) }
        }
    }

    /// Goes on until `pause` says that somebody ended it.
    package func run(pause: @Sendable (Duration) async -> Bool = { (try? await Task.sleep(for: $0)) != nil }) async {
        var lastTrouble: String?
        var lastPass: ContinuousClock.Instant?
        while !Task.isCancelled {
            let isDue = lastPass.map { $0.duration(to: now()) >= Self.askEvery } ?? true
            let trouble = await pass(isDue: isDue, &lastPass)
            if trouble != lastTrouble { tell(trouble.map(Word.trouble) ?? .goesOn) }
            lastTrouble = trouble
            guard await pause(Self.tick) else { return }
        }
    }

    /// One pass, where there is a server and anything to say or to ask.
    private func pass(isDue: Bool, _ lastPass: inout ContinuousClock.Instant?) async -> String? {
        do {
            guard let exchange = try connect(store.settings()) else { return nil }
            let context = await context()
            let (_, before) = try store.syncReport()
            guard try isDue || store.outbox().next(at: context.now) != nil else { return before.trouble }
            lastPass = now()
            let pass = try await exchange(store, context.zone)
            if pass.merged.taken > 0 { for trouble in store.afterCommit(context) { tell(.afterCommit(trouble)) } }
            if pass.merged.refused > before.refused { tell(.refused(pass.merged.refused)) }
            return pass.trouble
        } catch let error as SyncTrouble {
            try? store.finishSyncPass(MergeOutcome(), trouble: error.description, at: await context().now)
            return error.description
        } catch {
            return "\(error)"
        }
    }
}
