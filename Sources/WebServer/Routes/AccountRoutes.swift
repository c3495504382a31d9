import HTTPTypes
import Hummingbird
import NIOCore
import TrackerCore
import TrackerService

/// Who is let in, and the end of everything.
enum AccountRoutes {
    static func add(
        to table: RouteTable, _ person: Person, _ pairing: PairingDesk,
        _ addresses: @escaping @Sendable () -> [String]
    ) {
        table.get("access") { ask in
            try ask.allowQuery([])
            return .json(Access(scope: ask.visit.rights.scope?.rawValue))
        }
        table.get("tokens", needs: .admin) { ask in
            try ask.allowQuery([])
            return .json(try ask.person.desk().tokens())
        }
        table.write(.post, "tokens", needs: .admin, way: .secret) { _, desk, fields in
            let (label, scope) = (try fields.text("label") ?? "http", try fields.scope("scope") ?? .log)
            try fields.finish()
            return .json(try desk.makeToken(label: label, scope: scope), status: .created)
        }
        table.write(.delete, "tokens/:token", needs: .admin) { ask, desk, fields in
            try fields.finish()
            return .json(try desk.revokeTokens(try ask.part("token")))
        }
        table.write(.post, "purge", needs: .admin) { _, desk, fields in
            let word = try fields.text("confirm")
            try fields.finish()
            guard word == "purge" else {
                throw HTTPProblem.wrong(
                    "confirmation", "This deletes everything: confirm it with {\"confirm\": \"purge\"}.")
            }
            return .json(try await desk.purge())
        }
        table.write(.post, "pairings", needs: .admin, way: .secret) { ask, _, fields in
            let grant = PairingCodes.Grant(
                scope: try fields.scope("scope") ?? .control, label: try fields.text("label") ?? "browser")
            try fields.finish()
            try TrackerDesk.checkLabel(grant.label)
            let code = await pairing.issue(grant)
            return .json(
                Pairing(
                    code: code, seconds: Int(PairingCodes.lifetime), scope: grant.scope.rawValue, urls: addresses()),
                status: .created)
        }
        table.open(.post, "pair") { request, visit in try await letIn(request, visit, person, pairing) }
    }

    private struct Access: Encodable {
        /// What the caller may do.
        var scope: String?
    }

    private struct Pairing: Encodable {
        var code: String
        var seconds: Int
        var scope: String
        /// Where the page is, for other machines.
        var urls: [String]
    }

    private struct Paired: Encodable {
        var scope: String
        var token: String?
    }

    /// A code becomes a cookie; a script that asks for it gets the token itself. Asked again under the same
    /// `Idempotency-Key`, because the answer was lost, it makes another token and takes the first one back: a secret is
    /// kept nowhere.
    private static func letIn(_ request: Request, _ visit: Visit, _ person: Person, _ pairing: PairingDesk)
        async throws -> Answer
    {
        var fields = try Fields(try await Ask(request: request, visit: visit, person: person).body())
        let (code, wantsToken) = (try fields.text("code") ?? "", try fields.flag("token") ?? false)
        try fields.finish()
        let key = try Once.key(of: request)
        let (verdict, token) = try await pairing.redeem(code, key: key, from: visit.peer) { grant, instead in
            let desk = try person.desk()
            let made = try desk.makeToken(label: grant.label, scope: grant.scope)
            // Somebody may have taken it back meanwhile.
            if let instead { _ = try? desk.revokeTokens(instead) }
            return made
        }
        switch verdict {
        case .wrong: throw wrongCode
        case .used: throw usedCode
        case .wait(let seconds):
            throw HTTPProblem(
                .tooManyRequests, "tooManyTries", "Too many tries: wait \(seconds) seconds.",
                headers: [.retryAfter: "\(seconds)"])
        case .letIn(let grant, _):
            guard let made = token else { throw wrongCode }
            var answer = Answer.json(Paired(scope: grant.scope.rawValue, token: wantsToken ? made.token : nil))
            if !wantsToken {
                let isSecure = request.headers[HTTPField.Name("X-Forwarded-Proto")!] == "https"
                let name = person.name == Person.unnamed ? Door.cookie : Door.cookie(ofInstance: person.name)
                answer.headers[.setCookie] =
                    """
                    \(name)=\(made.token); Path=/; Max-Age=31536000; HttpOnly; \
                    SameSite=Strict\(isSecure ? "; Secure" : "")
                    """
            }
            return answer
        }
    }

    private static let wrongCode = HTTPProblem(
        .forbidden, "wrongCode", "This code is not, or no longer, good. Ask for a new one where the service runs.")
    private static let usedCode = HTTPProblem(
        .forbidden, "codeUsed",
        """
        This code has let somebody in already. If that was you and the answer was lost, ask for a new one where \
        the service runs, and take back what nobody holds in the list of tokens.
        """
    )
}

extension Fields {
    mutating func scope(_ key: String) throws -> Scope? {
        guard let text = try text(key) else { return nil }
        guard let scope = Scope(rawValue: text) else {
            throw HTTPProblem.wrong(
                "notAScope", "\"\(key)\" is one of \(Scope.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return scope
    }
}
