/// The address of a broker: `mqtt://host:1883`, `mqtts://host:8883`.
package struct MQTTAddress: Hashable, Sendable, CustomStringConvertible {
    /// A host name, or an IP address without brackets.
    package var host: String
    package var port: UInt16
    package var isEncrypted: Bool

    package init(host: String, port: UInt16, isEncrypted: Bool = false) {
        (self.host, self.port, self.isEncrypted) = (host, port, isEncrypted)
    }

    package init(_ text: String) throws(MQTTFailure) {
        // The message does not contain the text, because it might include a password.
        guard !text.contains("@") else {
            throw MQTTFailure(.invalid, "invalid broker address: it has a user. Set mqtt.user instead")
        }
        func invalid(_ reason: String) -> MQTTFailure {
            MQTTFailure(.invalid, "invalid broker address \"\(text)\": \(reason)")
        }
        let lower = text.lowercased()
        guard let scheme = ["mqtt://", "mqtts://"].first(where: lower.hasPrefix) else {
            throw invalid("expected mqtt:// or mqtts://")
        }
        isEncrypted = scheme == "mqtts://"
        var remainder = text.dropFirst(scheme.count)
        if remainder.last == "/" { remainder.removeLast() }
        guard !remainder.contains(where: { "/?#".contains($0) }) else { throw invalid("expected host and port only") }
        var digits: Substring?
        if remainder.first == "[" {
            guard let end = remainder.firstIndex(of: "]") else { throw invalid("the bracket is not closed") }
            host = String(remainder[remainder.index(after: remainder.startIndex)..<end])
            let suffix = remainder[remainder.index(after: end)...]
            guard suffix.isEmpty || suffix.first == ":" else { throw invalid("expected :PORT after the bracket") }
            digits = suffix.isEmpty ? nil : suffix.dropFirst()
        } else if let colon = remainder.lastIndex(of: ":") {
            host = String(remainder[..<colon])
            guard !host.contains(":") else { throw invalid("an IPv6 address needs brackets") }
            digits = remainder[remainder.index(after: colon)...]
        } else {
            host = String(remainder)
        }
        guard !host.isEmpty, host.utf8.count <= 255,
            host.unicodeScalars.allSatisfy({ $0.value > 32 && $0.value != 127 })
        else { throw invalid("the host is missing") }
        guard let digits else {
            port = isEncrypted ? 8883 : 1883
            return
        }
        guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = UInt16(digits), number > 0 else {
            throw invalid("expected a port from 1 to 65535")
        }
        port = number
    }

    package var description: String {
        "\(isEncrypted ? "mqtts" : "mqtt")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}
