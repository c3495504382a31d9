import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import TrackerCore
import TrackerService

/// Tokens, access codes, sign-in, sign-out, and deletion of all data.
enum AccountRoutes {
    static func add(
        to table: RouteTable, _ codes: AccessCodes, _ addresses: @escaping @Sendable () -> PageAddresses, _ log: Logger
    ) {
        table.get("access") { call in
            let caller = call.caller
            return .json(CallerReport(scope: caller.scope?.rawValue, token: caller.token?.id))
        }
        table.get("tokens", needs: .admin) { call in .json(try call.app.tracker().tokens()) }
        table.write(.post, "tokens", needs: .admin, recording: .beforeSecret) { call, tracker, fields in
            let label = try fields.text("label") ?? "http"
            let scope: Scope = try fields.choice("scope", "notAScope") ?? .log
            try fields.finish()
            let token = try tracker.makeToken(label: label, scope: scope)
            log.notice("Token \(token.id.prefix(8)) (\"\(label)\", \(scope.rawValue)) made by \(call.caller.name).")
            return .json(token, status: .created)
        }
        // A caller may revoke its own token to sign out.
        table.action(.delete, "tokens/:token", needs: .read) { call, tracker in
            let id = try call.parameter("token")
            let isOwn = id == call.caller.token?.id
            if !isOwn { try call.caller.require(.admin) }
            var answer = APIResponse.json(try tracker.revokeTokens(id))
            log.notice("Token \(id.prefix(8)) revoked by \(call.caller.name).")
            if isOwn {
                answer.headers[.setCookie] =
                    "\(Authenticator.cookie(ofInstance: call.app.name))=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
            }
            return answer
        }
        table.write(.post, "purge", needs: .admin) { call, tracker, fields in
            let confirmation = try fields.text("confirm")
            try fields.finish()
            guard confirmation == "purge" else {
                throw WrongInput("confirmation", "This deletes everything: confirm it with {\"confirm\": \"purge\"}.")
            }
            let ownToken = try call.caller.token.flatMap { token in
                try tracker.authenticate(token.text).map { (token.text, $0) }
            }
            let report = try await tracker.purge()
            // The requesting browser stays signed in, because its page continues with setup.
            if let (text, record) = ownToken { try tracker.restore(token: text, record) }
            log.notice("Everything deleted by \(call.caller.name).")
            return .json(report)
        }
        table.write(.post, "access-codes", needs: .admin, recording: .beforeSecret) { call, _, fields in
            let grant = AccessCodes.Grant(
                scope: try fields.choice("scope", "notAScope") ?? .control, label: try fields.text("label") ?? "browser"
            )
            try fields.finish()
            try TrackerAPI.checkLabel(grant.label)
            let (code, pages) = (await codes.make(grant, for: call.caller.name), addresses())
            return .json(
                AccessCode(
                    code: code, seconds: Int(AccessCodes.lifetime), scope: grant.scope.rawValue, urls: pages.others,
                    localUrl: pages.local), status: .created)
        }
        table.renamed(.post, "pairings", to: "access-codes")
        table.renamed(.post, "pair", to: "sign-in")
        table.unauthenticated(.post, "sign-in") { call in try await signIn(call, codes) }
    }

    private struct CallerReport: Encodable {
        var scope: String?
        var token: String?
    }

    private struct AccessCode: Encodable {
        var code: String
        var seconds: Int
        var scope: String
        /// The page's URLs for other machines.
        var urls: [String]
        var localUrl: String?
    }

    private struct SignedIn: Encodable {
        var scope: String
        var token: String?
    }

    /// Exchanges a code for a cookie, or for a token if the body requests one.
    private static func signIn(_ call: APICall, _ codes: AccessCodes) async throws -> Response {
        let (request, app) = (call.request, call.app)
        var fields = try Fields(try await call.body())
        let (code, wantsToken) = (try fields.text("code") ?? "", try fields.flag("token") ?? false)
        try fields.finish()
        let client = Authenticator.rateLimitKey(of: request, call.context.remote)
        let outcome = try await codes.redeem(code, key: IdempotentWrite.key(of: request), from: client) {
            grant, replaced in
            let tracker = try app.tracker()
            let created = try tracker.makeToken(label: grant.label, scope: grant.scope)
            // Another client may have revoked the token since.
            if let replaced { _ = try? tracker.revokeTokens(replaced) }
            return created
        }
        switch outcome {
        case .wait(let seconds):
            throw HTTPProblem(
                .tooManyRequests, "tooManyTries", "Too many wrong codes. Try again in \(seconds) s.",
                headers: [.retryAfter: "\(seconds)"])
        case .used: throw usedCode
        case .wrong: throw wrongCode
        case .accepted(let token):
            var answer = Response.json(SignedIn(scope: token.scope.rawValue, token: wantsToken ? token.token : nil))
            if !wantsToken {
                let isSecure = request.headers[HTTPField.Name("X-Forwarded-Proto")!] == "https"
                answer.headers[.setCookie] = """
                    \(Authenticator.cookie(ofInstance: app.name))=\(token.token); Path=/; Max-Age=31536000; HttpOnly; \
                    SameSite=Strict\(isSecure ? "; Secure" : "")
                    """
            }
            return answer
        }
    }

    private static let wrongCode = HTTPProblem(
        .forbidden, "wrongCode",
        "This code is wrong or has expired. Get a new one where the service runs: waterh-gateway invite.")
    private static let usedCode = HTTPProblem(
        .forbidden, "codeUsed",
        """
        This code has been used. If the response was lost, get a new one where the service runs (waterh-gateway \
        invite), and revoke the unused token in the list of tokens.
        """
    )
}
