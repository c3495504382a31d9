package import Foundation
package import Logging
package import Store
package import TrackerCore

/// Sends the changes of the outbox to `sync.url` and merges the changes of other devices (tracker spec E8).
///
/// - Operations: `POST URL/OPERATION` with the entity as a JSON object. Its keys include `id`, `updatedAt`, `deviceId`
///   and, for tombstones, `deleted`. Operations are idempotent by id.
/// - Queries: `GET URL/QUERY?userId=…`. The response is a list.
///
/// Every request has the credential, if there is one. A 2xx response with JSON or without a body is a success. A 4xx
/// response rejects the change, except 401, 403 and 407, which concern the credential, and 408, 425 and 429. The client
/// retries after these and any other response.
package struct SyncClient: Sendable {
    /// The base URL of operations and queries.
    package var base: URL
    /// The token, sent as `Authorization: Bearer TOKEN`.
    package var token: String?
    /// The server's name for messages, without path and query, which can be secrets.
    private var server: String { OutgoingURL.origin(base.absoluteString) }
    package var timeoutSeconds: Double
    /// The maximum length of a response in bytes.
    private static let responseLimit = 16 << 20

    package init(base: URL, token: String? = nil, timeoutSeconds: Double = 10) {
        self.base = base
        self.token = token
        self.timeoutSeconds = timeoutSeconds
    }

    package struct Pass: Hashable, Sendable {
        package var sent = 0
        /// The number of rejected changes.
        package var rejected = 0
        package var merged = MergeOutcome()
        /// The error that ended the pass early.
        package var problem: String?
        package var status: SyncStatus = .idle

        package init() {}
    }

    /// Sends all due changes, then requests the changes of other devices. Stops at the first error that a retry might
    /// resolve, and stores the error and the time of the retry.
    /// - Throws: errors of the store only.
    package func pass(_ store: TrackerStore, now: @Sendable () -> Instant, zone: Zone) async throws -> Pass {
        var pass = Pass()
        var outbox = try store.outbox()
        while pass.problem == nil, let item = outbox.next(at: now()) {
            let outcome = await send(item)
            outbox.finish(item, outcome, at: now())
            guard try store.finishSending(item, outcome, at: now()) else {
                // The next pass continues with what the store has now.
                pass.status = try store.syncReport().status
                return pass
            }
            switch outcome {
            case .sent: pass.sent += 1
            case .failed where outcome.isRejection: pass.rejected += 1
            default: pass.problem = message(outcome, item.operation.rawValue)
            }
        }
        if pass.problem == nil, let profile = try store.profile() {
            let context = WriteContext(
                now: now(), zone: zone, source: "http", makeID: { UUID().uuidString.lowercased() })
            do {
                pass.merged = try await pull(store, profile.userID, context)
            } catch let error as SyncProblem {
                pass.problem = error.description
            } catch let error as Refusal {
                pass.problem = "The server at \(server) sent an invalid response: \(error.description)"
            }
        }
        try store.finishSyncPass(pass.merged, problem: pass.problem)
        pass.status = try pass.problem == nil ? store.syncReport().status : .offline
        return pass
    }

    /// Deletes the user's data on the server, as part of a purge.
    /// - Throws: `SyncProblem` if it failed.
    package func deleteUser(_ id: String) async throws {
        let body = try JSONEncoder().encode(["id": id])
        let outcome = await post("deleteUser", body)
        guard outcome == .sent else { throw SyncProblem(message(outcome, "deleteUser")) }
    }

    func send(_ item: OutboxItem) async -> SendOutcome { await post(item.operation.rawValue, Data(item.payload.utf8)) }

    private func post(_ operation: String, _ body: Data) async -> SendOutcome {
        let address = base.appendingPathComponent(operation).absoluteString
        do throws(OutgoingFailure) {
            return outcome(try await exchange("POST", address, [("Content-Type", "application/json")], Array(body)))
        } catch {
            return .noResponse(asSentence(error.sentence))
        }
    }

    /// The outcome of a change by the status of the response.
    private func outcome(_ answer: OutgoingResponse) -> SendOutcome {
        switch answer.status {
        case 200..<300 where isPlausible(answer): .sent
        case 200..<400: .invalidResponse
        case 401, 403, 407: .unauthorised(status: answer.status)
        default: .failed(status: answer.status)
        }
    }

    /// Sends a request and returns the response with any status.
    private func exchange(
        _ method: String, _ address: String, _ headers: [(name: String, value: String)] = [], _ body: [UInt8]? = nil
    ) async throws(OutgoingFailure) -> OutgoingResponse {
        let client = OutgoingClient(
            limit: .seconds(timeoutSeconds), connectLimit: .seconds(timeoutSeconds), responseLimit: Self.responseLimit)
        return try await client.send(OutgoingRequest(method, address, headers: headers, token: token, body: body))
    }

    /// Whether the body is empty or JSON. A captive portal's page is neither.
    private func isPlausible(_ answer: OutgoingResponse) -> Bool {
        answer.body.isEmpty
            || (try? JSONSerialization.jsonObject(with: Data(answer.body), options: .fragmentsAllowed)) != nil
    }

    private func message(_ outcome: SendOutcome, _ name: String) -> String {
        switch outcome {
        case .sent: "The server at \(server) accepted \(name)."
        case .failed(let status): "The server at \(server) answered \(name) with status \(status)."
        case .unauthorised(let status):
            token == nil
                ? "The server at \(server) requires a token (status \(status)): set sync.token or sync.tokenFile."
                : """
                The server at \(server) rejects the token (status \(status)): set sync.token or sync.tokenFile \
                again.
                """
        case .invalidResponse:
            """
            The server at \(server) sent an invalid response to \(name): it might not be a sync server, or this \
            network requires a login.
            """
        case .noResponse(let reason): reason
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

    /// The response as text; an empty list if the server does not support the query (status 404).
    private func query(_ name: String, _ parameters: [String: String]) async throws -> String {
        var components = URLComponents(url: base.appendingPathComponent(name), resolvingAgainstBaseURL: false)
        components?.queryItems = parameters.map { URLQueryItem(name: $0, value: $1) }
        guard let url = components?.url else {
            throw SyncProblem("\(server) is not a valid base URL.")
        }
        let answer: OutgoingResponse
        do throws(OutgoingFailure) {
            answer = try await exchange("GET", url.absoluteString)
        } catch {
            throw SyncProblem(asSentence(error.sentence))
        }
        if answer.status == 404 { return "[]" }
        let outcome = outcome(answer)
        guard outcome == .sent, !answer.body.isEmpty else {
            throw SyncProblem(message(outcome == .sent ? .invalidResponse : outcome, name))
        }
        return String(decoding: answer.body, as: UTF8.self)
    }
}

extension SyncClient {
    /// The client for the server of the settings; `nil` if they have none.
    /// - Throws: `SyncProblem` if the credential's file cannot be read.
    package init?(_ settings: Settings, timeoutSeconds: Double = 10) throws {
        guard let base = settings.service.syncURL.flatMap({ URL(string: $0) }) else { return nil }
        let token =
            try settings.service.syncToken
            ?? settings.service.syncTokenFile.map {
                try SmallFile.secret($0, setting: "sync.tokenFile", kind: "token") { SyncProblem($0) }
            }
        self.init(base: base, token: token, timeoutSeconds: timeoutSeconds)
    }
}

package struct SyncProblem: Problem, Hashable {
    /// The sentence, which names the server.
    package var sentence: String
    package var code: String { "syncTrouble" }
    package var category: ProblemCategory { .failed }
    package init(_ sentence: String) { self.sentence = sentence }
}

extension MergeOutcome {
    mutating func add(_ other: MergeOutcome) {
        applied += other.applied
        unchanged += other.unchanged
        rejected += other.rejected
        rejections = Array((rejections + other.rejections).prefix(100))
    }
}

/// Exchanges changes with the sync server at intervals, independently of polls.
package struct SyncLoop: Sendable {
    /// Exchanges changes; `nil` if the settings have no server.
    package typealias Exchange = @Sendable (TrackerAPI) async throws -> SyncClient.Pass?

    private let tracker: @Sendable () async -> TrackerAPI
    private let now: @Sendable () -> ContinuousClock.Instant
    private let exchange: Exchange
    private let log: Logger

    /// The interval between checks for changes to send.
    package static let tick = Duration.seconds(20)
    /// The interval between queries for changes of other devices.
    package static let queryInterval = Duration.seconds(300)

    /// - Parameters:
    ///   - tracker: creates an application API with the current time.
    ///   - now: the clock for `queryInterval`.
    ///   - log: receives failures, a repeated one only once, and the number of rejected rows.
    package init(
        tracker: @escaping @Sendable () async -> TrackerAPI,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        exchange: @escaping Exchange = { try await $0.synchronise() }, log: Logger
    ) {
        (self.tracker, self.now, self.exchange, self.log) = (tracker, now, exchange, log)
    }

    /// Runs until `pause` returns `false`.
    package func run(pause: @Sendable (Duration) async -> Bool = { (try? await Task.sleep(for: $0)) != nil }) async {
        var lastFailure: String?
        var lastPass: ContinuousClock.Instant?
        while !Task.isCancelled {
            let tracker = await tracker()
            let isDue = lastPass.map { $0.duration(to: now()) >= Self.queryInterval } ?? true
            var failure = lastFailure
            do {
                if try isDue || tracker.store.outbox().next(at: tracker.now) != nil {
                    let start = now()
                    let pass = try await pass(tracker)
                    if pass != nil { lastPass = start }
                    failure = pass?.problem
                }
            } catch {
                failure = "\(error)"
            }
            if failure != lastFailure {
                if let failure { log.warning("Sync: \(failure)") } else { log.notice("Sync continues.") }
            }
            lastFailure = failure
            guard await pause(Self.tick) else { return }
        }
    }

    private func pass(_ tracker: TrackerAPI) async throws -> SyncClient.Pass? {
        let earlierCount = try tracker.store.syncReport().report.rejected
        let pass = try await exchange(tracker)
        if let count = pass?.merged.rejected, count > earlierCount {
            log.warning(
                "\(counted(count, "row")) of the sync server could not be stored. See: waterh-tracker check --doctor")
        }
        return pass
    }
}
