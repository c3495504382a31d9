import Bluetooth

// What was asked of a gadget, what it answered, and what it is to answer beyond.

extension Gadget {
    /// One connection: the order of its exchanges is the state that the gadget goes through.
    package struct Conversation: Hashable, Sendable, Codable {
        /// In order.
        package var exchanges: [Exchange]

        /// In that order.
        package init(_ exchanges: [Exchange] = []) { self.exchanges = exchanges }
    }

    /// What a host asks.
    package enum Request: String, Hashable, Sendable, Codable {
        /// It has connected: what comes before it asked for anything.
        case connect
        /// A value, however it was read (Read, Read Blob, Read By Type), whole.
        case read
        /// With response, long ones joined.
        case write
        /// Without response.
        case command
    }

    /// A request with everything that came of it.
    package struct Exchange: Hashable, Sendable, Codable {
        /// What kind of request it is.
        package var request: Request
        /// Of the value or descriptor that was asked for; `nil` for `connect`.
        package var handle: UInt16?
        /// What was written; `nil` where nothing was.
        package var value: Octets?
        /// `nil`: a request that has none (`connect`, `command`), or that was not answered in the capture.
        package var response: Response?
        /// Notifications and indications until the next write, command or connection; key `values`. `nil`: none came.
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

    /// The answer to a request.
    package struct Response: Hashable, Sendable, Codable {
        /// What was read; `nil` for a write, and beside an error.
        package var value: Octets?
        /// The ATT error code of a gadget that said no (Core 5.4, Vol 3 Part F, table 3.4).
        package var error: UInt8?
        /// Since the request, in milliseconds.
        package var afterMs: Int

        /// A value, or an error, and how long it took.
        package init(value: Octets? = nil, error: UInt8? = nil, afterMs: Int = 0) {
            self.value = value
            self.error = error
            self.afterMs = afterMs
        }
    }

    /// A value that the gadget sent by itself.
    package struct Value: Hashable, Sendable, Codable {
        /// Of the characteristic's value.
        package var handle: UInt16
        /// What was sent.
        package var value: Octets
        /// Since the request, in milliseconds.
        package var afterMs: Int

        package init(handle: UInt16, value: Octets, afterMs: Int = 0) {
            self.handle = handle
            self.value = value
            self.afterMs = afterMs
        }
    }

    /// An answer to requests that the capture never saw.
    package struct Rule: Hashable, Sendable, Codable {
        /// For people, and for `then` of other rules.
        package var name: String?
        /// `nil`: any.
        package var request: Request?
        /// `nil`: any.
        package var handle: UInt16?
        /// Of the value written; `nil`: any.
        package var pattern: BytePattern?
        /// `nil`: a write is accepted, a read gives the value that the table holds.
        package var response: Response?
        /// What it sends then. `nil`: nothing.
        package var values: [Value]?
        /// The name of a rule whose values follow, counted from the last of these.
        package var then: String?

        package init(
            name: String? = nil, request: Request? = nil, handle: UInt16? = nil, pattern: BytePattern? = nil,
            response: Response? = nil,
            values: [Value]? = nil, then: String? = nil
        ) {
            self.name = name
            self.request = request
            self.handle = handle
            self.pattern = pattern
            self.response = response
            self.values = values
            self.then = then
        }

        /// Whether it answers that request.
        package func fits(_ request: Request, _ handle: UInt16, _ value: [UInt8]) -> Bool {
            (self.request ?? request) == request && (self.handle ?? handle) == handle
                && (pattern?.matches(value) ?? true)
        }
    }
}
