import HTTPTypes
import Hummingbird
import NIOCore
import TrackerCore
import TrackerDesk

/// Who is let in, and the end of everything.
enum AccountRoutes {
    static func add(to table: RouteTable, _ pairing: PairingDesk, _ addresses: @escaping @Sendable () -> [String]) {
        table.get("tokens", needs: .admin) { ask in
            try ask.allowQuery([])
            return .json(try ask.person.desk().tokens())
        }
        table.write(.post, "tokens", needs: .admin, way: .secret) { _, desk, fields in
            let (label, scope) = (try fields.text("label") ?? "http", try fields.scope("scope") ?? .control)
            try fields.finish()
            return .json(try desk.makeToken(label: String(label.prefix(64)), scope: scope.rawValue), status: .created)
        }
        table.write(.delete, "tokens/:token", needs: .admin) { ask, desk, fields in
            try fields.finish()
            return .json(try desk.revokeTokens(try ask.part("token")))
        }
        table.write(.post, "purge", needs: .admin) { _, desk, fields in
            let word = try fields.text("confirm")
            try fields.finish()
            guard word == "purge" else { throw HTTPProblem.wrong("confirmation", "This deletes everything: confirm it with {\"confirm\": \"purge\"}.") }
            return .json(try await desk.purge())
        }
        table.write(.post, "pairings", needs: .admin, way: .secret) { _, desk, fields in
            let grant = PairingCodes.Grant(scope: try fields.scope("scope") ?? .control, label: String((try fields.text("label") ?? "browser").prefix(64)))
            try fields.finish()
            let code = await pairing.issue(grant, at: desk.now)
            return .json(Pairing(code: code, seconds: Int(PairingCodes.lifetime), scope: grant.scope.rawValue, urls: addresses()), status: .created)
        }
        table.open(.post, "pair") { ask in try await letIn(ask, pairing) }
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

    /// A code becomes a cookie; a script that asks for it gets the token itself.
    private static func letIn(_ ask: Ask, _ pairing: PairingDesk) async throws -> Answer {
        var fields = try Fields(try await ask.body())
        let (code, wantsToken) = (try fields.text("code") ?? "", try fields.flag("token") ?? false)
        try fields.finish()
        let desk = try ask.person.desk()
        switch await pairing.redeem(code, at: desk.now) {
        case .wrong: throw HTTPProblem(.forbidden, "wrongCode", "This code is not, or no longer, good. Ask for a new one where the service runs.")
        case .wait(let seconds):
            throw HTTPProblem(.tooManyRequests, "tooManyTries", "Too many tries: wait \(seconds) seconds.", headers: [.retryAfter: "\(seconds)"])
        case .letIn(let grant):
            let made = try desk.makeToken(label: grant.label, scope: grant.scope.rawValue)
            var answer = Answer.json(Paired(scope: grant.scope.rawValue, token: wantsToken ? made.token : nil))
            if !wantsToken {
                let isSecure = ask.request.headers[HTTPField.Name("X-Forwarded-Proto")!] == "https"
                answer.headers[.setCookie] = "\(Door.cookie)=\(made.token); Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
            }
            return answer
        }
    }
}

extension Fields {
    mutating func scope(_ key: String) throws -> Scope? {
        guard let text = try text(key) else { return nil }
        guard let scope = Scope(rawValue: text) else {
            throw HTTPProblem.wrong("notAScope", "\"\(key)\" is one of \(Scope.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return scope
    }
}
