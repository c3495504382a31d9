import TrackerCore

/// What is told of a trouble with a broker: what it is, and which setting to look at.
enum MQTTAdvice {
    static let otherClient =
        """
        Another client may be there under our name: a second service of this store, or of a store that began as a \
        copy of this one.
        """

    /// - Parameter isRepeated: it broke again soon after it was made.
    static func words(_ error: any Error, _ plan: MQTTPlan?, isRepeated: Bool = false) -> String {
        guard let failure = error as? MQTTFailure, let plan else {
            return (error as? any Problem)?.sentence ?? "\(error)"
        }
        guard let advice = advice(failure, plan, isRepeated) else { return failure.sentence }
        return failure.sentence + (failure.sentence.hasSuffix(".") ? " " : ". ") + advice
    }

    private static func advice(_ failure: MQTTFailure, _ plan: MQTTPlan, _ isRepeated: Bool) -> String? {
        switch failure.kind {
        case .refused where plan.user == nil:
            """
            It may let in only whom it knows: set mqtt.user and mqtt.passwordFile (in the file user and \
            password-file).
            """
        case .refused:
            """
            Look at mqtt.user and at the password (mqtt.passwordFile, in the file password-file), and at what the \
            broker lets this user do.
            """
        case .tls where failure.sentence.contains("wrong version number"):
            "That port seems not to be encrypted: mqtt.url then begins with mqtt://."
        case .tls:
            """
            Is the certificate of the authority that signed the broker's the one in mqtt.caFile (in the file \
            ca-file)\(plan.caFile == nil ? ", which is not set" : "")? 
            """
                + """
                And is the broker's certificate for the name \(plan.address.host), which stands in mqtt.url? It is \
                to be called there as its certificate does.
                """
        case .noGreeting where !plan.address.isEncrypted:
            "If that port is for encrypted connections (8883 mostly is), mqtt.url begins with mqtts://."
        case .noGreeting where plan.certificateFile == nil:
            "It may want a certificate of ours: mqtt.certificateFile and mqtt.keyFile."
        case .takenOver: otherClient
        case .lost where isRepeated: otherClient
        default: nil
        }
    }
}
