import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import TrackerCore
import TrackerService

/// The client of a request: its scope and its credential.
struct Caller: Sendable {
    var scope: Scope?
    var token: Credential?
    /// Whether the request came through the service's socket.
    var isLocal = false

    struct Credential: Sendable {
        var text: String
        var id: String
    }

    /// Whether the caller may administer the service: through the service's socket, or with the scope `admin`.
    var isAdministrator: Bool { scope.map { $0 >= .admin } ?? false }

    var name: String { token.map { "token \($0.id.prefix(8))" } ?? "the socket" }

    /// Checks that the caller has at least this scope.
    /// - Throws: `HTTPProblem` if the scope is insufficient: 401 without a credential, 403 with another scope.
    func require(_ needed: Scope) throws {
        guard let scope else { throw HTTPProblem.notSignedIn }
        guard scope >= needed else { throw HTTPProblem.missingScope(needed) }
    }
}

/// Reads the credential of a request: a bearer token, the cookie of a signed-in browser, or the service's socket.
/// Client addresses grant no access, and neither do headers with an address or an origin.
struct Authenticator: Sendable {
    /// The name of the cookie with a browser's token.
    static let cookie = "waterh"
    private static let cookieLimit = 64

    let app: WebApp
    /// Whether all requests come through the service's socket, whose file mode restricts its users.
    let isSocket: Bool

    /// The caller with a bearer token that needs no read of the store; else `nil`.
    func authenticatedCaller(of request: Request) -> Caller? {
        isSocket ? nil : ((try? Self.bearer(request)) ?? nil).flatMap(app.tokenCache.caller)
    }

    func caller(of request: Request) throws -> Caller {
        if !isSocket, let token = try Self.bearer(request) {
            guard let caller = try caller(with: [token]) else { throw HTTPProblem.unknownToken }
            return caller
        }
        // A browser also adds cookies to requests of other pages, and a proxy at the socket forwards them.
        guard Self.isOwnPage(request) else { return Caller() }
        if isSocket { return Caller(scope: .admin, isLocal: true) }
        return try caller(with: Self.cookies(request)) ?? Caller()
    }

    /// The caller of a widget, whose URL may contain a token that grants only this.
    func widgetCaller(of request: Request) throws -> Caller {
        guard !isSocket, let token = request.uri.queryParameters.get("token") else { return try caller(of: request) }
        guard let caller = try caller(with: [token]), caller.scope == .widget else { throw HTTPProblem.unknownToken }
        return caller
    }

    /// The name of an instance's cookie. Browsers share cookies between ports, so each instance has its own name.
    static func cookie(ofInstance name: String) -> String { name == WebApp.defaultName ? cookie : "\(cookie)-\(name)" }

    /// The caller with the highest scope among several tokens: a browser can have signed in more than once.
    private func caller(with tokens: [String]) throws -> Caller? {
        let known = try tokens.filter { (16...256).contains($0.utf8.count) }.compactMap { try app.caller(with: $0) }
        return known.max { ($0.scope ?? .widget) < ($1.scope ?? .widget) }
    }

    /// The token of `Authorization: Bearer`. Throws if it is missing; other schemes belong to a proxy and are ignored.
    private static func bearer(_ request: Request) throws -> String? {
        let parts = request.headers[.authorization]?.split(separator: " ", maxSplits: 1) ?? []
        guard parts.first?.lowercased() == "bearer" else { return nil }
        guard parts.count == 2 else { throw HTTPProblem.unknownToken }
        return String(parts[1])
    }

    private static func cookies(_ request: Request) -> [String] {
        let pairs = request.headers[values: .cookie].flatMap { $0.split(separator: ";") }.lazy.map {
            $0.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
        }
        return Array(
            pairs.filter { $0.count == 2 && ($0[0] == cookie || $0[0].hasPrefix("\(cookie)-")) }.map { String($0[1]) }
                .prefix(cookieLimit))
    }

    /// Whether the request comes from this service's own page or from a program, and not from another site's page.
    private static func isOwnPage(_ request: Request) -> Bool {
        if let site = request.headers[.secFetchSite] { return site == "same-origin" || site == "none" }
        guard let origin = request.headers[.origin] else { return true }
        return isSame(origin: origin, as: request.head.authority ?? "")
    }

    /// Whether `origin` (`http://name:8077`) is the request's authority.
    static func isSame(origin: String, as authority: String) -> Bool {
        guard let colon = origin.firstRange(of: "://") else { return false }
        let scheme = origin[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { return false }
        let standard = scheme == "https" ? ":443" : ":80"
        func normalised(_ text: Substring) -> String {
            let text = text.lowercased()
            return text.hasSuffix(standard) ? String(text.dropLast(standard.count)) : text
        }
        return normalised(origin[colon.upperBound...]) == normalised(Substring(authority))
    }

    /// The client to which the limit of wrong access codes applies: its IPv4 address, or the first 64 bits of its IPv6
    /// address. If a proxy on this machine connects, it is the last address in `X-Forwarded-For`.
    static func rateLimitKey(of request: Request, _ remote: SocketAddress?) -> String {
        guard let remote, let address = bytes(of: remote), address.first == 127 || address == loopback6 else {
            return remote.flatMap(bytes).map(name) ?? ""
        }
        let forwarded = request.headers[values: .xForwardedFor].last?.split(separator: ",").last
        guard let text = forwarded?.trimmingCharacters(in: .whitespaces), (1...64).contains(text.utf8.count) else {
            return ""
        }
        return (try? SocketAddress(ipAddress: text, port: 0)).flatMap(bytes).map(name) ?? text
    }

    private static let loopback6 = [UInt8](repeating: 0, count: 15) + [1]

    private static func bytes(of address: SocketAddress) -> [UInt8]? {
        switch address {
        case .v4(let address): return withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address):
            let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            let isMapped = bytes.dropLast(4) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
            return isMapped ? Array(bytes.suffix(4)) : bytes
        case .unixDomainSocket: return nil
        }
    }

    private static func name(_ bytes: [UInt8]) -> String {
        bytes.prefix(8).map { String($0, radix: bytes.count == 4 ? 10 : 16) }.joined(separator: ".")
    }
}

extension HTTPProblem {
    static let notSignedIn = HTTPProblem(
        .unauthorized, "notSignedIn",
        """
        Not signed in: this request needs a token. Make one with "waterh-tracker token new"; a browser signs in with \
        "waterh-gateway open".
        """,
        headers: [.wwwAuthenticate: "Bearer"])

    static let unknownToken = HTTPProblem(
        .unauthorized, "unknownToken",
        """
        This token is unknown, revoked or expired (90 days without use). Make a new one with "waterh-tracker token new".
        """,
        headers: [.wwwAuthenticate: "Bearer"])

    static func missingScope(_ needed: Scope) -> HTTPProblem {
        HTTPProblem(.forbidden, "scope", "This request needs a token with the scope \"\(needed.rawValue)\".")
    }
}
