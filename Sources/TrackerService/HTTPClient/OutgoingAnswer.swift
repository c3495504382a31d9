/// What a server answered, whatever its status.
package struct OutgoingAnswer: Hashable, Sendable {
    /// The status of HTTP, 100–599.
    package var status: Int
    /// In their order, as they were written.
    package var headers: [OutgoingRequest.Header]
    /// The body, within the client's limit.
    package var body: [UInt8]

    package init(status: Int, headers: [OutgoingRequest.Header] = [], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// 2xx.
    package var isSuccess: Bool { (200..<300).contains(status) }

    /// A header by its name, in whatever case; the first of several.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
