import CMosquitto
import Glibc

enum MosquittoLibrary {
    /// Once for the process, before the first client.
    private static let start: Void = { _ = mosquitto_lib_init() }()

    /// A client that is set up and not yet connected.
    /// - Parameters:
    ///   - isOld: speaks MQTT 3.1.1, for brokers that know no other.
    ///   - owner: the `MQTTLoop` that hears what the library tells, on its own thread.
    static func client(for options: MQTTOptions, isOld: Bool, owner: UnsafeMutableRawPointer) throws(MQTTFailure)
        -> OpaquePointer
    {
        _ = start
        guard let client = mosquitto_new(options.clientID, options.isForNow, owner) else {
            throw MQTTFailure(.tooMuch, "The MQTT library makes no client: \(String(cString: strerror(errno)))")
        }
        do throws(MQTTFailure) {
            listen(client)
            try check(
                mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, isOld ? MQTT_PROTOCOL_V311 : MQTT_PROTOCOL_V5),
                "the version of MQTT")
            if !isOld { try ask(client, isForNow: options.isForNow) }
            try check(
                mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, MQTTLoop.inFlight), "how much may be under way")
            // Small messages go at once, and not when the last one was confirmed.
            try check(mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1), "that small messages go at once")
            if let user = options.user {
                try check(mosquitto_username_pw_set(client, user, options.password), "user and password")
            }
            if let will = options.will {
                let code = will.payload.withUnsafeBytes {
                    mosquitto_will_set(
                        client, will.topic, Int32($0.count), $0.baseAddress, MQTTMessage.quality, will.isRetained)
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

    /// What is asked of the broker with the first word: to remember us for ever (or not at all), and to keep to itself
    /// what is too large for us.
    private static func ask(_ client: OpaquePointer, isForNow: Bool) throws(MQTTFailure) {
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        try check(
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), isForNow ? 0 : .max),
            "how long we are remembered")
        try check(
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), UInt32(MQTTMessage.incomingLimit)),
            "the largest packet")
        // The library has no such call that does not wait for the network. This one notes what is asked before it finds
        // that no host is named, and the connection that is made afterwards asks for it.
        let code = mosquitto_connect_bind_v5(client, nil, 0, 30, nil, properties)
        guard code == MOSQ_ERR_INVAL.rawValue else {
            throw MQTTFailure(.wrongUse, "The MQTT library connects to nowhere: \(words(code))")
        }
    }

    static func words(_ code: Int32) -> String {
        mosquitto_strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }

    private static func check(_ code: Int32, _ what: String) throws(MQTTFailure) {
        guard code == 0 else { throw MQTTFailure(.wrongUse, "The MQTT library does not take \(what): \(words(code))") }
    }

    /// The broker's certificate is always checked, with its name.
    private static func encrypt(_ client: OpaquePointer, _ options: MQTTOptions) throws(MQTTFailure) {
        for file in [options.authorities, options.certificate, options.key].compactMap(\.self)
        where access(file, R_OK) != 0 {
            throw MQTTFailure(.tls, "The file \(file) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard (options.certificate == nil) == (options.key == nil) else {
            throw MQTTFailure(.wrongUse, "A certificate and its key belong together: one of them is not named")
        }
        // Nobody sits here who could type a key's secret.
        let code = mosquitto_tls_set(
            client, options.authorities, options.authorities == nil ? "/etc/ssl/certs" : nil, options.certificate,
            options.key, { _, _, _, _ in 0 })
        try check(code, "certificates and key")
    }

    private static func listen(_ client: OpaquePointer) {
        mosquitto_connect_with_flags_callback_set(client) { client, owner, code, flags in
            // From here on it writes when the loop lets it: otherwise it confirms a message before it hands it on.
            _ = mosquitto_threaded_set(client, true)
            MQTTLoop.of(owner)?.admitted(code, knewUs: flags & 1 != 0)
        }
        mosquitto_publish_v5_callback_set(client) { _, owner, number, reason, _ in
            MQTTLoop.of(owner)?.published(number, reason: reason)
        }
        mosquitto_disconnect_callback_set(client) { _, owner, reason in MQTTLoop.of(owner)?.dismissed(reason) }
        mosquitto_subscribe_callback_set(client) { _, owner, number, count, granted in
            let isGranted = (0..<Int(count)).allSatisfy { (granted?[$0] ?? 128) < 128 }
            MQTTLoop.of(owner)?.confirmed(number, granted: isGranted)
        }
        mosquitto_message_callback_set(client) { _, owner, message in
            guard let loop = MQTTLoop.of(owner), let message = message?.pointee, let name = message.topic,
                let topic = String(validatingCString: name)
            else { return }
            let bytes = UnsafeRawBufferPointer(
                start: message.payload, count: min(max(0, Int(message.payloadlen)), MQTTMessage.incomingLimit + 1))
            var taken = MQTTMessage(topic, Array(bytes), isRetained: message.retain)
            taken.isConfirmed = message.qos > 0
            loop.came(taken)
            // The library reads as many messages in one piece as it has sent, unless it is told that there is nothing
            // more to read just now (mosquitto_loop_read looks at this after each). Where another version does not
            // look, many are dealt with in one piece.
            errno = EAGAIN
        }
        mosquitto_log_callback_set(client) { _, owner, level, text in
            guard level == 0x08 /* MOSQ_LOG_ERR */, let text else { return }
            MQTTLoop.of(owner)?.complained(String(cString: text))
        }
    }
}

extension MQTTLoop {
    /// What the library hands back is what it was given; the loop outlives its client.
    fileprivate static func of(_ owner: UnsafeMutableRawPointer?) -> MQTTLoop? {
        owner.map { Unmanaged<MQTTLoop>.fromOpaque($0).takeUnretainedValue() }
    }
}
