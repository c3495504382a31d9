import TrackerCore

/// Adds advice to the errors of a broker: the setting to change.
enum MQTTAdvice {
    static let otherClient = """
        Another client might use the same client ID: a second service of this store, or a service of a copy.
        """

    static func copied(store: String) -> String {
        """
        If the store was moved here: waterh-gateway identity keep --store \(store). If it is a copy: set another \
        prefix (mqtt.prefix) first, then waterh-gateway identity new --store \(store).
        """
    }

    static func clientIDShared(store: String) -> String {
        """
        If this store is a copy: set another prefix (mqtt.prefix), then waterh-gateway identity new --store \(store).
        """
    }

    static func prefixShared(store: String) -> String {
        """
        Set another prefix: waterh-tracker settings set mqtt.prefix NAME --store \(store), or prefix in [mqtt] of \
        waterh.toml.
        """
    }

    /// Returns the text of an error, followed by advice.
    /// - Parameter lossCause: the likely cause if the broker disconnected without a reason.
    static func message(_ error: any Error, _ plan: MQTTPlan?, lossCause: String? = nil) -> String {
        guard let failure = error as? MQTTFailure, let plan else {
            return (error as? any Problem)?.sentence ?? "\(error)"
        }
        guard let advice = advice(failure, plan, lossCause) else { return failure.sentence }
        return failure.sentence + (failure.sentence.hasSuffix(".") ? " " : ". ") + advice
    }

    /// Whether the other end does not seem to use TLS. OpenSSL reports its response, or that it disconnected.
    static func hasNoTLS(_ failure: MQTTFailure) -> Bool {
        failure.kind == .tls
            && (failure.sentence.contains("wrong version number") || failure.sentence.contains("unexpected eof"))
    }

    private static func advice(_ failure: MQTTFailure, _ plan: MQTTPlan, _ lossCause: String?) -> String? {
        switch failure.kind {
        case .refused where plan.user == nil:
            "It might require a user: set mqtt.user and mqtt.passwordFile (in waterh.toml: user, password-file)."
        case .refused:
            """
            Check mqtt.user, the password (mqtt.passwordFile; in waterh.toml: password-file), and the rights of this \
            user at the broker.
            """
        case .tls where hasNoTLS(failure):
            "The port might not use TLS. Without TLS, mqtt.url must begin with mqtt://."
        case .tls:
            """
            Check mqtt.caFile (in waterh.toml: ca-file)\(plan.caFile == nil ? ", which is not set" : ""): it must have \
            the authority of the broker's certificate. The certificate must be for \(plan.address.host), the name in \
            mqtt.url.
            """
        case .closedBeforeResponse where !plan.address.isEncrypted:
            "If the port uses TLS (usually 8883), mqtt.url must begin with mqtts://."
        case .closedBeforeResponse where plan.certificateFile == nil:
            "The broker might require a client certificate: set mqtt.certificateFile and mqtt.keyFile."
        case .takenOver: otherClient
        case .lost where failure.code == nil: lossCause
        default: nil
        }
    }
}
