import Foundation
import Store
import TrackerCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tells `sync.url` what the outbox holds and takes in what other devices wrote (`tracker.md` E8).
///
/// Operations are `POST URL/OPERATION` with the entity as a JSON object (its `id`, `updatedAt`, `deviceId` and, for
/// tombstones, `deleted` among the keys): idempotent by id. Queries are `GET URL/QUERY?userId=…` and answer with a list.
/// 2xx is done, 4xx parks the item, everything else is tried again later.
public struct SyncClient: Sendable {
    public var base: URL
    /// Seconds that one request may take.
    public var timeoutSeconds: Double
    private let session: URLSession

    public init(base: URL, timeoutSeconds: Double = 10) {
        self.base = base
        self.timeoutSeconds = timeoutSeconds
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeoutSeconds
        configuration.timeoutIntervalForResource = timeoutSeconds
        session = URLSession(configuration: configuration)
    }

    /// What one pass did.
    public struct Pass: Hashable, Sendable {
        public var sent = 0
        public var parked = 0
        public var merged = MergeOutcome()
        /// Why it stopped before the queue was empty.
        public var trouble: String?
        public var status: SyncStatus = .idle
    }

    /// Sends everything that is due, then asks for what others wrote. Ends at the first failure that a later try may
    /// mend; the store remembers when that may be.
    public func pass(_ store: TrackerStore, now: @Sendable () -> Instant, zone: Zone) async throws -> Pass {
        var pass = Pass()
        while let item = try store.outbox().next(at: now()) {
            let outcome = await send(item)
            try store.finishSending(item, outcome, at: now())
            switch outcome {
            case .sent: pass.sent += 1
            case .refused(let status) where (400..<500).contains(status): pass.parked += 1
            case .refused(let status): pass.trouble = "The server at \(base) answered with status \(status)."
            case .unreachable: pass.trouble = "The server at \(base) cannot be reached."
            }
            if pass.trouble != nil { break }
        }
        if pass.trouble == nil, let profile = try store.profile() {
            let context = WriteContext(now: now(), zone: zone, source: "http", makeID: { UUID().uuidString.lowercased() })
            do {
                pass.merged = try await pull(store, profile.userID, context)
            } catch let error as SyncTrouble {
                pass.trouble = error.description
            }
        }
        let outbox = try store.outbox()
        pass.status = outbox.status(isSending: false, isOffline: pass.trouble != nil)
        return pass
    }

    /// Asks the server to forget the user: part of a purge.
    /// - Throws: `SyncTrouble` when it did not.
    public func deleteUser(_ id: String) async throws {
        let body = try JSONEncoder().encode(["id": id])
        switch await post("deleteUser", body) {
        case .sent: return
        case .refused(let status): throw SyncTrouble("The server at \(base) answered deleteUser with status \(status).")
        case .unreachable: throw SyncTrouble("The server at \(base) cannot be reached.")
        }
    }

    /// Sends one item.
    func send(_ item: OutboxItem) async -> SendOutcome { await post(item.operation.rawValue, Data(item.payload.utf8)) }

    private func post(_ operation: String, _ body: Data) async -> SendOutcome {
        var request = URLRequest(url: base.appendingPathComponent(operation))
        request.httpMethod = "POST"
        request.timeoutInterval = timeoutSeconds
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = body
        guard let (_, response) = try? await session.data(for: request), let http = response as? HTTPURLResponse else {
            return .unreachable
        }
        return (200..<300).contains(http.statusCode) ? .sent : .refused(status: http.statusCode)
    }

    // MARK: - Queries

    private func pull(_ store: TrackerStore, _ userID: String, _ context: WriteContext) async throws -> MergeOutcome {
        var merged = MergeOutcome()
        merged.add(try store.merge(.preset, json: try await query("getUserPresets", ["userId": userID]), context))
        let active = try await query("getActiveSession", ["userId": userID])
        merged.add(try store.merge(.session, json: active, context))
        if let session = try store.activeSession(at: context.now)?.session {
            merged.add(try store.merge(.logEntry, json: try await query("getSessionLogs", ["sessionId": session.id]), context))
        }
        return merged
    }

    /// The answer as text; a server that knows no such query has nothing to say.
    private func query(_ name: String, _ parameters: [String: String]) async throws -> String {
        var components = URLComponents(url: base.appendingPathComponent(name), resolvingAgainstBaseURL: false)
        components?.queryItems = parameters.map { URLQueryItem(name: $0, value: $1) }
        guard let url = components?.url else { throw SyncTrouble("\(base) is no address that a query can be added to.") }
        guard let (data, response) = try? await session.data(from: url), let http = response as? HTTPURLResponse else {
            throw SyncTrouble("The server at \(base) cannot be reached.")
        }
        if http.statusCode == 404 { return "[]" }
        guard (200..<300).contains(http.statusCode) else {
            throw SyncTrouble("The server at \(base) answered \(name) with status \(http.statusCode).")
        }
        return String(decoding: data, as: UTF8.self)
    }
}

/// Why the server could not be talked to, in a sentence.
public struct SyncTrouble: Error, Hashable, Sendable, CustomStringConvertible {
    public var description: String
    public init(_ description: String) { self.description = description }
}

extension MergeOutcome {
    mutating func add(_ other: MergeOutcome) {
        taken += other.taken
        kept += other.kept
        refused += other.refused
    }
}
