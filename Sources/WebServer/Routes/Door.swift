import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import TrackerCore
import TrackerService

/// What every request passes first: who asks, by which name of this machine, from which page; and what every error
/// becomes.
struct Door: RouterMiddleware {
    typealias Context = Visit

    /// The name of the cookie with a browser's token.
    static let cookie = "waterh"
    /// How many cookies are read.
    private static let cookieLimit = 64

    let names: @Sendable () -> [String]
    /// A program of this machine hands on what comes from elsewhere, and may not say so.
    let isBehindProxy: Bool
    let person: Person
    /// Everything that arrives here comes through a socket that only this user can open.
    let isPrivate: Bool
    let counts: RequestCounts

    func handle(_ request: Request, context: Visit, next: (Request, Visit) async throws -> Response) async throws
        -> Response
    {
        var response: Response
        do {
            var visit = context
            try admit(request, &visit)
            response = try await next(request, visit)
        } catch {
            response = HTTPProblem(explaining: error).answer.response
            if request.method == .head { response.body = .init() }
        }
        dress(&response)
        counts.note(response.status.code)
        return response
    }

    private func admit(_ request: Request, _ visit: inout Visit) throws {
        // The first `Host` became the authority. Which of several a proxy before us believed nobody knows (RFC 9112,
        // 3.2).
        guard request.headers[values: .host].isEmpty else {
            throw HTTPProblem(.badRequest, "severalHosts", "The request names its host more than once.")
        }
        // Nobody takes a body apart here that was packed in another way than HTTP's own: read as it comes it would mean
        // something else.
        guard request.headers[values: .transferEncoding].allSatisfy({ $0.lowercased() == "chunked" }) else {
            throw HTTPProblem(
                .notImplemented, "transferEncoding", "Transfer-Encoding can be \"chunked\" only.",
                headers: [.connection: "close"])
        }
        guard request.headers[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw HTTPProblem(
                .unsupportedMediaType, "contentEncoding", "A body is to be sent as it is, without Content-Encoding.",
                headers: [.connection: "close", .acceptEncoding: "identity"])
        }
        let authority = request.head.authority ?? ""
        let isHandedOn = request.headers.contains {
            [.xForwardedFor, .xForwardedHost, .forwarded, .xRealIP, .via].contains($0.name)
        }
        let isOwn = isPrivate || visit.remote.map { PeerPlaces.name(of: $0) == nil } == true
        // A proxy that says nothing is a program of this machine, too; but one that hands on the name by which it was
        // asked gives itself away.
        let isLoopback = isOwn && !isHandedOn && (isPrivate || (!isBehindProxy && HostRule.isLoopback(authority)))
        visit.peer = Self.peer(request, visit, isOwn)
        if !isPrivate, !HostRule(names: names()).allows(authority), !HostRule(names: publicNames()).allows(authority) {
            throw HTTPProblem(
                .misdirectedRequest, "unknownHost",
                """
                This machine does not go by the name \"\(authority.prefix(64))\" here. Use its address, or add the \
                name to the configuration.
                """
            )
        }
        // A router reads over empty parts; a proxy's rule for a path does not.
        guard !(request.head.path ?? "").prefix(while: { $0 != "?" }).contains("//") else {
            throw HTTPProblem.missing("There is nothing of that name.")
        }
        let origin = request.headers[.origin]
        let site = request.headers[.secFetchSite]
        let isSame = origin.map { HostRule.isSame(origin: $0, as: authority) }
        let isWrite = request.method != .get && request.method != .head && request.method != .options
        if isWrite, isSame == false || site == "cross-site" || site == "same-site" {
            throw HTTPProblem(.forbidden, "otherOrigin", "A page of another origin may not write here.")
        }
        // Where a browser says nothing of the site, it names the origin of whoever listens with a script.
        visit.isOfOtherPage = site.map { $0 == "cross-site" || $0 == "same-site" } ?? (isSame == false)
        visit.isLocal = isLoopback
        if isPrivate {
            visit.rights.otherwise = .admin
            return
        }
        if let token = try Self.bearer(request) {
            visit.rights = Rights(key: try key([token]), isBearer: true)
            guard visit.rights.key != nil else { throw Self.unknownToken }
            return
        }
        // A cookie that is good no more is as none: the page asks to be let in again.
        visit.rights.key = try key(Self.cookies(request))
        guard isLoopback else { return }
        // The page on this very machine. A browser says where a write comes from, and of a look at least that it is its
        // own page's; a script brings a token.
        let isOwnPage = isSame == true || (!isWrite && origin == nil && site == "same-origin")
        visit.rights.otherwise = isOwnPage ? .admin : .read
    }

    /// The host of the public address that the settings name: the buttons of notifications lead there.
    private func publicNames() -> [String] {
        let address = (try? person.desk().store.settings())?.service.publicURL
        return [address.flatMap { URLComponents(string: $0)?.host }].compactMap(\.self)
    }

