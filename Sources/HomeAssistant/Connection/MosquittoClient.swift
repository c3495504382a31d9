import CMosquitto
import Glibc

enum MosquittoClient {
    /// Initialises the library, once per process.
    private static let start: Void = { _ = mosquitto_lib_init() }()

    static func make(_ options: MQTTOptions, sendMaximum: Int32) throws(MQTTFailure) -> OpaquePointer {
        _ = start
        guard let client = mosquitto_new(options.clientID, options.isTemporary, nil) else {
            throw MQTTFailure(
                .processLimit, "Creating a libmosquitto client failed: \(String(cString: strerror(errno)))")
        }
        do throws(MQTTFailure) {
            let version = options.isVersion3 ? MQTT_PROTOCOL_V311 : MQTT_PROTOCOL_V5
            try check(mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, version), "the version of MQTT")
            if !options.isVersion3 { try request(client, isTemporary: options.isTemporary) }
            try check(mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, sendMaximum), "the send maximum")
            // Do not set the receive maximum: mosquitto counts messages above the size limit and never subtracts them.
            try check(mosquitto_threaded_set(client, true), "threads")
            try check(mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1), "TCP_NODELAY")
            if let user = options.user {
                try check(mosquitto_username_pw_set(client, user, options.password), "user and password")
            }
            if let will = options.will {
                let code = will.payload.withUnsafeBytes {
                    mosquitto_will_set(
                        client, will.topic, Int32($0.count), $0.baseAddress, options.qos,
                        will.isRetained && options.mayRetain)
                }
                try check(code, "the last will")
            }
            if options.address.isEncrypted { try encrypt(client, options) }
        } catch {
            mosquitto_destroy(client)
            throw error
        }
        return client
    }

    /// libmosquitto's text for its error code, without the full stop.
    static func text(_ code: Int32) -> String {
        mosquitto_strerror(code).map { String(cString: $0).replacing(/\.$/, with: "") } ?? "error \(code)"
    }

    /// Sets the properties of CONNECT: session expiry, and maximum packet size.
    private static func request(_ client: OpaquePointer, isTemporary: Bool) throws(MQTTFailure) {
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        try check(
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), isTemporary ? 0 : .max),
            "the session expiry interval")
        try check(
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), UInt32(MQTTMessage.incomingLimit)),
            "the maximum packet size")
        // The library has no asynchronous call with properties. This call stores them, and fails for the host `nil`.
        let code = mosquitto_connect_bind_v5(client, nil, 0, 30, nil, properties)
        guard code == MOSQ_ERR_INVAL.rawValue else {
            throw MQTTFailure(.invalid, "libmosquitto rejects the properties: \(text(code))")
        }
    }

    private static func check(_ code: Int32, _ value: String) throws(MQTTFailure) {
        guard code == 0 else { throw MQTTFailure(.invalid, "libmosquitto rejects \(value): \(text(code))") }
    }

    /// Enables TLS. The broker's certificate and host name are always verified.
    private static func encrypt(_ client: OpaquePointer, _ options: MQTTOptions) throws(MQTTFailure) {
        for file in [options.authorities, options.certificate, options.key].compactMap(\.self)
        where access(file, R_OK) != 0 {
            throw MQTTFailure(.tls, "The file \(file) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard (options.certificate == nil) == (options.key == nil) else {
            throw MQTTFailure(.invalid, "mqtt.certificateFile and mqtt.keyFile must be set together")
        }
        // A key with a passphrase fails, because the service cannot ask for it.
        let code = mosquitto_tls_set(
            client, options.authorities, options.authorities == nil ? "/etc/ssl/certs" : nil, options.certificate,
            options.key, { _, _, _, _ in 0 })
        try check(code, "certificates and key")
    }
}
