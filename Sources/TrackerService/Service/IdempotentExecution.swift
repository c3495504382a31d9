package import Store
import Synchronization
import TrackerCore

/// The execution of a request with an idempotency key. A repeated request gets the first response, even if that
/// response was lost or the service has restarted.
package struct IdempotentExecution: Sendable {
    package typealias StoredResponse = TrackerStore.StoredRequest.Response

    /// The time at which a request records its key in the store.
    package enum Recording: Sendable {
        /// With its first write to the store.
        case withWrite
        /// Before the action, which does not write to the store.
        case beforeAction
        /// Like `beforeAction`, but the response contains a secret and is not stored.
        case beforeSecret
        /// After the action, together with the response. A retry after a crash repeats the action, which is idempotent.
        case withResponse
    }

    package enum Outcome<Response> {
        case executed(Response)
        /// The response of an earlier execution; `nil` if the process ended before it stored one.
        case repeated(StoredResponse?)
    }

    private let request: IdempotentRequest
    private let tracker: TrackerAPI
    private let recording: Recording
    private let keyName: String
    private let reusedCode: String

    /// The executions of this process in progress, by store and key.
    private static let running = Mutex(Set<[String]>())

    /// - Parameters:
    ///   - tracker: the application API, limited to the caller's access.
    ///   - keyName: the interface's term for the key.
    ///   - reusedCode: the code of the error if another request had the key.
    package init(
        _ request: IdempotentRequest, on tracker: TrackerAPI, _ recording: Recording, keyName: String,
        reusedCode: String
    ) {
        (self.request, self.tracker, self.recording) = (request, tracker, recording)
        (self.keyName, self.reusedCode) = (keyName, reusedCode)
    }

    /// Executes the request, unless it was executed before.
    /// - Parameters:
    ///   - act: the action. With `.withWrite`, its first write to the store records the key.
    ///   - stored: converts a response to the form in which it is stored.
    package func run<Response>(
        _ act: (TrackerAPI) throws -> Response, stored: (Response) -> StoredResponse
    ) throws -> Outcome<Response> {
        try claim()
        defer { release() }
        if let earlier: Outcome<Response> = try begin() { return earlier }
        return try finish(Result { try act(executingTracker) }, stored)
    }

    package func run<Response>(
        _ act: (TrackerAPI) async throws -> Response, stored: (Response) -> StoredResponse
    ) async throws -> Outcome<Response> {
        try claim()
        defer { release() }
        if let earlier: Outcome<Response> = try begin() { return earlier }
        let result: Result<Response, any Error>
        do { result = .success(try await act(executingTracker)) } catch { result = .failure(error) }
        return try finish(result, stored)
    }

    private var executingTracker: TrackerAPI { recording == .withResponse ? tracker : tracker.executing(request) }
    private var name: [String] { [tracker.store.path, request.key] }

    /// Reserves the key in this process. Requests that record their key with a write are serialised by the store.
    private func claim() throws {
        guard recording == .withWrite || Self.running.withLock({ $0.insert(name).inserted }) else { throw isRunning }
    }

    private func release() {
        if recording != .withWrite { Self.running.withLock { _ = $0.remove(name) } }
    }

    private func begin<Response>() throws -> Outcome<Response>? {
        if let earlier: Outcome<Response> = try earlier() { return earlier }
        guard recording == .beforeAction || recording == .beforeSecret else { return nil }
        do { try tracker.store.record(request) } catch is IdempotentRequest.Repeated { throw isRunning }
        return nil
    }

    private func earlier<Response>() throws -> Outcome<Response>? {
        guard let known = try tracker.store.request(request.key) else { return nil }
        guard known.fingerprint == request.fingerprint else {
            throw Refusal(reusedCode, "This \(keyName) was used for another request.")
        }
        if recording == .beforeSecret {
            throw Refusal(
                "secretGivenOnce",
                """
                This request was done. Its response had a secret, which is not stored. If the response was lost, use \
                another \(keyName), and revoke the unused token in the list of tokens.
                """)
        }
        if recording == .beforeAction, known.response == nil {
            throw Refusal(
                "outcomeUnknown",
                """
                Outcome unknown: the service stopped during this request. Check the state; to repeat it, use another \
                \(keyName).
                """)
        }
        return .repeated(known.response)
    }

    private func finish<Response>(_ result: Result<Response, any Error>, _ stored: (Response) -> StoredResponse) throws
        -> Outcome<Response>
    {
        switch result {
        case .success(let response):
            // The action is done. If its response cannot be stored, a repeated request gets the current state instead.
            try? tracker.store.recordResponse(recording == .beforeSecret ? nil : stored(response), to: request)
            return .executed(response)
        case .failure(is IdempotentRequest.Repeated):
            // Another process or task has executed the same request in the meantime.
            guard let earlier: Outcome<Response> = try earlier() else { throw isRunning }
            return earlier
        case .failure(let error):
            // The client gets the error and can retry with the same key.
            if recording != .withWrite { try? tracker.store.delete(request) }
            throw error
        }
    }

    private var isRunning: Refusal { Refusal("underWay", "The same request is in progress.") }
}
