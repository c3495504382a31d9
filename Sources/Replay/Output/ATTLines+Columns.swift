import Bluetooth

/// A column of the output of `waterh-replay att --columns`.
package enum ATTColumn: String, Sendable, CaseIterable {
    /// The record number, from 1.
    case frame
    /// The time in the capture; in JSON seconds since 1970, as text.
    case time
    case adapter
    /// The connection handle; in link-layer captures the access address.
    case connection
    case peer
    case direction
    case name
    /// The handle in the PDU, or in the request of a response; in an error response, the handle with the error.
    case handle
    case uuid
    /// The name of the ATT error code.
    case error
    /// The MTU that this side offers, in bytes.
    case mtu
    case length
    /// Milliseconds from the request to this response.
    case latency
    /// The value in the PDU, in hex.
    case value
    case pdu
}

// Writes lines of columns: separated by tabs, or as JSON objects with these keys in this order.

extension ATTLines {
    /// A column with the bytes before its value: the separator and, in JSON, the key.
    typealias Field = (column: ATTColumn, lead: [UInt8])

    static let defaultJSON: [ATTColumn] = [
        .frame, .time, .adapter, .connection, .direction, .peer, .pdu, .name, .uuid,
    ]

    static func fields(_ columns: [ATTColumn], isJSON: Bool) -> [Field] {
        columns.enumerated().map { index, column in
            let lead = isJSON ? "\(index > 0 ? "," : "{")\"\(column.rawValue)\":" : index > 0 ? "\t" : ""
            return (column, Array(lead.utf8))
        }
    }

    func put(_ fields: [Field], _ observation: ATTObservation, _ pdu: RawSpan, sent: RequestMatcher.Request?) {
        for (column, lead) in fields {
            if hasParameters, column == .uuid { putParameters(pdu) }
            out.put(bytes: lead)
            put(column, observation, pdu, sent)
        }
        if isJSON { out.put("}") }
        out.endLine()
    }

    private func put(
        _ column: ATTColumn, _ observation: ATTObservation, _ pdu: RawSpan, _ sent: RequestMatcher.Request?
    ) {
        switch column {
        case .frame: out.put(number: observation.frame)
        case .time: putTime(observation.time)
        case .adapter: out.put(number: Int(observation.connection.adapter))
        case .connection: out.put(number: Int(observation.connection.handle))
        case .peer: put(peerText(observation))
        case .direction: put(observation.direction.map { $0 == .sent ? Self.sent : Self.received })
        case .name: put(pdu.first.map { names[Int($0)] })
        case .handle: put(handle(pdu, sent))
        case .uuid: put(conversation.typeText(of: pdu, observation))
        case .length: out.put(number: pdu.byteCount)
        case .error:
            if case .errorResponse(_, _, let error) = Self.errorOrMTU(pdu) {
                put(Array(error.description.utf8))
            } else {
                putNothing()
            }
        case .mtu:
            switch Self.errorOrMTU(pdu) {
            case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu): out.put(number: Int(mtu))
            default: putNothing()
            }
        case .latency: putLatency(observation.time, sent?.time)
        case .value: putValue(pdu)
        case .pdu:
            quote()
            out.put(hex: pdu)
            quote()
        }
    }

    private func quote() {
        if isJSON { out.put("\"") }
    }

    private static let sent = Array("sent".utf8), received = Array("received".utf8)

    private func putNothing() {
        if isJSON { out.put("null") }
    }

    /// Puts a text that requires no escapes.
    private func put(_ text: [UInt8]?) {
        guard let text else { return putNothing() }
        quote()
        out.put(bytes: text)
        quote()
    }

    private func put(_ handle: UInt16?) {
        guard let handle else { return putNothing() }
        if isJSON { out.put(number: Int(handle)) } else { put(handle: handle) }
    }

    private func handle(_ pdu: RawSpan, _ sent: RequestMatcher.Request?) -> UInt16? {
        if case .errorResponse(_, let handle, _) = Self.errorOrMTU(pdu) { return sent?.handle ?? handle }
        return sent?.handle ?? pdu.first.flatMap { RequestMatcher.handle(of: pdu, $0) }
    }

    private func putTime(_ time: Duration?) {
        guard let time else { return putNothing() }
        guard isJSON else { return timestampWriter.text(time, out) }
        quote()
        TimestampWriter.epoch(time, out)
        quote()
    }

    /// Puts a latency in milliseconds with three decimal places.
    private func putLatency(_ time: Duration?, _ requestTime: Duration?) {
        guard let time, let requestTime else { return putNothing() }
        let latency = time - requestTime
        let (seconds, attoseconds) = latency.components
        guard seconds.magnitude < 1 << 40 else { return putNothing() }
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        if microseconds < 0 { out.put("-") }
        out.put(number: Int(microseconds.magnitude / 1000))
        out.put(".")
        out.put(number: UInt(microseconds.magnitude % 1000), width: 3)
    }

    private func putValue(_ pdu: RawSpan) {
        let start = pdu.first.map(TrafficKind.valueStart) ?? 0
        guard start > 0, pdu.byteCount >= start else { return putNothing() }
        quote()
        out.put(hex: pdu.extracting(start..<pdu.byteCount))
        quote()
    }
}
