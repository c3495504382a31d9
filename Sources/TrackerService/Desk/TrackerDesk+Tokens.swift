import Store
import TrackerCore

extension TrackerDesk {
    /// The tokens given out, without the tokens themselves.
    package func tokens() throws -> TokenList { TokenList(tokens: try store.tokens().map(TokenReport.init)) }

    /// Makes a token of 256 random bits. It is in this answer and nowhere else: the store keeps its fingerprint.
    /// - Parameters:
    ///   - label: what it is for; 1 to 64 printable characters.
    ///   - scope: what it is good for.
    package func makeToken(label: String, scope: Scope) throws -> NewToken {
        try Self.checkLabel(label)
        return try change {
            let token = "wt_" + Self.secret()
            let record = try store.addToken(token, label: label, scope: scope.rawValue, context)
            return NewToken(id: record.id, label: label, scope: scope, token: token)
        }
    }

    /// A label stands in lists that terminals and pages show.
    package static func checkLabel(_ label: String) throws {
        guard PrintableText.isName(label, limit: 64) else {
            throw WrongInput("label", "A label must have 1 to 64 printable characters.")
        }
    }

    /// 256 random bits, as text.
    package static func secret() -> String {
        var random = SystemRandomNumberGenerator()
        return RecordReport.hex((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    /// Revokes the token whose id begins so; without a name all of them ("sign out").
    package func revokeTokens(_ beginning: String?) throws -> Revocation {
        try change {
            Revocation(revoked: try store.revokeTokens(beginning, context))
        }
    }
}
