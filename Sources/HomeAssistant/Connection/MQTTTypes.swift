import CMosquitto

package struct MQTTOptions: Hashable, Sendable {
    package var address: MQTTAddress
    /// The client ID. It is constant, because the broker keeps the session for it.
    package var clientID: String
    package var user: String?
    package var password: String?
    /// The path of a PEM file of certification authorities; `nil` for those of the system.
    package var authorities: String?
    /// The paths of the PEM files of the client certificate and its key.
    package var certificate: String?
    package var key: String?
    package var will: MQTTMessage?
    /// Whether the session ends with the connection.
    package var isTemporary = false
    package var isVersion3 = false
    package var mayRetain = true
    /// The quality of service of published messages: 0 or 1.
    package var qos: Int32 = 1
    /// The time limit for each response of the broker.
    package var limit = Duration.seconds(15)

    package init(address: MQTTAddress, clientID: String) { (self.address, self.clientID) = (address, clientID) }

    /// Removes the feature that the broker has rejected as unsupported.
    /// - Returns: whether to connect again at once with the new options.
    package mutating func adapt(to failure: MQTTFailure) -> Bool {
        switch failure.code {
        case Int32(MQTT_RC_RETAIN_NOT_SUPPORTED.rawValue)? where mayRetain: mayRetain = false
        case Int32(MQTT_RC_QOS_NOT_SUPPORTED.rawValue)? where qos > 0: qos = 0
        case 1? where !isVersion3, Int32(MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION.rawValue)? where !isVersion3:
            isVersion3 = true
        case nil where failure.kind == .closedBeforeResponse && !isVersion3: isVersion3 = true
        default: return false
        }
        return true
    }
}

package struct MQTTMessage: Hashable, Sendable {
    package var topic: String
    package var payload: [UInt8]
    /// Whether the broker keeps the message for later subscribers. An empty payload clears it.
    package var isRetained: Bool

    /// The maximum length of an incoming message in bytes. A larger message is truncated.
    package static let incomingLimit = 1 << 16

    package init(_ topic: String, _ payload: [UInt8], isRetained: Bool = false) {
        (self.topic, self.payload, self.isRetained) = (topic, payload, isRetained)
    }

    package init(_ topic: String, _ text: String, isRetained: Bool = false) {
        self.init(topic, Array(text.utf8), isRetained: isRetained)
    }

    /// The payload as text; `nil` if it is not UTF-8.
    package var text: String? { String(validating: payload, as: UTF8.self) }
}

/// The broker's acknowledgement of a published message.
package enum MQTTDelivery: Hashable, Sendable {
    /// The broker accepted the message.
    /// - Parameter hasSubscriber: whether a client subscribes to the topic. `true` if the broker does not report this.
    case accepted(hasSubscriber: Bool)
    /// The broker rejected the message.
    /// - Parameter isTooLong: whether the broker might accept a shorter message.
    case rejected(reason: String, isTooLong: Bool)

    /// The code for a message that needs no packet. It counts as accepted.
    static let noPacketNeeded: Int32 = -1

    /// - Parameter code: a reason code of MQTT 5, or a negative error code of libmosquitto.
    init(code: Int32) {
        guard code >= 128 || code < 0 else {
            self = .accepted(hasSubscriber: code != MQTT_RC_NO_MATCHING_SUBSCRIBERS.rawValue)
            return
        }
        let tooLong = [
            Int32(MQTT_RC_PACKET_TOO_LARGE.rawValue), -MOSQ_ERR_OVERSIZE_PACKET.rawValue,
            -MOSQ_ERR_PAYLOAD_SIZE.rawValue,
        ]
        self = .rejected(reason: Self.reasonText(code), isTooLong: tooLong.contains(code))
    }

    static func reasonText(_ code: Int32) -> String {
        code < 0
            ? MosquittoClient.text(-code) : mosquitto_reason_string(code).map { String(cString: $0) } ?? "code \(code)"
    }

    package var isAccepted: Bool { if case .accepted = self { true } else { false } }
}

/// The reason why a connection failed or ended.
package struct MQTTFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable {
        /// An address, a topic or a file is invalid.
        case invalid
        /// No connection, or the broker does not accept one now.
        case unreachable
        /// The broker rejected the user or a subscription.
        case refused
        /// A certificate, a host name or a key is invalid.
        case tls
        /// The broker disconnected before it answered.
        case closedBeforeResponse
        /// Another client connected with the same client ID.
        case takenOver
        case lost
        case noAnswer
        /// A limit of this process was exceeded.
        case processLimit
        /// This process closed the connection.
        case closed
    }

    package let kind: Kind
    package let sentence: String
    package let code: Int32?

    package init(_ kind: Kind, _ sentence: String, code: Int32? = nil) {
        (self.kind, self.sentence, self.code) = (kind, sentence, code)
    }

    package var description: String { sentence }

    /// The codes of CONNACK that a wrong user, password or right can cause: those of MQTT 3.1.1, then those of MQTT 5.
    /// Some brokers send "unspecified" or "implementation specific" for them.
    private static let userCodes: Set<Int32> = [4, 5, 128, 131, 134, 135, 138, 140]

    /// The broker rejected the connection.
    static func rejection(_ code: Int32, by broker: String) -> MQTTFailure {
        let reason = (code > 5 ? mosquitto_reason_string(code) : mosquitto_connack_string(code)).map {
            String(cString: $0)
        }
        return MQTTFailure(
            userCodes.contains(code) ? .refused : .unreachable,
            "\(broker) rejects the connection: \(reason ?? "code \(code)")", code: code)
    }
}
