import CMosquitto
import Glibc

extension MosquittoLibrary {
    /// A client that is set up and not yet connected.
    /// - Parameter owner: the `MQTTLoop` that hears what the library tells, on its own thread.
    func client(for options: MQTTOptions, owner: UnsafeMutableRawPointer) throws(MQTTFailure) -> OpaquePointer {
        guard let client = functions.new(options.clientID, false, owner) else {
            throw MQTTFailure(.tooMuch, "The MQTT library makes no client: \(String(cString: strerror(errno)))")
        }
        do throws(MQTTFailure) {
            listen(client)
            try check(functions.int_option(client, MOSQ_OPT_SEND_MAXIMUM, MQTTLoop.inFlight), "how much may be under way")
            // Small messages go at once, and not when the last one was confirmed.
            try check(functions.int_option(client, MOSQ_OPT_TCP_NODELAY, 1), "that small messages go at once")
            if let user = options.user { try check(functions.username_pw_set(client, user, options.password), "user and password") }
            if let will = options.will {
                let code = will.payload.withUnsafeBytes {
                    functions.will_set(client, will.topic, Int32($0.count), $0.baseAddress, MQTTMessage.quality, will.isRetained)
                }
                try check(code, "the last will")
            }
            if options.address.isEncrypted { try encrypt(client, options) }
        } catch {
            functions.destroy(client)
            throw error
        }
        return client
    }

    private func check(_ code: Int32, _ what: String) throws(MQTTFailure) {
        guard code == 0 else { throw MQTTFailure(.wrongUse, "The MQTT library does not take \(what): \(words(code))") }
    }

    /// The broker's certificate is always checked, with its name.
    private func encrypt(_ client: OpaquePointer, _ options: MQTTOptions) throws(MQTTFailure) {
        for file in [options.authorities, options.certificate, options.key].compactMap(\.self) where access(file, R_OK) != 0 {
            throw MQTTFailure(.tls, "The file \(file) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard (options.certificate == nil) == (options.key == nil) else {
            throw MQTTFailure(.wrongUse, "A certificate and its key belong together: one of them is not named")
        }
        // Nobody sits here who could type a key's secret.
        let code = functions.tls_set(
            client, options.authorities, options.authorities == nil ? "/etc/ssl/certs" : nil, options.certificate, options.key, { _, _, _, _ in 0 })
        try check(code, "certificates and key")
    }

    private func listen(_ client: OpaquePointer) {
        functions.connect_with_flags_callback_set(client) { _, owner, code, flags in
            MQTTLoop.of(owner)?.admitted(code, knewUs: flags & 1 != 0)
        }
        functions.publish_callback_set(client) { _, owner, number in MQTTLoop.of(owner)?.confirmed(number, granted: true) }
        functions.subscribe_callback_set(client) { _, owner, number, count, granted in
            let isGranted = (0..<Int(count)).allSatisfy { (granted?[$0] ?? 128) < 128 }
            MQTTLoop.of(owner)?.confirmed(number, granted: isGranted)
        }
        functions.message_callback_set(client) { _, owner, message in
            guard let loop = MQTTLoop.of(owner), let message = message?.pointee, let name = message.topic, let topic = String(validatingCString: name) else { return }
            let bytes = UnsafeRawBufferPointer(start: message.payload, count: max(0, Int(message.payloadlen)))
            loop.receive(MQTTMessage(topic, Array(bytes), isRetained: message.retain))
        }
        functions.log_callback_set(client) { _, owner, level, text in
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
