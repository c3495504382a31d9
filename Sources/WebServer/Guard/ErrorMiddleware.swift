import HTTPTypes
import Hummingbird
import Synchronization
import TrackerCore
import TrackerService

/// Converts every error to problem details, adds the common response headers, and counts responses.
struct ErrorMiddleware: RouterMiddleware {
    typealias Context = WebRequestContext

    let counts: ResponseCounts

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            try Self.checkFraming(request)
            response = try await next(request, context)
        } catch {
            response = HTTPProblem(explaining: error).response
            if request.method == .head { response.body = .init() }
        }
        addHeaders(&response, isWidget: request.uri.path.hasPrefix("/widget/"))
        counts.add(response.status.code)
        return response
    }

    /// Rejects requests that a proxy could parse differently, which would bypass its access rules.
    private static func checkFraming(_ request: Request) throws {
        // The first `Host` became the authority. A proxy may have used another one (RFC 9112, 3.2).
        guard request.headers[values: .host].isEmpty else {
            throw HTTPProblem(.badRequest, "severalHosts", "The request has more than one host.")
        }
        guard request.headers[values: .transferEncoding].allSatisfy({ $0.lowercased() == "chunked" }) else {
            throw HTTPProblem(
                .notImplemented, "transferEncoding", "Transfer-Encoding must be \"chunked\".",
                headers: [.connection: "close"])
        }
        guard request.headers[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw HTTPProblem(
                .unsupportedMediaType, "contentEncoding", "Send the body without Content-Encoding.",
                headers: [.connection: "close", .acceptEncoding: "identity"])
        }
        // The router ignores empty path segments; a proxy's path rule does not.
        guard !(request.head.path ?? "").prefix(while: { $0 != "?" }).contains("//") else {
            throw HTTPProblem.notFound("There is no resource at this path.")
        }
    }

    /// Adds the security headers to a response.
    /// - Parameter isWidget: whether pages of other origins may embed the response.
    private func addHeaders(_ response: inout Response, isWidget: Bool) {
        response.headers[.xContentTypeOptions] = "nosniff"
        if response.headers[.contentSecurityPolicy] == nil {
            response.headers[.contentSecurityPolicy] = """
                default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
                frame-ancestors \(isWidget ? "*" : "'none'")
                """
        }
        response.headers[.referrerPolicy] = "no-referrer"
        if response.headers[.crossOriginResourcePolicy] == nil {
            response.headers[.crossOriginResourcePolicy] = isWidget ? "cross-origin" : "same-origin"
        }
        response.headers[.crossOriginOpenerPolicy] = "same-origin"
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
    }
}

extension HTTPField.Name {
    static let host = Self("Host")!
    static let xForwardedFor = Self("X-Forwarded-For")!
    static let secFetchSite = Self("Sec-Fetch-Site")!
    static let referrerPolicy = Self("Referrer-Policy")!
    static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
    static let idempotencyKey = Self("Idempotency-Key")!
    /// The interface from which a forwarded request came: `dbus` or `notification`.
    static let waterhSurface = Self("Waterh-Surface")!
    static let idempotentReplayed = Self("Idempotent-Replayed")!
    static let lastEventID = Self("Last-Event-ID")!
}

extension HTTPProblem {
    init(explaining error: any Error) {
        switch error {
        case let problem as HTTPProblem: self = problem
        case let problem as any TrackerCore.Problem:
            self.init(HTTPProblem.status(problem), problem.code, problem.sentence)
            if problem.category == .busy { headers[.retryAfter] = "2" }
            if problem.code == "underWay" { headers[.retryAfter] = "5" }
        case let error as any HTTPResponseError:
            let (code, description) = HTTPProblem.description(error.status)
            self.init(error.status, code, description)
        case is CancellationError:
            self.init(.serviceUnavailable, "stopping", "The service is stopping.")
        default:
            self.init(.internalServerError, "failed", "The request failed: \(error)")
        }
    }

    /// The error codes for requests that are valid but conflict with the current state (status 409).
    private static let conflicts: Set<String> = [
        "idempotencyKeyReused", "noActiveSession", "noService", "noSuchAmount", "notMeantAnyMore", "nothingToUndo",
        "outcomeUnknown", "secretGivenOnce", "underWay",
    ]

    private static func status(_ problem: any TrackerCore.Problem) -> HTTPResponse.Status {
        switch problem.category {
        case .notFound: .notFound
        case .refused: conflicts.contains(problem.code) ? .conflict : .unprocessableContent
        case .invalid: .unprocessableContent
        case .busy: .serviceUnavailable
        case .diskFull: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
        case .damaged, .failed: .internalServerError
        }
    }

    private static func description(_ status: HTTPResponse.Status) -> (code: String, description: String) {
        switch status {
        case .notFound: ("notFound", "There is no resource at this path.")
        case .contentTooLarge: ("tooLarge", "The request is too large.")
        default: ("refused", status.reasonPhrase)
        }
    }
}

/// The number of responses by status, for the metrics.
final class ResponseCounts: Sendable {
    private let counts = Mutex<[Int: Int]>([:])

    func add(_ status: Int) { counts.withLock { $0[status, default: 0] += 1 } }

    var all: [(status: Int, count: Int)] {
        counts.withLock { $0.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
}