    private static func bearer(_ request: Request) throws -> String? {
        guard let field = request.headers[.authorization] else { return nil }
        let parts = field.split(separator: " ", maxSplits: 1)
        // What a proxy asks its own visitors for (Basic), and hands on, says nothing to us.
        guard parts.first?.lowercased() == "bearer" else { return nil }
        guard parts.count == 2 else { throw unknownToken }
        return String(parts[1])
    }

    /// The tokens in our cookies. Several services of one machine share the cookies of its name.
    private static func cookies(_ request: Request) -> [String] {
        let pairs = request.headers[values: .cookie].flatMap { $0.split(separator: ";") }.lazy.map {
            $0.trimming(" \t").split(separator: "=", maxSplits: 1)
        }
        return Array(
            pairs.filter { $0.count == 2 && ($0[0] == cookie || $0[0].hasPrefix("\(cookie)-")) }.map { String($0[1]) }
                .prefix(cookieLimit))
    }

    /// The token that allows most. A browser may have been let in more than once.
    private func key(_ shown: [String]) throws -> Rights.Key? {
        var key: Rights.Key?
        for token in shown where (16...256).contains(token.utf8.count) {
            guard let scope = try person.desk().store.scope(of: token).flatMap(Scope.init(rawValue:)) else { continue }
            if key.map({ $0.scope < scope }) ?? true { key = Rights.Key(scope: scope, token: token) }
        }
        return key
    }

    /// The cookie of an instance. Cookies do not depend on the port, so each instance needs a name of its own.
    static func cookie(ofInstance name: String) -> String { "\(cookie)-\(name)" }

    static let unknownToken = HTTPProblem(
        .unauthorized, "unknownToken", "This token is not known here, or was taken back.",
        headers: [.wwwAuthenticate: "Bearer"])

    /// Who asks, as far as tries are counted. A proxy of this machine puts the address of whom it heard behind those
    /// that it was told.
    private static func peer(_ request: Request, _ visit: Visit, _ isOwn: Bool) -> String {
        guard isOwn else { return visit.remote.flatMap(PeerPlaces.name) ?? "" }
        let told =
            request.headers[values: .xForwardedFor].last?.split(separator: ",").last.map { $0.trimming(" \t") } ?? ""
        guard !told.isEmpty, told.utf8.count <= 64 else { return "" }
        return (try? SocketAddress(ipAddress: String(told), port: 0)).map { PeerPlaces.name(of: $0) ?? "" }
            ?? String(told)
    }

    /// What every answer says beside itself.
    private func dress(_ response: inout Response) {
        response.headers[.xContentTypeOptions] = "nosniff"
        if response.headers[.contentSecurityPolicy] == nil {
            response.headers[.contentSecurityPolicy] = """
                default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                manifest-src 'self'; \
                worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'
                """
        }
        response.headers[.referrerPolicy] = "no-referrer"
        if response.headers[.crossOriginResourcePolicy] == nil {
            response.headers[.crossOriginResourcePolicy] = "same-origin"
        }
        response.headers[.crossOriginOpenerPolicy] = "same-origin"
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
    }
}

extension HTTPField.Name {
    static let host = Self("Host")!
    static let xForwardedFor = Self("X-Forwarded-For")!
    static let forwarded = Self("Forwarded")!
    static let xForwardedHost = Self("X-Forwarded-Host")!
    static let xRealIP = Self("X-Real-IP")!
    static let secFetchSite = Self("Sec-Fetch-Site")!
    static let referrerPolicy = Self("Referrer-Policy")!
    static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
    static let idempotencyKey = Self("Idempotency-Key")!
    /// By what the person said what is handed on: the session's bus, a notification.
    static let waterhSurface = Self("Waterh-Surface")!
    static let idempotentReplayed = Self("Idempotent-Replayed")!
    static let lastEventID = Self("Last-Event-ID")!
}

extension HTTPProblem {
    /// Any error as problem details.
    init(explaining error: any Error) {
        switch error {
        case let problem as HTTPProblem: self = problem
        case let problem as any TrackerCore.Problem:
            self.init(HTTPProblem.status(problem), problem.code, problem.sentence)
            if problem.category == .busy { headers[.retryAfter] = "2" }
        case let error as any HTTPResponseError:
            let (code, words) = HTTPProblem.words(error.status)
            self.init(error.status, code, words)
        case is CancellationError:
            self.init(.serviceUnavailable, "stopping", "The service is stopping.")
        default:
            self.init(.internalServerError, "failed", "This could not be done: \(error)")
        }
    }

    /// What was asked is right, and not as things stand now.
    private static let conflicts: Set<String> = [
        "noActiveSession", "noService", "noSuchAmount", "notMeantAnyMore", "nothingToUndo",
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

    private static func words(_ status: HTTPResponse.Status) -> (code: String, words: String) {
        switch status {
        case .notFound: ("notFound", "There is nothing here.")
        case .contentTooLarge: ("tooLarge", "That is too large.")
        default: ("refused", status.reasonPhrase)
        }
    }
}
