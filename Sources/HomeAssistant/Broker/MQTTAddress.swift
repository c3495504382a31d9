/// Where a broker is: `mqtt://host:1883`, `mqtts://host:8883`.
package struct MQTTAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name, or an address without brackets.
    package var host: String
    /// Usually 1883, encrypted 8883.
    package var port: UInt16
    /// Whether it is spoken to over TLS.
    package var isEncrypted: Bool

    package init(host: String, port: UInt16, isEncrypted: Bool = false) {
        (self.host, self.port, self.isEncrypted) = (host, port, isEncrypted)
    }

    /// - Throws: `MQTTFailure` that says what is wrong with it.
    package init(_ text: String) throws(MQTTFailure) {
        func wrong(_ why: String) -> MQTTFailure {
            MQTTFailure(.wrongUse, "\"\(text)\" is no place of a broker: \(why)")
        }
        // First of all: no message shows what may be a password.
        guard !text.contains("@") else {
            throw MQTTFailure(
                .wrongUse, "The place of a broker holds no user and no password: they have settings of their own")
        }
        let lower = text.lowercased()
        guard let scheme = ["mqtt://", "mqtts://"].first(where: lower.hasPrefix) else {
            throw wrong("it begins with mqtt:// or mqtts://")
        }
        isEncrypted = scheme == "mqtts://"
        var rest = text.dropFirst(scheme.count)
        if rest.last == "/" { rest.removeLast() }
        guard !rest.contains("/"), !rest.contains("?"), !rest.contains("#") else {
            throw wrong("nothing comes behind host and port")
        }
        var digits: Substring?
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { throw wrong("the bracket is not closed") }
            host = String(rest[rest.index(after: rest.startIndex)..<end])
            let behind = rest[rest.index(after: end)...]
            guard behind.isEmpty || behind.first == ":" else { throw wrong("behind the bracket comes :PORT") }
            digits = behind.isEmpty ? nil : behind.dropFirst()
        } else if let colon = rest.lastIndex(of: ":") {
            host = String(rest[..<colon])
            guard !host.contains(":") else { throw wrong("an IPv6 address stands in brackets") }
            digits = rest[rest.index(after: colon)...]
        } else {
            host = String(rest)
        }
        guard !host.isEmpty, host.utf8.count <= 255,
            host.unicodeScalars.allSatisfy({ $0.value > 32 && $0.value != 127 })
        else { throw wrong("the host is missing") }
        guard let digits else {
            port = isEncrypted ? 8883 : 1883
            return
        }
        guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = UInt16(digits), number > 0 else {
            throw wrong("a port is 1 to 65535")
        }
        port = number
    }

    /// `mqtt://host:port` or `mqtts://host:port`.
    package var description: String {
        "\(isEncrypted ? "mqtts" : "mqtt")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}
