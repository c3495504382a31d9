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

// Writes lines of selected columns: separated by tabs, or as JSON objects with these keys in this order.

extension ATTLines {
    func columns(_ columns: [ATTColumn], _ observation: ATTObservation, _ pdu: RawSpan, sent: RequestPairs.Request?) {
        if isJSON { out.put("{") }
        for (index, column) in columns.enumerated() {
            if index > 0 { if isJSON { out.put(",") } else { out.put("\t") } }
            if isJSON {
                out.put(json: column.rawValue)
                out.put(":")
            }
            put(column, observation, pdu, sent)
        }
        if isJSON { out.put("}") }
        out.endLine()
    }

    private func put(_ column: ATTColumn, _ observation: ATTObservation, _ pdu: RawSpan, _ sent: RequestPairs.Request?)
    {
        switch column {
        case .frame: out.put(number: observation.frame)
        case .time: putTime(observation.time)
        case .adapter: out.put(number: Int(observation.connection.adapter))
        case .connection: out.put(number: Int(observation.connection.handle))
        case .peer: put(observation.connection.peer?.description)
        case .direction: put(observation.direction.map { $0 == .sent ? "sent" : "received" })
        case .name: put(pdu.first.map { ATTOpcode(rawValue: $0).description })
        case .handle: put(handle(pdu, sent))
        case .uuid: put(conversation.typeText(of: pdu, observation).map { String(decoding: $0, as: UTF8.self) })
        case .length: out.put(number: pdu.byteCount)
        case .error:
            if case .errorResponse(_, _, let error) = Self.errorOrMTU(pdu) {
                put(error.description)
            } else {
                put(nil as String?)
            }
        case .mtu:
            switch Self.errorOrMTU(pdu) {
            case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu): out.put(number: Int(mtu))
            default: put(nil as String?)
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

    private func put(_ text: String?) {
        if isJSON { out.put(json: text) } else if let text { out.put(text: text) }
    }

    private func put(_ handle: UInt16?) {
        guard let handle else { return put(nil as String?) }
        if isJSON { out.put(number: Int(handle)) } else { put(handle: handle) }
    }

    private func handle(_ pdu: RawSpan, _ sent: RequestPairs.Request?) -> UInt16? {
        if case .errorResponse(_, let handle, _) = Self.errorOrMTU(pdu) { return sent?.handle ?? handle }
        return sent?.handle ?? pdu.first.flatMap { RequestPairs.handle(of: pdu, $0) }
    }

    private func putTime(_ time: Duration?) {
        guard let time else { return put(nil as String?) }
        guard isJSON else { return timestampWriter.text(time, out) }
        quote()
        TimestampWriter.epoch(time, out)
        quote()
    }

    /// Puts a latency in milliseconds with three decimal places.
    private func putLatency(_ time: Duration?, _ requestTime: Duration?) {
        guard let time, let requestTime else { return put(nil as String?) }
        let latency = time - requestTime
        let (seconds, attoseconds) = latency.components
        guard seconds.magnitude < 1 << 40 else { return put(nil as String?) }
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        if microseconds < 0 { out.put("-") }
        out.put(number: Int(microseconds.magnitude / 1000))
        out.put(".")
        out.put(number: UInt(microseconds.magnitude % 1000), width: 3)
    }

    private func putValue(_ pdu: RawSpan) {
        let start = pdu.first.map(TrafficKind.valueStart) ?? 0
        guard start > 0, pdu.byteCount >= start else { return put(nil as String?) }
        quote()
        out.put(hex: pdu.extracting(start..<pdu.byteCount))
        quote()
    }
}
