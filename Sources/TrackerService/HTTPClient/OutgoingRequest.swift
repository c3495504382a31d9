/// What is sent to a server.
package struct OutgoingRequest: Hashable, Sendable {
    /// The method, in upper case.
    package var method: String
    /// `http://…` or `https://…`.
    package var url: String
    /// Fields in the order in which they are sent.
    package var headers: [Header]
    /// What is sent along; `nil`: nothing.
    package var body: [UInt8]?

    /// A header field; its name in any case.
    package struct Header: Hashable, Sendable {
        /// The field's name.
        package var name: String
        /// The field's value.
        package var value: String

        package init(name: String, value: String) { (self.name, self.value) = (name, value) }
    }

    /// A request to an address, with fields in that order.
    package init(_ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil) {
        (self.method, self.url, self.body) = (method, url, body)
        self.headers = headers.map { Header(name: $0.name, value: $0.value) }
    }

    /// What can never be sent, said before anything is: a line that ends in the middle of a header would begin another.
    func check() throws(OutgoingFailure) {
        guard !method.isEmpty, method.utf8.allSatisfy(Self.isTokenByte) else {
            throw OutgoingFailure(.wrongUse, "\"\(method)\" is no method of HTTP")
        }
        let lower = url.prefix(8).lowercased()
        guard lower.hasPrefix("http://") || lower.hasPrefix("https://"), url.utf8.count <= 8192,
            url.utf8.allSatisfy({ $0 > 32 && $0 != 127 })
        else {
            throw OutgoingFailure(
                .wrongUse, "\"\(url.prefix(200))\" is no address that begins with http:// or https://")
        }
        for header in headers {
            guard !header.name.isEmpty, header.name.utf8.allSatisfy(Self.isTokenByte),
                header.value.utf8.allSatisfy({ ($0 >= 32 || $0 == 9) && $0 != 127 })
            else {
                throw OutgoingFailure(.wrongUse, "The header \(header.name.debugDescription) cannot be sent as it is")
            }
        }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
            || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
