import HomeAssistant

/// Advice for errors of the MQTT broker.
enum BrokerAdvice {
    static func line(_ kind: MQTTFailure.Kind, inFile: Bool, store: String) -> String {
        func set(_ keys: String, _ arguments: String) -> String {
            inFile
                ? "Write in the table [mqtt] of waterh.toml: \(keys)"
                : "waterh-tracker settings set \(arguments) --store \(store)"
        }
        return switch kind {
        case .refused: set("user = \"NAME\" and password-file = \"FILE\"", "mqtt.user NAME mqtt.passwordFile FILE")
        case .tls:
            set("ca-file = \"FILE\", and in url the name that is in the broker's certificate", "mqtt.caFile FILE")
        case .closedBeforeResponse:
            set("url = \"mqtts://HOST:8883\" (or mqtt://HOST:1883)", "mqtt.url mqtts://HOST:8883")
        case .invalid: "Check the settings: waterh-tracker settings get --store \(store)"
        case .unreachable, .takenOver, .lost, .noAnswer, .processLimit, .closed:
            "Check that the broker is running (systemctl status mosquitto). If it is on another machine: "
                + set("url = \"mqtt://HOST:1883\"", "mqtt.url mqtt://HOST:1883")
        }
    }

    /// The advice for the last error of the running service, if the broker accepts the connection of `doctor`.
    static let serviceError = """
        If the broker denies topics, check its access rules for this user (mosquitto: acl_file) and its limits. Other \
        errors are retried.
        """

    static let nameTaken = """
        A broker accepts only one of them: stop the other one. If this store is a copy: set another prefix \
        (mqtt.prefix), then waterh-gateway identity new.
        """

    /// The advice if another store uses the topic prefix.
    /// - Parameters:
    ///   - inFile: whether waterh.toml sets the prefix.
    ///   - store: the path of this store.
    static func prefixTaken(inFile: Bool, store: String) -> String {
        inFile
            ? "Set another prefix in the table [mqtt] of this store's waterh.toml, and try again."
            : "Set another prefix first: waterh-tracker settings set mqtt.prefix NAME --store \(store)"
    }
}
