import HTTPTypes
import Hummingbird
import Store
import TrackerService

/// Registers routes with their scope and common behaviour.
final class RouteTable {
    static let base = "/api/v1"

    typealias Handler = @Sendable (APICall) async throws -> Response

    private let router: Router<WebRequestContext>
    private let app: WebApp
    private var methods: [String: Set<HTTPRequest.Method>] = [:]
    private let authenticator: Authenticator
    private var isAboutWaterline = false

    init(_ router: Router<WebRequestContext>, _ app: WebApp, isSocket: Bool = false) {
        self.router = router
        self.app = app
        authenticator = Authenticator(app: app, isSocket: isSocket)
    }

    /// Adds routes that other machines can use only if Waterline is shared.
    func waterline(_ addRoutes: (RouteTable) -> Void) {
        isAboutWaterline = true
        defer { isAboutWaterline = false }
        addRoutes(self)
    }

    /// Adds a GET route.
    /// - Parameters:
    ///   - query: the allowed query parameters.
    ///   - waitsForStore: whether the handler blocks its thread while it waits for the store.
    func get(
        _ path: String, needs scope: Scope = .read, query: Set<String> = [], waitsForStore: Bool = true,
        _ respond: @escaping Handler
    ) {
        self.respond(to: .get, "\(Self.base)/\(path)", scope, waitsForStore: waitsForStore) { call in
            try call.allowQuery(query)
            return try await respond(call)
        }
    }

    /// A writing route, executed once per `Idempotency-Key`.
    func write(
        _ method: HTTPRequest.Method, _ path: String, needs scope: Scope,
        recording: IdempotentExecution.Recording = .withWrite,
        _ act: @escaping @Sendable (APICall, TrackerAPI, inout Fields) async throws -> APIResponse
    ) {
        respond(to: method, "\(Self.base)/\(path)", scope) { call in
            let body = try await call.jsonBody()
            let answer = try await IdempotentWrite.answer(call, recording, content: Array(body.readableBytesView)) {
                var fields = try Fields(body)
                return try await act(call, $0, &fields)
            }
            await call.app.storeChanged()
            return answer.response
        }
    }

    /// Like `write`, for a request without fields.
    func action(
        _ method: HTTPRequest.Method, _ path: String, needs scope: Scope,
        recording: IdempotentExecution.Recording = .withWrite,
        _ act: @escaping @Sendable (APICall, TrackerAPI) async throws -> APIResponse
    ) {
        write(method, path, needs: scope, recording: recording) { call, tracker, fields in
            try fields.finish()
            return try await act(call, tracker)
        }
    }

    /// A route that receives a file, executed once per `Idempotency-Key`.
    /// - Parameter act: gets the file, which is deleted afterwards.
    func upload(
        _ path: String, needs scope: Scope,
        _ act: @escaping @Sendable (TrackerAPI, UploadFile) async throws -> APIResponse
    ) {
        respond(to: .post, "\(Self.base)/\(path)", scope) { call in
            try call.allowQuery([])
            let upload = try await UploadFile(of: call.request, besideStore: call.app.tracker().store.path)
            let answer = try await IdempotentWrite.answer(call, .withWrite, content: Array(upload.fingerprint.utf8)) {
                try await act($0, upload)
            }
            await call.app.storeChanged()
            return answer.response
        }
    }

    /// A route that needs no credential, for signing in.
    func unauthenticated(_ method: HTTPRequest.Method, _ path: String, _ respond: @escaping Handler) {
        route(method, "\(Self.base)/\(path)", { _ in Caller() }, respond)
    }

    /// A route outside the API that shows a person's day (`GET`) or logs a drink (`POST`).
    func widget(_ method: HTTPRequest.Method, _ path: String, _ respond: @escaping Handler) {
        route(method, path, authenticator.widgetCaller(of:)) { call in
            try call.caller.require(method == .get || call.caller.scope == .widget ? .widget : .log)
            return try await respond(call)
        }
    }

    /// The former name of a route, for one version.
    func renamed(_ method: HTTPRequest.Method, _ old: String, to new: String) {
        router.on(RouterPath("\(Self.base)/\(old)"), method: method) { _, _ -> Response in
            throw HTTPProblem(.gone, "renamed", "\(Self.base)/\(old) was renamed to \(Self.base)/\(new).")
        }
    }

    /// A page or another route that needs neither a credential nor the store.
    func publicRoute(_ path: String, _ answer: @escaping @Sendable (Request) throws -> Response) {
        methods[path, default: []].insert(.get)
        router.get(RouterPath(path)) { request, _ in try answer(request) }
    }

    var registered: [String: Set<HTTPRequest.Method>] { methods }

    /// Responds 405 to all other methods of every path.
    func finish() {
        for (path, known) in methods {
            let known = known.contains(.get) ? known.union([.head]) : known
            let allow = known.map(\.rawValue).sorted().joined(separator: ", ")
            for method in [HTTPRequest.Method.get, .post, .put, .patch, .delete, .options, .trace, .connect, .query]
            where !known.contains(method) {
                router.on(RouterPath(path), method: method) { _, _ -> Response in
                    throw HTTPProblem(
                        .methodNotAllowed, "methodNotAllowed", "Allowed methods: \(allow).", headers: [.allow: allow])
                }
            }
        }
    }

    /// - Parameter path: the whole path, such as `/metrics`.
    func respond(
        to method: HTTPRequest.Method, _ path: String, _ scope: Scope, waitsForStore: Bool = true,
        _ answer: @escaping Handler
    ) {
        let isAboutWaterline = isAboutWaterline
        route(method, path, authenticator.caller(of:), waitsForStore: waitsForStore) { call in
            try call.caller.require(scope)
            // This check also applies to a repeated request with a stored response.
            if isAboutWaterline { try call.requireWaterline() }
            return try await answer(call)
        }
    }

    /// - Parameter waitsForStore: if `false`, a known token is accepted first; only for routes with
    ///   `authenticator.caller(of:)`.
    private func route(
        _ method: HTTPRequest.Method, _ path: String, _ caller: @escaping @Sendable (Request) throws -> Caller,
        waitsForStore: Bool = true, _ answer: @escaping Handler
    ) {
        methods[path, default: []].insert(method)
        router.on(RouterPath(path), method: method) { [app, authenticator] request, context in
            if !waitsForStore, let caller = authenticator.authenticatedCaller(of: request) {
                return try await answer(APICall(request: request, context: context, app: app, caller: caller))
            }
            return try await withTaskExecutorPreference(BlockingThreads.shared) {
                try await answer(APICall(request: request, context: context, app: app, caller: caller(request)))
            }
        }
    }
}

extension HTTPRequest.Method {
    /// The method of a safe request with a body (draft-ietf-httpbis-safe-method-w-body).
    fileprivate static let query = Self("QUERY")!
}
