import Bluetooth

// The recorded requests and responses of a peripheral profile, and its rules.

extension PeripheralProfile {
    /// The exchanges of one connection in order.
    package struct Conversation: Hashable, Sendable, Codable {
        package var exchanges: [Exchange]

        package init(_ exchanges: [Exchange] = []) { self.exchanges = exchanges }
    }

    package enum Request: String, Hashable, Sendable, Codable {
        /// The start of a connection, before any request.
        case connect
        /// A read of a whole value (Read, Read Blob, Read By Type).
        case read
        /// A write with response; long writes are joined.
        case write
        /// A write without response.
        case command
    }

    /// A request with its response and values.
    package struct Exchange: Hashable, Sendable, Codable {
        package var request: Request
        /// The handle of the value or descriptor; `nil` for `connect`.
        package var handle: UInt16?
        package var value: Octets?
        /// The response; `nil` if the request has none (`connect`, `command`) or got none in the capture.
        package var response: Response?
        /// The notifications and indications before the next write, command or connection.
        package var values: [Value]?

        package init(
            _ request: Request, handle: UInt16? = nil, value: Octets? = nil, response: Response? = nil,
            values: [Value]? = nil
        ) {
            self.request = request
            self.handle = handle
            self.value = value
            self.response = response
            self.values = values
        }
    }

    package struct Response: Hashable, Sendable, Codable {
        /// The value of a read; `nil` for a write or an error.
        package var value: Octets?
        /// The ATT error code (Core 5.4, Vol 3 Part F, table 3.4).
        package var error: UInt8?
        /// The delay in milliseconds since the request.
        package var afterMs: Int

        package init(value: Octets? = nil, error: UInt8? = nil, afterMs: Int = 0) {
            self.value = value
            self.error = error
            self.afterMs = afterMs
        }
    }

    /// A notified or indicated value.
    package struct Value: Hashable, Sendable, Codable {
        package var handle: UInt16
        package var value: Octets
        /// The delay in milliseconds since the request.
        package var afterMs: Int

        package init(handle: UInt16, value: Octets, afterMs: Int = 0) {
            self.handle = handle
            self.value = value
            self.afterMs = afterMs
        }
    }

    /// A rule for the response to requests that are not in the capture.
    package struct Rule: Hashable, Sendable, Codable {
        /// A name for log lines and for `then` of other rules.
        package var name: String?
        /// The kind of request; `nil` matches any.
        package var request: Request?
        /// The handle; `nil` matches any.
        package var handle: UInt16?
        /// A pattern for the written value; `nil` matches any.
        package var pattern: BytePattern?
        /// The response. If it is `nil`, a write succeeds, and a read returns the value of the attribute.
        package var response: Response?
        /// The values to send after the response.
        package var values: [Value]?
        /// The name of the rule whose values follow the last value of this rule; their delays count from that value.
        package var then: String?

        package func matches(_ request: Request, _ handle: UInt16, _ value: [UInt8]) -> Bool {
            (self.request ?? request) == request && (self.handle ?? handle) == handle
                && (pattern?.matches(value) ?? true)
        }
    }
}
