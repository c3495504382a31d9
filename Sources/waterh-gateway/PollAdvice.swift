import Bluetooth
import Gateway
import CommandSupport

/// Advice for poll errors on the command line, by code.
enum PollAdvice {
    static func about(_ failure: PollFailure) -> String {
        let adoptAdvice = failure.values["strangers"].map { " If it is yours: waterh-gateway adopt \($0)" } ?? ""
        return cause(failure) + adoptAdvice
    }

    /// The advice if a service of the same store is running.
    static let besideService = """
        The service of this store is running and might use the bottle. Poll with waterh-gateway nudge or on its \
        page, or stop the service first.
        """

    /// The diagnostic and its advice.
    static func text(_ diagnostic: Diagnostic) -> String {
        diagnostic.sentence + (diagnostic.code == "powerCycleMayHelp" ? " Allow it with --allow-power-cycle." : "")
    }

    private static func cause(_ failure: PollFailure) -> String {
        let values = failure.values
        let link = LinkAdvice(linkName: values["link"] ?? "", hasRadio: values["hasRadio"] != "false")
        if let code = values["linkError"].flatMap(LinkError.Code.init(rawValue:)) { return link.about(code) }
        switch failure.code {
        case "noBottle": return "Name the bottle (--bottle NAME or ADDRESS), or record the connection and report it."
        case "otherBottleThanNamed": return "Omit --bottle, or name this one."
        case "tooManyNotifications": return link.about(.protocolViolation)
        case "smallMTU": return link.smallMTU(values["mtu"] ?? "more")
        case "notTheProtocol":
            return "Run waterh-gateway poll again. If the problem persists, record the connection and report it."
        case "saidNothing": return link.silent
        case "logBrokeOff": return link.lostLink("complete records are stored, nothing uncertain was acknowledged.")
        case "outOfTime": return link.lostLink("what is not acknowledged is still in the bottle.")
        case "cannotStore":
            return "Records that were not stored are still in the bottle. Fix the store and poll again."
        case "storeCannotBeRead": return "Nothing was read from the bottle."
        case "interrupted": return "The received records are stored. Poll again for the rest."
        case "clockDoubtful":
            return """
                Nothing was acknowledged and no clock was set. Check the date of this computer (timedatectl); the next \
                poll with a correct clock continues automatically. If only the bottle's clock is wrong: \
                waterh-gateway poll --trust-clock
                """
        case "elsewhere": return "Release it in the store of that gateway first (adopt --release)."
        case "notOurs":
            let (identity, own) = (values["identity"] ?? "ADDRESS", values["own"] ?? "another")
            return """
                If it is yours: waterh-gateway adopt '\(identity)', or name it with --bottle. If it is \(own) under a \
                new name: waterh-gateway adopt '\(identity)' --as NAME.
                """
        default: return "Poll again."
        }
    }
}
